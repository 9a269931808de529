#include "app/common/flag_table.h"

#include <unistd.h>

#include <fmt/format.h>
#include <CLI/CLI.hpp>

#include <algorithm>
#include <array>
#include <cstdlib>
#include <optional>
#include <set>
#include <string_view>
#include <utility>

#include "app/common/config_file.h"
#include "app/common/did_you_mean.h"
#include "base/escape.h"

namespace baton::app {
namespace {

constexpr auto kGroupAndEtcd = std::to_array<Flag>({
    {"group", "NAME", nullptr, "the group (required)"},
    {"shards", "N", nullptr, "its shard count, fixed at creation (required, except for a relay)"},
    {"hash", "FUNCTION", "murmur2",
     "how keys map to shards, fixed at creation: murmur2, xxh3-jump or modulo"},
    {"node", "NAME", nullptr, "this node's stable id; default: the host name"},
    {"relay", nullptr, nullptr,
     "lead nothing and only serve the group's routes; refuses settings for leading and membership"},
    {"state-dir", "DIR", nullptr,
     "folder of the node's lock, on a local file system; default: below the user's state folder"},
    {"trust-state-lock", nullptr, nullptr,
     "believe the lock in --state-dir on a file system that batond does not know; it must never "
     "free a lock while the process that holds it lives"},
    {"guard", "MODE", "own",
     "who ends the node's session at once when batond dies, so that others lead its shards after "
     "milliseconds: own (a process baton-guard that batond starts), shared (a baton-guard that "
     "somebody else starts), off (nobody: its lease has to run out)"},
    {"etcd", "HOST:PORT,...", "127.0.0.1:2379",
     "addresses of etcd's members, not of a load balancer"},
    {"etcd-user", "NAME", nullptr, "user for password authentication"},
    {"etcd-password-file", "FILE", nullptr,
     "file with that user's password; read again when it changes"},
    {"etcd-ca", "FILE", nullptr,
     "PEM file of the authority that signed etcd's certificates, turns TLS on; read again when it "
     "changes"},
    {"etcd-cert", "FILE", nullptr,
     "PEM file of this node's client certificate; read again when it changes"},
    {"etcd-key", "FILE", nullptr, "PEM file of its key; read again when it changes"},
    {"etcd-prefix", "PATH", "/baton/v1", "prefix of all groups' keys"},
});
constexpr auto kOthers = std::to_array<Flag>({
    {"listen", "HOST:PORT", "127.0.0.1:7400", "gRPC address; port 0 picks one"},
    {"http", "HOST:PORT", "127.0.0.1:7401", "HTTP address; port 0 picks one"},
    {"tls-cert", "FILE", nullptr,
     "PEM file of the certificate that gRPC, HTTP and the sidecar's port show, turns TLS on; read "
     "again when it changes"},
    {"tls-key", "FILE", nullptr, "PEM file of its key; read again when it changes"},
    {"tls-client-ca", "FILE", nullptr,
     "PEM file of the authority that signs clients' certificates; read again when it changes"},
    {"tls-client-auth", "HOW", nullptr,
     "with --tls-client-ca: require certificates of all clients, or only ask for them; default: "
     "require"},
    {"tls-max-age", "DURATION", nullptr,
     "how long a connection lasts at most, so that a certificate or authority that is no longer "
     "trusted loses its connections; default: without a bound"},
    {"insecure", nullptr, nullptr,
     "serve other hosts without TLS: everybody on the way can read and change what is sent"},
    {"audit-file", "FILE", nullptr,
     "file that gets one JSON line for each change that an operator asks for, with who asked"},
    {"audit-required", nullptr, nullptr,
     "make no change whose line can't be written to --audit-file before"},
    {"admin-socket", "PATH", nullptr,
     "unix socket at which root and batond's own user call gRPC, without TLS also if the ports "
     "require certificates"},
    {"http-hosts", "NAME,...", nullptr,
     "names by which browsers and scrapers may ask for HTTP, besides addresses, localhost, the "
     "host name and the hosts of --http and --advertise; * allows every name"},
    {"advertise", "HOST[:PORT]", nullptr,
     "address that other nodes get; required if --listen or --http is a wildcard"},
    {"service-address", "ADDRESS", nullptr,
     "the application's address, host:port or unix:/path, which routes carry; default: the gRPC "
     "address, with --sidecar or run none"},
    {"sidecar", "ADDRESS", nullptr,
     "an application in another process acts on the shards, and attaches here: unix:/path or "
     "127.0.0.1:port; default with run: a socket in --state-dir"},
    {"ready-file", "FILE", nullptr, "file that is written once the node is ready"},
    {"ttl", "DURATION", "10s", "lease time, whole seconds; etcd may grant a longer one"},
    {"weight", "N", "1", "share of the shards; 0: it gets only transfers, and what waits for it"},
    {"zone", "NAME", nullptr, "failure domain: the label zone of placement rules"},
    {"label", "NAME=VALUE,...", nullptr, "labels of this node, for placement rules"},
    {"expect-nodes", "N", "1", "cold start: claims begin once this many members are there"},
    {"settle", "DURATION", "2s",
     "cold start: or once the membership has not changed for this long"},
    {"rebalance-delay", "DURATION", "5s", "how long an imbalance lasts before shards move"},
    {"max-moves", "N", "64", "moves in flight, whole group"},
    {"cooldown", "DURATION", "30s",
     "how long a moved shard stays before balance may move it again"},
    {"prepare-timeout", "DURATION", "30s", "bound of a move's preparation"},
    {"release-timeout", "DURATION", "30s", "bound of a leader's release"},
    {"callback-timeout", "DURATION", "30s", "bound of the acquired callback"},
    {"hang-timeout", "DURATION", "0",
     "the guard kills batond if its own thread makes no progress for this time; 0: never"},
    {"watchdog", "DURATION", "0",
     "the application must say within it that it is alive; 0: it need not"},
    {"drain-timeout", "DURATION", "30s", "bound of the handoff at SIGTERM"},
    {"history", "N", "10000", "events of the whole group that are kept in memory"},
    {"events-file", "FILE", nullptr, "file that gets one JSON line for each event"},
    {"max-shard-series", "N", "50000", "bound of the series on /metrics/shards"},
    {"log-level", "LEVEL", "info", "trace, debug, info, warn or error"},
    {"log-format", "FORMAT", "text", "text or json"},
    {"access", "FILE", nullptr,
     "YAML file that gives roles to users, groups, certificates, tokens, and everybody else"},
    {"allow-remote-admin", nullptr, nullptr, "accept changes from everybody, also other hosts"},
    {"grpc-reflection", nullptr, nullptr,
     "list the gRPC services and messages to everybody who asks (reflection)"},
    {"core-dumps", nullptr, nullptr,
     "let this process dump core, and debuggers of its user attach: etcd's password and key are in "
     "its memory"},
    {"config", "FILE", nullptr, "YAML file with the same names"},
});

template <std::size_t A, std::size_t B>
constexpr std::array<Flag, A + B> Joined(const std::array<Flag, A>& first,
                                         const std::array<Flag, B>& second) {
  std::array<Flag, A + B> all{};
  std::copy(second.begin(), second.end(), std::copy(first.begin(), first.end(), all.begin()));
  return all;
}
constexpr auto kFlags = Joined(kGroupAndEtcd, kOthers);

bool IsList(const Flag& flag) {
  return flag.value != nullptr && std::string_view(flag.value).ends_with(",...");
}

std::string HelpOf(const Flag& flag) {
  std::string help = flag.help;
  if (flag.fallback != nullptr) help += "; default: " + std::string(flag.fallback);
  return fmt::format("{} [{}]", help, EnvironmentName(flag.name));
}

/// The error for the first word that is not a flag.
std::string Unexpected(const std::string& word) {
  if (!word.starts_with("--")) {
    return fmt::format("unexpected argument \"{}\"; see batond --help", word);
  }
  std::vector<std::string> known{"--help", "--version"};
  for (const Flag& flag : kFlags) known.push_back(std::string("--") + flag.name);
  const std::string name = word.substr(0, word.find('='));
  const std::string meant = DidYouMean(name, known);
  return "unknown flag " + name + (meant.empty() ? "; see batond --help" : meant);
}

/// Reads the command line alone, with CLI11. CLI11 could read environment and file too, but ranks
/// the file above the environment.
std::variant<Settings, EarlyExit> ReadArguments(std::vector<std::string> arguments) {
  CLI::App app("One node of a group, in which each shard has exactly one leader, on etcd.",
               "batond");
  app.set_version_flag("--version", "batond " BATON_VERSION);
  app.footer(
      "batond run [OPTIONS] -- PROGRAM...: starts the application PROGRAM with BATON_ATTACH in "
      "its\n"
      "environment, hands its shards over before it passes SIGTERM on, and exits with its code.\n"
      "A setting comes from its flag, else from its environment variable, else from the file of\n"
      "--config; else it is the default. Durations are written 500ms, 10s, 1m, 2h. A flag with a\n"
      "list can be given several times.\n"
      "Exit codes: 0 the node left in order; 1 it halted or could not start, or etcd did not\n"
      "answer, or a second signal came; 2 the settings are wrong.");
  std::map<std::string, std::string> texts;
  std::map<std::string, const CLI::Option*> options;
  for (const Flag& flag : kFlags) {
    const std::string name = std::string("--") + flag.name;
    CLI::Option* const option = flag.value == nullptr
                                    ? app.add_flag(name, texts[flag.name], HelpOf(flag))
                                    : app.add_option(name, texts[flag.name], HelpOf(flag));
    if (flag.value != nullptr) option->type_name(flag.value);
    if (IsList(flag)) option->join();  // so that it can be given several times
    options[flag.name] = option;
  }
  std::reverse(arguments.begin(), arguments.end());  // as CLI11 wants them
  try {
    app.parse(arguments);
  } catch (const CLI::CallForHelp&) {
    return EarlyExit{0, app.help()};
  } catch (const CLI::CallForVersion&) {
    return EarlyExit{0, "batond " BATON_VERSION "\n"};
  } catch (const CLI::ExtrasError&) {
    return UsageError({Unexpected(app.remaining().front())});
  } catch (const CLI::ParseError& wrong) {
    std::string line = PlainUsageError(wrong.what());
    std::replace(line.begin(), line.end(), '\n', ' ');
    return UsageError({line});
  }
  Settings settings;
  for (const Flag& flag : kFlags) {
    const CLI::Option& option = *options.at(flag.name);
    if (option.count() == 0) continue;
    const std::string origin = std::string("--") + flag.name;
    const std::vector<std::string>& given = option.results();
    // CLI11 refuses this of the other flags.
    if (given.size() > 1 && flag.value == nullptr) {
      return UsageError({origin + " was given more than once"});
    }
    settings[flag.name] = {
        given.size() > 1 ? fmt::to_string(fmt::join(given, ",")) : texts[flag.name], origin};
  }
  return settings;
}

void AddEnvironment(Settings& settings, const Surroundings& surroundings) {
  for (const Flag& flag : kFlags) {
    if (settings.contains(flag.name)) continue;
    const std::string name = EnvironmentName(flag.name);
    const std::optional<std::string> text = surroundings.environment(name);
    if (text && !text->empty()) settings[flag.name] = {*text, name};
  }
}

/// Adds the settings of the file that the settings name so far, if any.
Status AddFile(Settings& settings) {
  const auto config = settings.find("config");
  if (config == settings.end()) return Ok();
  std::set<std::string> known;
  for (const Flag& flag : kFlags) known.insert(flag.name);
  known.erase("config");
  const std::string path = config->second.text;
  const auto values = ReadConfigFile(path, known);
  if (!values) return values.error();
  for (const auto& [name, value] : values.value()) {
    settings.try_emplace(name,
                         Setting{value.text, fmt::format("{}:{}: {}", path, value.line, name)});
  }
  return Ok();
}

}  // namespace

std::span<const Flag> Flags() { return kFlags; }

std::string EnvironmentName(const std::string& flag) {
  std::string name = "BATON_" + flag;
  std::transform(name.begin(), name.end(), name.begin(), [](char c) {
    return c == '-' ? '_' : static_cast<char>(std::toupper(static_cast<unsigned char>(c)));
  });
  return name;
}

Surroundings Surroundings::Real() {
  Surroundings real;
  real.environment = [](const std::string& name) -> std::optional<std::string> {
    const char* const value = std::getenv(name.c_str());
    return value == nullptr ? std::nullopt : std::optional<std::string>(value);
  };
  std::array<char, 256> host{};
  if (gethostname(host.data(), host.size() - 1) == 0) real.host_name = host.data();
  return real;
}

EarlyExit UsageError(const std::vector<std::string>& lines) {
  EarlyExit exit{2, ""};
  for (const std::string& line : lines) {
    exit.text += fmt::format("batond: {}\n", OneLine(line, kLongestLine));
  }
  return exit;
}

std::variant<Settings, EarlyExit> ReadSettings(std::vector<std::string> arguments,
                                               const Surroundings& surroundings) {
  std::variant<Settings, EarlyExit> read = ReadArguments(std::move(arguments));
  if (std::holds_alternative<EarlyExit>(read)) return read;
  Settings& settings = std::get<Settings>(read);
  AddEnvironment(settings, surroundings);
  if (const Status added = AddFile(settings); !added) return UsageError({added.error().message});
  for (const Flag& flag : kFlags) {
    if (flag.fallback != nullptr) {
      settings.try_emplace(flag.name, Setting{flag.fallback, std::string("--") + flag.name, false});
    }
  }
  return read;
}

}  // namespace baton::app
