#include "app/recover_command.h"

#include <algorithm>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include <boost/json.hpp>

#include "app/ctl_interrupt.h"
#include "app/ctl_output.h"
#include "app/flag_table.h"
#include "etcd/grpc_transport.h"
#include "runtime/node_options.h"
#include "runtime/recovery/recovery.h"
#include "runtime/state_lock.h"

namespace baton::app {
namespace {

namespace json = boost::json;
using runtime::GroupSurvey;
using runtime::Recovery;

/// Each revision raised leaves some 100 bytes in etcd until it is compacted: a run of this many
/// stays far below the default quota of 2 GiB.
constexpr std::int64_t kMostRaised = 1'000'000;

struct RecoverOptions {
  std::string group;
  Settings etcd;
  std::vector<std::string> state_dirs;
  std::optional<std::int64_t> above;
  /// Nodes note a revision with each renewal: what was committed since the last is not in it.
  std::int64_t margin = 100'000;
  bool dry_run = false;
};

/// What is to be done, and then what was.
struct Report {
  Revision before;
  Revision target;
  Revision reached;
  bool adopts_cluster = false;
};

ExitCode Print(const CtlOptions& options, const char* result, const Report& report,
               const std::string& line) {
  if (!options.structured()) {
    PrintLine(line);
    return ExitCode::kDone;
  }
  PrintStructured(options,
                  json::serialize(json::object{{"result", result},
                                               {"message", line},
                                               {"revision_before", report.before.value},
                                               {"revision", report.reached.value},
                                               {"target", report.target.value},
                                               {"cluster_adopted", report.adopts_cluster}}));
  return ExitCode::kDone;
}

/// The newest revision that the group can have had, as far as it is told.
Result<Revision> HighestTold(const RecoverOptions& options) {
  Revision highest{options.above.value_or(0)};
  for (const std::string& directory : options.state_dirs) {
    const auto noted = runtime::StateLock::HighestIn(directory, options.group);
    if (!noted) return noted.error();
    highest = std::max(highest, Revision{noted.value().value + options.margin});
  }
  return highest;
}

std::string Joined(const std::vector<std::string>& words) {
  std::string text;
  for (const std::string& word : words) text += (text.empty() ? "" : ", ") + word;
  return text;
}

Status MayRecover(const GroupSurvey& survey, const RecoverOptions& options, Revision target) {
  if (survey.newest.value == 0 && survey.revision >= target) {
    return Error{ErrorCode::kNotFound, "etcd holds nothing of group '" + options.group +
                                           "'; see --group, --etcd and --etcd-prefix"};
  }
  if (!survey.member_keys.empty()) {
    return Error{ErrorCode::kFailedPrecondition,
                 "the group has members: " + Joined(survey.member_keys) +
                     "; stop all nodes, wait until their leases have run out, and try again (a key "
                     "that stays hangs on no lease: delete it)"};
  }
  if (survey.config.present && survey.config.readability != Readability::kReadable) {
    return Error{ErrorCode::kFailedPrecondition,
                 "the group's config can't be read; restore it, or delete it and the nodes write "
                 "it anew"};
  }
  return Ok();
}

std::string Plan(const GroupSurvey& survey, Revision target) {
  std::string plan = "etcd's revision is " + std::to_string(survey.revision.value);
  plan += survey.revision < target
              ? "; raise it to " + std::to_string(target.value)
              : ", which is above " + std::to_string(target.value) + " already";
  if (!survey.config.present) return plan + "; the group has no config, its nodes will create it";
  plan += "; write the group's config anew";
  if (survey.config.cluster_id != survey.cluster_id) plan += ", with this cluster's id";
  return plan;
}

/// Raises the revision and renews the config; what came of it.
ExitCode Carry(const CtlOptions& options, Recovery& recovery, Report report) {
  const Revision goal = std::min(report.target, Revision{report.before.value + kMostRaised});
  Progress progress;
  auto reached = recovery.RaiseTo(goal, [&](Revision now) {
    if (now < goal) {
      progress.Show("revision " + std::to_string(now.value) + " of " +
                    std::to_string(report.target.value));
    }
    return !Interrupt::Happened();
  });
  progress.End();
  if (!reached) return Fail(reached.error());
  report.reached = reached.value();
  if (report.reached < goal) {
    Say("stopped at revision " + std::to_string(report.reached.value) +
        "; nothing else was changed: the same command goes on from there");
    return ExitCode::kInterrupted;
  }
  if (goal < report.target) {
    Print(options, "partly", report,
          "raised to revision " + std::to_string(report.reached.value) + " of " +
              std::to_string(report.target.value) + ": run `etcdctl compact " +
              std::to_string(report.reached.value) +
              "`, `etcdctl defrag` on each member, and the same command again");
    return ExitCode::kPartly;
  }
  const auto survey = recovery.Survey();
  if (!survey) return Fail(survey.error());
  if (survey.value().config.present) {
    const Status renewed = recovery.RenewConfig(survey.value());
    if (!renewed) return Fail(renewed.error());
  }
  return Print(options, "done", report,
               "recovered: terms go on above " + std::to_string(report.target.value) +
                   "; start the nodes, and the relays, again");
}

ExitCode Recover(const CtlOptions& options, const RecoverOptions& recover) {
  auto read = ReadEtcdOptions(recover.etcd);
  if (const auto* errors = std::get_if<std::vector<std::string>>(&read)) {
    for (const std::string& error : *errors) Say(error);
    return ExitCode::kUsage;
  }
  const EtcdOptions& etcd = std::get<EtcdOptions>(read);
  const Status valid = etcd::Keyspace::Validate(etcd.prefix, recover.group);
  if (!valid) return Fail(valid.error());
  const auto target = HighestTold(recover);
  if (!target) return Fail(target.error());
  auto transport = etcd::GrpcTransport::Create(runtime::TransportOptionsOf(etcd));
  if (!transport) return Fail(transport.error());
  Recovery recovery(*transport.value(), etcd::Keyspace(etcd.prefix, recover.group));
  const auto survey = recovery.Survey();
  if (!survey) return Fail(survey.error());
  const Status may = MayRecover(survey.value(), recover, target.value());
  if (!may) return Fail(may.error());
  const GroupSurvey& now = survey.value();
  const Report report{
      .before = now.revision,
      .target = target.value(),
      .reached = now.revision,
      .adopts_cluster = now.config.present && now.config.cluster_id != now.cluster_id};
  const std::string plan = Plan(now, target.value());
  if (recover.dry_run) return Print(options, "dry_run", report, "would do: " + plan);
  Say(plan);
  return Carry(options, recovery, report);
}

/// As batond's flags of the same names, and their environment.
void AddEtcdFlags(CLI::App* verb, Settings& settings) {
  for (const Flag& flag : Flags()) {
    const std::string name = flag.name;
    if (!name.starts_with("etcd")) continue;
    if (flag.fallback != nullptr) settings[name] = {flag.fallback, "--" + name, false};
    verb->add_option_function<std::string>(
            "--" + name,
            [&settings, name](const std::string& text) {
              settings[name] = {text, "--" + name};
            },
            flag.help)
        ->envname(EnvironmentName(name))
        ->type_name(flag.value)
        ->default_str(flag.fallback == nullptr ? "" : flag.fallback);
  }
}

}  // namespace

void AddRecoverCommand(CLI::App& app, Commands& commands) {
  CLI::App* verb = app.add_subcommand(
      "recover", "After a restored backup: raise etcd's revision, so that terms go on growing");
  auto recover = std::make_shared<RecoverOptions>();
  verb->add_option("--group", recover->group, "the group")->required();
  AddEtcdFlags(verb, recover->etcd);
  CLI::Option* const state_dirs =
      verb->add_option("--state-dir", recover->state_dirs,
                       "a node's; give all that are there: they tell the newest revision known")
          ->type_name("DIR");
  CLI::Option* const above =
      verb->add_option("--above", recover->above,
                       "no term was above this: the newest baton_shard_term or "
                       "baton_watch_revision that was ever scraped")
          ->type_name("REVISION")
          ->check(CLI::PositiveNumber.description(""));
  verb->add_option("--margin", recover->margin,
                   "added to what a --state-dir tells, for commits after its last note")
      ->check(CLI::NonNegativeNumber.description(""))
      ->capture_default_str();
  verb->add_flag("--dry-run", recover->dry_run, "say what would be done; change nothing");
  verb->callback([&commands, recover, state_dirs, above] {
    if (state_dirs->count() + above->count() == 0) {
      throw CLI::ValidationError(
          "recover", "what terms were given out? Give each node's --state-dir, or --above");
    }
    commands.run = [&commands, recover] { return Recover(commands.options, *recover); };
  });
}

}  // namespace baton::app
