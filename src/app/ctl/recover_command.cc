#include "app/ctl/recover_command.h"

#include <algorithm>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include <fmt/format.h>
#include <boost/json.hpp>

#include "app/common/etcd_settings.h"
#include "app/common/flag_table.h"
#include "app/ctl/interrupt.h"
#include "app/ctl/output.h"
#include "app/ctl/whole_number.h"
#include "etcd/grpc/transport.h"
#include "runtime/node_options.h"
#include "runtime/recovery/recovery.h"
#include "runtime/state_lock.h"

namespace baton::app {
namespace {

namespace json = boost::json;
using runtime::GroupSurvey;
using runtime::Recovery;

/// Each empty commit leaves about 100 bytes in etcd until they are compacted. So many commits in
/// one run stay far below the default quota of 2 GiB.
constexpr std::int64_t kMaxRaised = 1'000'000;

struct RecoverOptions {
  std::string group;
  Settings etcd;
  std::vector<std::string> state_dirs;
  std::optional<std::int64_t> above;
  /// Added to the newest revision known: nodes note one with each renewal, and Prometheus with each
  /// scrape, so they miss later commits.
  std::int64_t margin = 100'000;
  bool lost = false;  ///< the group's keys are not in the backup
  bool dry_run = false;
};
constexpr std::int64_t kMaxMargin = 1'000'000'000'000;

/// The plan, and then the result.
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

/// Returns the newest revision that the state directories and --above name, and prints each.
Result<Revision> HighestTold(const RecoverOptions& options) {
  Revision highest{options.above.value_or(0)};
  for (const std::string& directory : options.state_dirs) {
    const auto noted = runtime::StateLock::NoteIn(directory, options.group);
    if (!noted) return noted.error();
    const auto& [node, revision] = noted.value();
    Say(fmt::format("node {} last noted revision {}", node, revision.value));
    highest = std::max(highest, revision);
  }
  return Revision{highest.value + options.margin};
}

std::string Joined(const std::vector<std::string>& words) {
  std::string text;
  for (const std::string& word : words) text += (text.empty() ? "" : ", ") + word;
  return text;
}

Status MayRecover(const GroupSurvey& survey, const RecoverOptions& options) {
  const auto refused = [](std::string why) {
    return Error{ErrorCode::kFailedPrecondition, std::move(why)};
  };
  const bool has_config = survey.config_revision.value != 0 && !survey.lost;
  if (!has_config && !options.lost) {
    return Error{
        ErrorCode::kNotFound,
        fmt::format("etcd holds no config of group '{}'; check --group, --etcd and --etcd-prefix "
                    "(or give --lost if the backup has nothing of the group)",
                    options.group)};
  }
  if (has_config && options.lost) {
    return refused("the group exists: leave --lost out");
  }
  if (!survey.unleased_keys.empty()) {
    return refused(
        fmt::format("no lease ends these keys: {}; make sure that their nodes don't run, delete "
                    "the keys, and try again",
                    Joined(survey.unleased_keys)));
  }
  if (!survey.member_keys.empty()) {
    return refused(
        fmt::format("the group has members: {}; stop these nodes, wait until their leases have run "
                    "out, and try again",
                    Joined(survey.member_keys)));
  }
  if (survey.config.readability == Readability::kNewerSchema) {
    return refused("the group's config was written by a newer version: use its batonctl");
  }
  if (has_config && survey.config.readability != Readability::kReadable) {
    return refused("the group's config can't be read: restore that key from the backup");
  }
  return Ok();
}

std::string Plan(const GroupSurvey& survey, Revision target) {
  std::string plan =
      survey.revision < target
          ? fmt::format("etcd's revision is {}; raise it to {}, while no node can start",
                        survey.revision.value, target.value)
          : fmt::format("etcd's revision is {}, which is above {} already", survey.revision.value,
                        target.value);
  if (!survey.config.present) return plan + "; the group has no config, its nodes will create it";
  plan += "; write the group's config again";
  if (survey.config.cluster_id != survey.cluster_id) plan += ", with this cluster's id";
  return plan;
}

/// Closes the group, raises the revision and opens the group. Prints the result.
ExitCode Carry(const CtlOptions& options, const RecoverOptions& recover, Recovery& recovery,
               const GroupSurvey& found, Report report) {
  if (found.revision < report.target) {
    const Status closed = recovery.Close(found);
    if (!closed) return Fail(closed.error());
  }
  const Revision goal = std::min(report.target, Revision{report.before.value + kMaxRaised});
  Progress progress;
  auto reached = recovery.RaiseTo(goal, [&](Revision now) {
    if (now < goal) {
      progress.Show(fmt::format("revision {} of {}", now.value, report.target.value));
    }
    return !Interrupt::Happened();
  });
  progress.End();
  if (!reached) return Fail(reached.error());
  report.reached = reached.value();
  if (report.reached < goal) {
    Say(fmt::format(
        "stopped at revision {}; no node can start until the same command has run to its end",
        report.reached.value));
    return ExitCode::kInterrupted;
  }
  if (goal < report.target) {
    Print(options, "partly", report,
          fmt::format("raised to revision {} of {}: run `etcdctl compact {}`, `etcdctl defrag` on "
                      "each member, and the same command again",
                      report.reached.value, report.target.value, report.reached.value));
    return ExitCode::kPartly;
  }
  const auto survey = recovery.Survey();
  if (!survey) return Fail(survey.error());
  const Status still = MayRecover(survey.value(), recover);
  if (!still) return Fail(still.error());
  const Status opened = recovery.Open(survey.value());
  if (!opened) return Fail(opened.error());
  return Print(options, "done", report,
               fmt::format("recovered: terms go on above {}; start the nodes and the relays again",
                           report.target.value));
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
  const Status may = MayRecover(survey.value(), recover);
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
  return Carry(options, recover, recovery, now, report);
}

}  // namespace

void AddRecoverCommand(CLI::App& app, Commands& commands) {
  CLI::App* verb = app.add_subcommand(
      "recover", "After a restored backup: raise etcd's revision, so that terms go on growing");
  auto recover = std::make_shared<RecoverOptions>();
  verb->add_option("--group", recover->group, "the group")->required();
  AddEtcdFlags(*verb, recover->etcd);
  CLI::Option* const state_dirs =
      verb->add_option(
              "--state-dir", recover->state_dirs,
              "a node's state directory; give all that exist: they have the newest revision known")
          ->type_name("DIR");
  CLI::Option* const above =
      verb->add_option("--above", recover->above,
                       "if state directories are lost: the newest baton_watch_revision or "
                       "baton_shard_term that Prometheus has")
          ->type_name("REVISION")
          ->check(WholeNumber(1, runtime::kHighestRevision.value));
  verb->add_option("--margin", recover->margin,
                   "added to the newest of these, for the commits of all of etcd's users between "
                   "the last renewal or scrape and the disaster")
      ->check(WholeNumber(0, kMaxMargin))
      ->capture_default_str();
  verb->add_flag("--lost", recover->lost, "the backup has nothing of the group");
  verb->add_flag("--dry-run", recover->dry_run, "show what would be done; change nothing");
  verb->callback([&commands, recover, state_dirs, above] {
    if (state_dirs->count() + above->count() == 0) {
      throw CLI::ValidationError(
          "recover", "the newest term is not known: give each node's --state-dir, or --above");
    }
    commands.run = [&commands, recover] { return Recover(commands.options, *recover); };
  });
}

}  // namespace baton::app
