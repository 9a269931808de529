#include "app/ctl/commands.h"

#include <unistd.h>
#include <algorithm>
#include <cstdlib>
#include <iostream>
#include <limits>
#include <memory>
#include <string>

#include <fmt/format.h>

#include "app/common/duration.h"
#include "app/ctl/change.h"
#include "app/ctl/completion.h"
#include "app/ctl/doctor.h"
#include "app/ctl/events.h"
#include "app/ctl/node_flags.h"
#include "app/ctl/placement.h"
#include "app/ctl/plan.h"
#include "app/ctl/show.h"
#include "app/ctl/simulate.h"
#include "app/ctl/simulation.h"
#include "app/ctl/top.h"
#include "app/ctl/whole_number.h"
#include "base/limits.h"
#include "http/address.h"

namespace baton::app {
namespace {

CLI::Option* AddDuration(CLI::App& app, const std::string& flag,
                         const std::function<void(std::chrono::milliseconds)>& set,
                         const std::string& description) {
  return app.add_option_function<std::string>(
      flag,
      [flag, set](const std::string& text) {
        const Result<std::chrono::milliseconds> parsed = ParseDuration(text);
        if (!parsed) throw CLI::ValidationError(flag, parsed.error().message);
        set(parsed.value());
      },
      description);
}

void SetTimeout(std::chrono::milliseconds timeout, CtlOptions& options) {
  if (timeout.count() == 0) {
    throw CLI::ValidationError("--timeout", "\"0s\" leaves no time; expected 1ms or more");
  }
  options.timeout = timeout;
}

CLI::Validator ShardNumber() { return WholeNumber(0, kMaxShards - 1); }

Format FormatOf(const std::string& word) {
  if (word == "wide") return Format::kWide;
  if (word == "json") return Format::kJson;
  return word == "yaml" ? Format::kYaml : Format::kTable;
}

void AddTlsFlags(CLI::App& app, ClientTls& tls) {
  const auto add = [&app](const char* flag, std::string& value, const char* variable,
                          const char* type, const char* description) {
    app.add_option(flag, value, description)->envname(variable)->type_name(type);
  };
  add("--tls-ca", tls.ca, "BATON_TLS_CA", "FILE",
      "PEM file of the authority that signed the nodes' certificates; each of these five turns TLS "
      "on");
  add("--tls-cert", tls.cert, "BATON_TLS_CERT", "FILE", "PEM file of this user's certificate");
  add("--tls-key", tls.key, "BATON_TLS_KEY", "FILE", "PEM file of its key");
  add("--tls-name", tls.name, "BATON_TLS_NAME", "NAME",
      "name that the nodes' certificates have, if it is not their address's");
  app.add_option("--tls-servers", tls.servers,
                 "names in the certificates of this group's servers, such as "
                 "spiffe://example.org/orders/node/*: others are not believed, and addresses are "
                 "not compared")
      ->envname("BATON_TLS_SERVERS")
      ->type_name("NAME,...")
      ->delimiter(',')
      ->allow_extra_args(false);
}

void AddGlobalFlags(CLI::App& app, CtlOptions& options) {
  app.add_option("--endpoint", options.endpoint, "gRPC address of any node of the group")
      ->envname("BATON_ENDPOINT")
      ->capture_default_str()
      ->check([](const std::string& text) {
        if (text.starts_with("unix:")) return std::string();  // a socket's path, as gRPC has it
        const Result<http::Address> parsed = http::ParseAddress(text);
        return parsed ? std::string() : parsed.error().message;
      });
  AddTlsFlags(app, options.tls);
  app.add_option("--token-file", options.token_file,
                 "file with a token for this endpoint, by TLS or on the node's host")
      ->envname("BATON_TOKEN_FILE")
      ->type_name("FILE");
  app.add_option_function<std::string>(
         "-o,--output", [&options](const std::string& word) { options.format = FormatOf(word); },
         "table, wide, json or yaml")
      ->type_name("FORMAT")
      ->check(CLI::Validator(
          [](const std::string& word) {
            const bool known =
                word == "table" || word == "wide" || word == "json" || word == "yaml";
            return known ? std::string() : word + " is not table, wide, json or yaml";
          },
          ""));
  const char* no_color = std::getenv("NO_COLOR");
  options.color = isatty(STDOUT_FILENO) == 1 && (no_color == nullptr || *no_color == '\0');
  app.add_flag_callback(
      "--no-color", [&options] { options.color = false; },
      "no colours (also with NO_COLOR, or if stdout is not a terminal)");
  AddDuration(
      app, "--timeout", [&options](std::chrono::milliseconds t) { SetTimeout(t, options); },
      "bound of the whole command, such as 500ms or 5s; default: 10s, for verbs that wait 10m");
}

CLI::App* AddVerb(CLI::App& app, const char* name, const char* description) {
  return app.add_subcommand(name, description);
}

void AddRead(CLI::App& app, Commands& commands, const char* name, const char* description,
             ExitCode (*verb)(const CtlOptions&)) {
  AddVerb(app, name, description)->callback([&commands, verb] {
    commands.run = [&commands, verb] { return verb(commands.options); };
  });
}

std::shared_ptr<ChangeOptions> AddChangeFlags(CLI::App* verb, bool long_one) {
  auto change = std::make_shared<ChangeOptions>();
  verb->add_flag("--dry-run", change->dry_run, "show what would be done; change nothing");
  if (long_one) {
    verb->add_flag("--detach", change->detach, "return once it has begun; don't wait");
  }
  return change;
}

using Change = ExitCode (*)(const CtlOptions&, const ChangeOptions&);
void AddChange(CLI::App& app, Commands& commands, const char* name, const char* description,
               Change verb, bool long_one) {
  CLI::App* sub = AddVerb(app, name, description);
  auto change = AddChangeFlags(sub, long_one);
  sub->callback([&commands, verb, change] {
    commands.run = [&commands, verb, change] { return verb(commands.options, *change); };
  });
}

using NodeVerb = ExitCode (*)(const CtlOptions&, const NodeId&, const ChangeOptions&);
void AddNodeChange(CLI::App& app, Commands& commands, const char* name, const char* description,
                   NodeVerb verb, bool long_one) {
  CLI::App* sub = AddVerb(app, name, description);
  auto change = AddChangeFlags(sub, long_one);
  auto node = std::make_shared<std::string>();
  sub->add_option("node", *node, "node id")->required();
  sub->callback([&commands, verb, change, node] {
    commands.run = [&commands, verb, change, node] {
      return verb(commands.options, *node, *change);
    };
  });
}

void AddHealth(CLI::App& app, Commands& commands) {
  CLI::App* verb = AddVerb(app, "health", "Exit 0 if every shard has a leader, else 1");
  auto wait = std::make_shared<bool>(false);
  verb->add_flag("--wait", *wait, "wait until healthy")->disable_flag_override();
  verb->callback([&commands, wait] {
    commands.run = [&commands, wait] { return CheckHealth(commands.options, *wait); };
  });
}

void AddDescribe(CLI::App& shards, Commands& commands) {
  CLI::App* verb = AddVerb(shards, "describe", "One shard: leader, term, move, last changes");
  auto shard = std::make_shared<ShardId>();
  verb->add_option("shard", shard->value, "shard number")->required()->check(ShardNumber());
  verb->callback([&commands, shard] {
    commands.run = [&commands, shard] { return DescribeShard(commands.options, *shard); };
  });
}

void AddLookup(CLI::App& app, Commands& commands) {
  CLI::App* verb = AddVerb(app, "lookup", "The shard that a key belongs to, and who leads it");
  auto key = std::make_shared<std::string>();
  verb->add_option("key", *key, "the key")->required();
  verb->callback([&commands, key] {
    commands.run = [&commands, key] { return LookUpKey(commands.options, *key); };
  });
}

void AddTransfer(CLI::App& shards, Commands& commands) {
  CLI::App* verb = AddVerb(shards, "transfer", "Move one shard to another node, without a gap");
  auto transfer = std::make_shared<TransferOptions>();
  verb->add_option("shard", transfer->shard.value, "shard number")
      ->required()
      ->check(ShardNumber());
  verb->add_option("--to", transfer->to, "the node that is to lead it")->required();
  verb->add_option_function<std::int64_t>(
          "--if-term", [transfer](std::int64_t term) { transfer->if_term = Term{term}; },
          "only while the shard's term is this one")
      ->check(WholeNumber(0, std::numeric_limits<std::int64_t>::max()));
  auto change = AddChangeFlags(verb, true);
  verb->callback([&commands, transfer, change] {
    commands.run = [&commands, transfer, change] {
      return TransferShard(commands.options, *transfer, *change);
    };
  });
}

void AddRetry(CLI::App& shards, Commands& commands) {
  CLI::App* verb =
      AddVerb(shards, "retry", "Activate a shard that fails to activate at once; asks its leader");
  auto shard = std::make_shared<ShardId>();
  verb->add_option("shard", shard->value, "shard number")->required()->check(ShardNumber());
  auto change = AddChangeFlags(verb, true);
  verb->callback([&commands, shard, change] {
    commands.run = [&commands, shard, change] {
      return RetryShard(commands.options, *shard, *change);
    };
  });
}

void AddRelease(CLI::App& shards, Commands& commands) {
  CLI::App* verb = AddVerb(shards, "release",
                           "Let any node lead a shard whose leader is gone and is waited for");
  auto release = std::make_shared<ReleaseOptions>();
  verb->add_option("shard", release->shard.value, "shard number")->required()->check(ShardNumber());
  verb->add_flag("--force", release->force,
                 "although the leader's data may have writes that others lack");
  verb->add_option("--confirm", release->confirm, "GROUP/SHARD, such as orders/7")
      ->type_name("GROUP/SHARD");
  auto change = AddChangeFlags(verb, false);
  verb->callback([&commands, release, change] {
    commands.run = [&commands, release, change] {
      return ReleaseShard(commands.options, *release, *change);
    };
  });
}

void AddShards(CLI::App& app, Commands& commands) {
  CLI::App* shards = AddVerb(app, "shards", "Shards and who leads them")->require_subcommand(1);
  AddRead(*shards, commands, "list", "All shards", ListShards);
  AddDescribe(*shards, commands);
  AddTransfer(*shards, commands);
  AddRetry(*shards, commands);
  AddRelease(*shards, commands);
}

void AddSetNode(CLI::App& nodes, Commands& commands) {
  CLI::App* verb = AddVerb(
      nodes, "set", "Change weight and labels of a running node, until it restarts; asks it");
  auto node = std::make_shared<std::string>();
  verb->add_option("node", *node, "node id; --endpoint must be this node's")->required();
  auto flags = std::make_shared<NodeFlags>();
  verb->add_option_function<std::uint32_t>(
          "--weight", [flags](std::uint32_t weight) { flags->weight = weight; },
          "share of the shards; with 0 the node leads none")
      ->check(WholeNumber(0, kMaxWeight))
      ->type_name("N");
  verb->add_option("--label", flags->labels, "labels to add, or to give another value")
      ->type_name("NAME=VALUE,...")
      ->delimiter(',')
      ->allow_extra_args(false);
  verb->add_option("--remove-label", flags->removed, "names of labels to remove")
      ->type_name("NAME,...")
      ->delimiter(',')
      ->allow_extra_args(false);
  auto change = AddChangeFlags(verb, false);
  verb->callback([&commands, node, flags, change] {
    Result<NodeChange> parsed = ParseNodeFlags(*flags);
    if (!parsed) throw CLI::ValidationError("nodes set", parsed.error().message);
    commands.run = [&commands, node, parsed = *std::move(parsed), change] {
      return SetNode(commands.options, *node, parsed, *change);
    };
  });
}

void AddNodes(CLI::App& app, Commands& commands) {
  CLI::App* nodes = AddVerb(app, "nodes", "Nodes of the group")->require_subcommand(1);
  AddRead(*nodes, commands, "list", "All nodes", ListNodes);
  AddNodeChange(*nodes, commands, "drain", "Move all shards off a node; stands until undrain",
                DrainNode, true);
  AddNodeChange(*nodes, commands, "undrain", "Let a drained node lead again", UndrainNode, false);
  AddSetNode(*nodes, commands);
}

void AddGroup(CLI::App& app, Commands& commands) {
  CLI::App* group = AddVerb(app, "group", "Settings of the group")->require_subcommand(1);
  AddRead(*group, commands, "get", "All settings", ShowGroup);
  CLI::App* set = AddVerb(*group, "set", "Set one or more, as SETTING=VALUE");
  auto words = std::make_shared<std::vector<std::string>>();
  auto settings = std::make_shared<GroupSettings>();
  auto change = AddChangeFlags(set, false);
  set->add_option("settings", *words,
                  "failover=immediate, after or never; failover-delay=30s (of after); "
                  "lock-delay=10s (0: none); or max-moves=8, rebalance-delay=30s, cooldown=10m "
                  "(default: each node's own option); or expected-nodes=3 (0 clears it)")
      ->required();
  set->callback([&commands, words, settings, change] {
    Result<GroupSettings> parsed = ParseGroupSettings(*words);
    if (!parsed) throw CLI::ValidationError("group set", parsed.error().message);
    *settings = *std::move(parsed);
    commands.run = [&commands, settings, change] {
      return SetGroupSettings(commands.options, *settings, *change);
    };
  });
}

void AddPlacement(CLI::App& app, Commands& commands) {
  CLI::App* placement = AddVerb(app, "placement", "Rules that say what nodes may lead which shards")
                            ->require_subcommand(1);
  AddRead(*placement, commands, "get", "The rules, as `set` takes them", ShowPlacement);
  const auto add_file = [](CLI::App* verb) {
    auto path = std::make_shared<std::string>();
    verb->add_option("file", *path, "RULES.yaml, '-' for stdin")->required()->type_name("FILE");
    return path;
  };
  CLI::App* check = AddVerb(*placement, "check", "What rules would do; changes nothing");
  auto checked = add_file(check);
  check->callback([&commands, checked] {
    commands.run = [&commands, checked] { return CheckPlacementFile(commands.options, *checked); };
  });
  CLI::App* set = AddVerb(*placement, "set", "Replace all rules; `rules: []` for none");
  auto path = add_file(set);
  auto change = AddChangeFlags(set, false);
  set->callback([&commands, path, change] {
    commands.run = [&commands, path, change] {
      return SetPlacement(commands.options, *path, *change);
    };
  });
}

void AddSimulate(CLI::App& rebalance, Commands& commands) {
  CLI::App* verb =
      AddVerb(rebalance, "simulate", "Who would lead what if nodes were lost; changes nothing");
  auto words = std::make_shared<std::vector<std::string>>();
  auto without = std::make_shared<std::vector<LabelTerm>>();
  verb->add_option("--without", *words,
                   "LABEL=VALUE of the nodes to take away, such as zone=a or node=n3; may be given "
                   "several times")
      ->required()
      ->type_name("LABEL=VALUE")
      ->allow_extra_args(false);
  verb->callback([&commands, words, without] {
    without->clear();
    for (const std::string& word : *words) {
      Result<LabelTerm> term = ParseWithout(word);
      if (!term) throw CLI::ValidationError("--without", term.error().message);
      without->push_back(*std::move(term));
    }
    commands.run = [&commands, without] { return SimulateLoss(commands.options, *without); };
  });
}

void AddRebalance(CLI::App& app, Commands& commands) {
  CLI::App* verb =
      AddVerb(app, "rebalance", "Balance how many shards each node leads")->require_subcommand(1);
  AddRead(*verb, commands, "plan", "What would move without delays and cooldowns",
          ShowRebalancePlan);
  AddSimulate(*verb, commands);
  AddChange(*verb, commands, "apply", "Move it now", ApplyRebalance, true);
  AddRead(*verb, commands, "status", "Moves in flight", ShowRebalanceStatus);
  AddChange(*verb, commands, "cancel", "End an applied rebalance", CancelRebalance, false);
}

void AddHistory(CLI::App& app, Commands& commands) {
  CLI::App* verb =
      AddVerb(app, "history", "The changes that the node saw: who led, why, and who asked");
  auto shard = std::make_shared<std::optional<ShardId>>();
  verb->add_option_function<std::uint32_t>(
          "shard", [shard](std::uint32_t number) { *shard = ShardId{number}; },
          "of this shard only")
      ->check(ShardNumber());
  verb->callback([&commands, shard] {
    commands.run = [&commands, shard] { return ShowHistory(commands.options, *shard); };
  });
}

void AddEvents(CLI::App& app, Commands& commands) {
  CLI::App* verb = AddVerb(app, "events", "The same, one line each; -f: as they happen");
  auto events = std::make_shared<EventsOptions>();
  verb->add_flag("-f,--follow", events->follow, "go on until Ctrl-C, with new events");
  verb->add_option_function<std::uint64_t>(
          "--after", [events](std::uint64_t seq) { events->after = seq; },
          "begin after this event's number")
      ->check(WholeNumber(0, std::numeric_limits<std::uint64_t>::max()));
  verb->add_option_function<std::uint32_t>(
          "--shard", [events](std::uint32_t number) { events->shard = ShardId{number}; },
          "of this shard only")
      ->check(ShardNumber());
  verb->callback([&commands, events] {
    commands.run = [&commands, events] { return ShowEvents(commands.options, *events); };
  });
}

void AddPlan(CLI::App& app, Commands& commands) {
  CLI::App* verb =
      AddVerb(app, "plan", "What a group would do in a made-up state; changes nothing");
  auto path = std::make_shared<std::string>();
  verb->add_option("-f,--file", *path, "STATE.json, '-' for stdin")->required();
  verb->callback([&commands, path] {
    commands.run = [&commands, path] { return PlanFile(commands.options, *path); };
  });
}

void AddCompletion(CLI::App& app, Commands& commands) {
  CLI::App* verb = AddVerb(app, "completion", "A completion script for a shell");
  auto shell = std::make_shared<std::string>();
  verb->add_option("shell", *shell, "bash, zsh or fish")
      ->required()
      ->check(CLI::Validator(
          [](const std::string& word) {
            const bool known = word == "bash" || word == "zsh" || word == "fish";
            return known ? std::string()
                         : fmt::format("\"{}\" is not valid; expected bash, zsh or fish", word);
          },
          ""));
  verb->callback([&app, &commands, shell] {
    commands.run = [&app, shell] {
      std::cout << (*shell == "bash"  ? BashCompletion(app)
                    : *shell == "zsh" ? ZshCompletion(app)
                                      : FishCompletion(app));
      return ExitCode::kDone;
    };
  });
}

}  // namespace

void AddCommands(CLI::App& app, Commands& commands) {
  app.require_subcommand(1);
  app.fallthrough();  // global flags may follow the verb
  AddGlobalFlags(app, commands.options);
  AddRead(app, commands, "status", "The group at a glance", ShowStatus);
  AddHealth(app, commands);
  AddRead(app, commands, "whoami", "Who you are for the node, and what you may do", ShowIdentity);
  AddRead(app, commands, "doctor", "Check node, etcd and group, and say what to do", Examine);
  AddShards(app, commands);
  AddNodes(app, commands);
  AddGroup(app, commands);
  AddPlacement(app, commands);
  AddLookup(app, commands);
  AddRebalance(app, commands);
  AddChange(app, commands, "pause", "Stop balance; failover goes on", PauseBalance, false);
  AddChange(app, commands, "resume", "Let balance run again", ResumeBalance, false);
  AddRead(app, commands, "top", "Live view", RunTop);
  AddHistory(app, commands);
  AddEvents(app, commands);
  AddPlan(app, commands);
  AddRead(app, commands, "version", "This program's version", PrintVersion);
  AddCompletion(app, commands);
}

}  // namespace baton::app
