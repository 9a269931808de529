#include "app/ctl/change.h"

#include <algorithm>
#include <chrono>

#include <fmt/format.h>
#include <boost/json.hpp>

#include "app/ctl/blocked_drain.h"
#include "app/ctl/client.h"
#include "app/ctl/interrupt.h"
#include "app/ctl/output.h"
#include "app/ctl/placement_file.h"
#include "app/ctl/placement_forecast.h"
#include "app/ctl/show.h"
#include "app/ctl/tables.h"
#include "app/ctl/watch.h"
#include "base/duration_text.h"

namespace baton::app {
namespace {

namespace json = boost::json;
using runtime::MemberStatus;
using runtime::PolicyRequest;

/// Between the plans that count what is left of a rebalance.
constexpr std::chrono::seconds kPlansPause{2};

TimePoint After(std::chrono::milliseconds timeout) { return BootClock::now() + timeout; }

/// The deadline of the whole command. REQUIRES: called when the command starts.
TimePoint WorkDeadline(const CtlOptions& options) {
  return After(options.timeout.value_or(kWorkTimeout));
}
/// The deadline of one call, within the whole command's time.
TimePoint CallDeadline(TimePoint work) { return std::min(work, After(kCallTimeout)); }

/// Like Fail. If the outcome is unknown, the message names the verb that shows it.
ExitCode FailChange(const Error& error, const std::string& check) {
  if (error.code != ErrorCode::kTimedOut) return Fail(error);
  const std::string line = fmt::format("{}: check with `batonctl {}`", error.message, check);
  if (!Interrupt::Happened()) return Fail({error.code, line});
  Say("interrupted: " + line);
  return ExitCode::kInterrupted;
}

/// Prints a change's result: a line, or {"result","message"} and the verb's own fields.
ExitCode Report(const CtlOptions& options, const char* result, const std::string& line,
                json::object document = {}) {
  if (options.structured()) {
    json::object out{{"result", result}, {"message", line}};
    for (auto& field : document) out[field.key()] = field.value();
    PrintStructured(options, json::serialize(out));
  } else {
    PrintLine(line);
  }
  return ExitCode::kDone;
}

ExitCode ReportFollowed(const CtlOptions& options, const Followed& followed,
                        json::object document = {}) {
  if (followed.exit == ExitCode::kDone) {
    return Report(options, "done", followed.line, std::move(document));
  }
  Say(followed.line);
  return followed.exit;
}

PolicyRequest PolicyOf(PolicyRequest::Verb verb, const ChangeOptions& change,
                       const NodeId& node = {}) {
  PolicyRequest request;
  request.verb = verb;
  request.node = node;
  request.dry_run = change.dry_run;
  request.actor = ActorName();
  return request;
}

/// The words about a change that is done as soon as it is written.
struct QuickWords {
  std::string done;
  std::string dry_run;
  std::string check;           ///< the verb that shows whether it was made
  std::string unchanged = {};  ///< why nothing changes, instead of `done`; empty: something does
};

ExitCode ReportQuick(const CtlOptions& options, bool dry_run, const QuickWords& words,
                     json::object document = {}) {
  const std::string& why = words.unchanged;
  if (dry_run) {
    return Report(options, "dry_run", why.empty() ? words.dry_run : why + ": nothing would change",
                  std::move(document));
  }
  if (!why.empty()) {
    return Report(options, "unchanged", why + ": nothing changes", std::move(document));
  }
  return Report(options, "done", words.done, std::move(document));
}

template <typename Request>
ExitCode Quick(const CtlOptions& options, const Request& request, const QuickWords& words,
               TimePoint deadline) {
  AdminClient client(options);
  const Status result = client.Request(request, CallDeadline(deadline));
  if (!result) return FailChange(result.error(), words.check);
  return ReportQuick(options, request.dry_run, words);
}

QuickWords WordsAbout(const GroupSettings& settings, const runtime::NodeStatus& before) {
  const std::string set = GroupSettingsWords(settings);
  QuickWords words{"set " + set, "would set " + set, "group get"};
  if (settings.expected_nodes) {
    const std::uint32_t number = *settings.expected_nodes;
    const std::string what = number == 0 ? "not set any more" : "set to " + std::to_string(number);
    words.done = fmt::format("{} is {}", kExpectedNodesSetting, what);
    words.dry_run = fmt::format("{} would be {}", kExpectedNodesSetting, what);
  }
  if (Holds(settings, before)) words.unchanged = fmt::format("the group has {} already", set);
  return words;
}

QuickWords WordsAbout(const Placement& placement, const runtime::NodeStatus& before,
                      const PlacementForecast& forecast) {
  const std::string set =
      placement.empty() ? "no placement rules" : CountOf(placement.size(), "placement rule");
  QuickWords words{"set " + set, fmt::format("would set {}; {}", set, MoveWords(forecast)),
                   "placement get"};
  if (placement == before.placement) {
    words.unchanged = placement.empty() ? "the group has no placement rules"
                                        : "the group has these placement rules already";
  }
  return words;
}

/// Says which parts of the rules can't be kept, or count for nothing.
void SayWarnings(const PlacementForecast& forecast, const Placement& placement) {
  const std::vector<std::string> infeasible = InfeasibleLines(forecast, placement);
  for (const std::string& line : infeasible) Say(line);
  if (!infeasible.empty()) Say("leaders that these shards have now go on leading them");
  for (const std::string& line : TooFewStandbyLines(forecast, placement)) Say(line);
  for (const std::string& line : UnusedRuleLines(forecast, placement)) Say(line);
  for (const std::string& line : UnknownLabelLines(forecast, placement)) Say(line);
}

/// Says what the operator must type, and what it means.
Error NotConfirmed(const std::string& named, const runtime::ShardStatus& shard) {
  const std::string leader =
      shard.previous.empty() ? "its last leader" : "its last leader '" + shard.previous + "'";
  return {
      ErrorCode::kInvalidArgument,
      fmt::format("any node may lead shard {0} then, without the writes that only {1} has: make "
                  "sure that it is really gone, then type `batonctl shards release {0} --force "
                  "--confirm {2}`",
                  shard.shard.value, leader, named)};
}

Result<MemberStatus> FindMember(const StatusAnswer& answer, const NodeId& node) {
  for (const MemberStatus& member : answer.status.members) {
    if (member.fact.node == node) return member;
  }
  return Error{ErrorCode::kNotFound,
               fmt::format("no node {} in group {}", node, answer.status.group)};
}

/// The status before a drain; of a dry run with the shards, if placement rules may forbid moves.
Result<StatusAnswer> StatusBeforeDrain(AdminClient& client, const ChangeOptions& change,
                                       TimePoint deadline) {
  Result<StatusAnswer> answer = client.GetStatus(false, CallDeadline(deadline));
  if (!answer || !change.dry_run || answer->status.placement.empty()) return answer;
  return client.GetStatus(true, CallDeadline(deadline));
}

/// The status by which a change of the group is compared. kUnavailable also: the node's view is not
/// complete, so it shows no settings.
Result<StatusAnswer> StatusBefore(const CtlOptions& options, bool with_shards, TimePoint deadline) {
  auto before = AdminClient(options).GetStatus(with_shards, CallDeadline(deadline));
  if (before && before->status.members.empty() && before->status.view_age.count() == 0) {
    return Error{ErrorCode::kUnavailable, "the node's view is not complete yet"};
  }
  return before;
}

ExitCode DryDrain(const CtlOptions& options, const StatusAnswer& answer,
                  const MemberStatus& member) {
  const NodeId& node = member.fact.node;
  const std::string shards = CountOf(member.led, "shard");
  if (member.led > 0 && !HasOtherCandidate(answer.status, node)) {
    return Fail({ErrorCode::kFailedPrecondition,
                 fmt::format("no other node could take {}'s {}", node, shards)});
  }
  const LedShards led = LedBy(answer.status, node);
  if (led.blocked > 0) {
    return Fail(
        {ErrorCode::kFailedPrecondition,
         fmt::format("{} of {}'s {} would stay: no other node may lead them by placement {}",
                     led.blocked, node, shards, RuleWords(answer.status, led.rules))});
  }
  if (!options.structured()) SayAsOf(answer.status);
  return Report(options, "dry_run", fmt::format("would drain {}: {} would move", node, shards),
                {{"node", node}, {"shards", member.led}});
}

/// How many moves of a plan are for balance. The others, of nodes that drain, need no order.
std::uint32_t MovesOfBalance(const std::vector<MoveFact>& plan) {
  return static_cast<std::uint32_t>(
      std::count_if(plan.begin(), plan.end(),
                    [](const MoveFact& move) { return move.reason == Reason::kRebalance; }));
}

/// REQUIRES: the request was just answered.
Followed FollowRebalance(AdminClient& client, std::uint32_t initial, TimePoint deadline) {
  const TimePoint requested = BootClock::now();
  TimePoint asked = requested;
  TimePoint next_plan = requested + kPlansPause;
  RebalanceProgress progress{.initial = initial, .left = initial};
  return Follow(client, {"the rebalance", std::nullopt, deadline}, [&](const StatusAnswer& answer) {
    RebalanceLook look{.answer = answer, .since = asked - requested};
    if (!answer.status.rebalance_requested || BootClock::now() >= next_plan) {
      const auto plan = client.PlanRebalance(CallDeadline(deadline));
      if (plan) look.left = MovesOfBalance(*plan);
      next_plan = BootClock::now() + kPlansPause;
    }
    asked = BootClock::now();
    return JudgeRebalance(&progress, look);
  });
}

// A plan does not have what moves already, by an earlier apply for example.
ExitCode AwaitMovesInFlight(const CtlOptions& options, AdminClient& client,
                            const ChangeOptions& change, TimePoint deadline) {
  const auto before = client.GetStatus(false, CallDeadline(deadline));
  if (!before) return Fail(before.error());
  const std::uint32_t moving = MovesOfBalance(before->moves);
  const json::object document{{"moves", moving}};
  if (moving == 0) return Report(options, "done", "balanced: nothing to move", document);
  const std::string words =
      "nothing more to move than the " + CountOf(moving, "move") + " in flight";
  if (change.dry_run) return Report(options, "dry_run", words, document);
  if (change.detach) return Report(options, "detached", words, document);
  return ReportFollowed(options, FollowRebalance(client, moving, deadline), document);
}

}  // namespace

ExitCode TransferShard(const CtlOptions& options, const TransferOptions& transfer,
                       const ChangeOptions& change) {
  const TimePoint deadline = WorkDeadline(options);
  AdminClient client(options);
  runtime::TransferRequest request;
  request.shard = transfer.shard;
  request.to = transfer.to;
  request.if_term = transfer.if_term;
  request.dry_run = change.dry_run;
  request.actor = ActorName();
  const Result<MoveFact> written = client.Transfer(request, CallDeadline(deadline));
  if (!written) {
    return FailChange(written.error(), fmt::format("shards describe {}", transfer.shard.value));
  }
  const MoveFact& move = written.value();
  const std::string words =
      fmt::format("shard {} from {} to {}", move.shard.value, move.from, move.to);
  const json::object document{{"shard", move.shard.value},
                              {"from", move.from},
                              {"to", move.to},
                              {"ends_term", move.ends.value}};
  if (change.dry_run) return Report(options, "dry_run", "would move " + words, document);
  if (change.detach) return Report(options, "detached", "moving " + words, document);
  const Followed followed =
      Follow(client, {"the move of " + words, transfer.shard, deadline},
             [&](const StatusAnswer& answer) { return JudgeTransfer(move, answer); });
  return ReportFollowed(options, followed, document);
}

ExitCode RetryShard(const CtlOptions& options, ShardId shard, const ChangeOptions& change) {
  const TimePoint deadline = WorkDeadline(options);
  AdminClient client(options);
  const auto before = client.DescribeShard(shard, CallDeadline(deadline));
  if (!before) return Fail(before.error());
  runtime::RetryRequest request;
  request.shard = shard;
  request.dry_run = change.dry_run;
  request.actor = ActorName();
  const Result<std::uint32_t> attempts = client.Retry(request, CallDeadline(deadline));
  if (!attempts) {
    return FailChange(attempts.error(), fmt::format("shards describe {}", shard.value));
  }
  const Retried retried{shard, before.value().shards.front().term, attempts.value()};
  const std::string words =
      fmt::format("shard {}, which failed {}", shard.value, CountOf(attempts.value(), "time"));
  const json::object document{{"shard", shard.value}, {"attempts", attempts.value()}};
  if (change.dry_run) return Report(options, "dry_run", "would try " + words, document);
  if (change.detach) return Report(options, "detached", "trying " + words, document);
  const Followed followed =
      Follow(client, {fmt::format("the attempt of shard {}", shard.value), shard, deadline},
             [&](const StatusAnswer& answer) { return JudgeRetry(retried, answer); });
  return ReportFollowed(options, followed, document);
}

ExitCode ReleaseShard(const CtlOptions& options, const ReleaseOptions& release,
                      const ChangeOptions& change) {
  const TimePoint deadline = CallDeadline(WorkDeadline(options));
  AdminClient client(options);
  const auto known = client.DescribeShard(release.shard, deadline);
  if (!known) return Fail(known.error());
  const std::string shard = std::to_string(release.shard.value);
  const std::string named = known.value().group + "/" + shard;
  const bool confirmed = release.force && release.confirm == named;
  const bool dry_run = change.dry_run || !confirmed;
  const Status result = client.Release(
      {.shard = release.shard, .dry_run = dry_run, .actor = ActorName()}, named, deadline);
  if (!result) return FailChange(result.error(), "shards describe " + shard);
  if (!change.dry_run && !confirmed) {
    return Fail(NotConfirmed(named, known.value().shards.front()));
  }
  const json::object document{{"shard", release.shard.value}};
  if (change.dry_run) return Report(options, "dry_run", "would release shard " + shard, document);
  return Report(options, "done", "shard " + shard + " is released: any node may claim it",
                document);
}

ExitCode DrainNode(const CtlOptions& options, const NodeId& node, const ChangeOptions& change) {
  const TimePoint deadline = WorkDeadline(options);
  AdminClient client(options);
  const auto before = StatusBeforeDrain(client, change, deadline);
  if (!before) return Fail(before.error());
  const Status result =
      client.Request(PolicyOf(PolicyRequest::Verb::kDrain, change, node), CallDeadline(deadline));
  if (!result) return FailChange(result.error(), "nodes list");
  // After the call, so that the node decides about a name that only a policy mentions.
  const Result<MemberStatus> member = FindMember(before.value(), node);
  if (!member) return Fail(member.error());
  if (change.dry_run) return DryDrain(options, before.value(), member.value());
  const std::uint32_t initial = member.value().led;
  if (change.detach) {
    return Report(options, "detached",
                  fmt::format("draining {} of {}", node, CountOf(initial, "shard")));
  }
  const Followed followed =
      Follow(client,
             {.what = "the drain of " + node,
              .shard = std::nullopt,
              .deadline = deadline,
              .needs_shards = [&](const auto& status) { return RulesMayBlock(status, node); }},
             [&](const StatusAnswer& answer) { return JudgeDrain(node, initial, answer); });
  return ReportFollowed(options, followed, {{"node", node}, {"shards", initial}});
}

// Asked for in any case: the view that says that the node is not drained may be behind.
ExitCode UndrainNode(const CtlOptions& options, const NodeId& node, const ChangeOptions& change) {
  const TimePoint deadline = WorkDeadline(options);
  const auto before = AdminClient(options).GetStatus(false, CallDeadline(deadline));
  if (!before) return Fail(before.error());
  const Result<MemberStatus> member = FindMember(before.value(), node);
  const bool undrained = member.ok() && !member.value().drained_by_policy;
  return Quick(options, PolicyOf(PolicyRequest::Verb::kUndrain, change, node),
               {.done = node + " is no longer drained: balance gives it its share",
                .dry_run = "would end the drain of " + node,
                .check = "nodes list",
                .unchanged = undrained ? node + " was not drained" : ""},
               deadline);
}

ExitCode SetNode(const CtlOptions& options, const NodeId& node, const NodeChange& change,
                 const ChangeOptions& how) {
  AdminClient client(options);
  const Result<NodeChanged> changed =
      client.SetNode({.node = node, .change = change, .dry_run = how.dry_run, .actor = ActorName()},
                     CallDeadline(WorkDeadline(options)));
  if (!changed) return FailChange(changed.error(), "nodes list");
  const std::string settings = SettingsWords(changed->settings);
  json::object labels;
  for (const auto& [name, value] : changed->settings.labels) labels[name] = value;
  const json::object document{
      {"node", node}, {"weight", changed->settings.weight}, {"labels", labels}};
  if (!changed->differs) {
    return Report(options, "unchanged", fmt::format("{} has {} already", node, settings), document);
  }
  if (how.dry_run) {
    return Report(options, "dry_run", fmt::format("{} would have {}", node, settings), document);
  }
  Say(fmt::format("this holds until {} ends: after a restart its flags and config file count again",
                  node));
  return Report(options, "done", fmt::format("{} now has {}", node, settings), document);
}

ExitCode ApplyRebalance(const CtlOptions& options, const ChangeOptions& change) {
  const TimePoint deadline = WorkDeadline(options);
  AdminClient client(options);
  const auto plan = client.PlanRebalance(CallDeadline(deadline));
  if (!plan) return Fail(plan.error());
  const std::uint32_t total = MovesOfBalance(plan.value());
  if (total == 0) return AwaitMovesInFlight(options, client, change, deadline);
  const Status result = client.Request(PolicyOf(PolicyRequest::Verb::kApplyRebalance, change),
                                       CallDeadline(deadline));
  if (!result) return FailChange(result.error(), "rebalance status");
  const json::object document{{"moves", total}};
  if (change.dry_run) {
    return Report(options, "dry_run", "would do " + CountOf(total, "move"), document);
  }
  if (change.detach) {
    return Report(options, "detached", "rebalancing: " + CountOf(total, "move"), document);
  }
  return ReportFollowed(options, FollowRebalance(client, total, deadline), document);
}

// Asked for in any case, as an undrain is.
ExitCode CancelRebalance(const CtlOptions& options, const ChangeOptions& change) {
  const TimePoint deadline = WorkDeadline(options);
  const auto before = StatusBefore(options, false, deadline);
  if (!before) return Fail(before.error());
  const bool requested = before.value().status.rebalance_requested;
  return Quick(options, PolicyOf(PolicyRequest::Verb::kCancelRebalance, change),
               {.done = "the rebalance is cancelled: moves already prepared still end, and balance "
                        "may plan the others again (batonctl pause stops that)",
                .dry_run = "would cancel the rebalance",
                .check = "rebalance status",
                .unchanged = requested ? "" : "no rebalance was under way"},
               deadline);
}

// Asked for in any case, as an undrain is.
ExitCode SetGroupSettings(const CtlOptions& options, const GroupSettings& settings,
                          const ChangeOptions& change) {
  const TimePoint deadline = WorkDeadline(options);
  const auto before = StatusBefore(options, false, deadline);
  if (!before) return Fail(before.error());
  const QuickWords words = WordsAbout(settings, before->status);
  if (settings.expected_nodes) {
    PolicyRequest request = PolicyOf(PolicyRequest::Verb::kSetExpectedNodes, change);
    request.number = *settings.expected_nodes;
    return Quick(options, request, words, deadline);
  }
  if (!settings.limits.empty()) {
    PolicyRequest request = PolicyOf(PolicyRequest::Verb::kSetLimits, change);
    request.limits = settings.limits;
    return Quick(options, request, words, deadline);
  }
  const runtime::GroupChangeRequest request{.failover = settings.failover,
                                            .delay = settings.failover_delay,
                                            .lock_delay = settings.lock_delay,
                                            .dry_run = change.dry_run,
                                            .actor = ActorName()};
  return Quick(options, request, words, deadline);
}

// Asked for in any case, as an undrain is.
ExitCode SetPlacement(const CtlOptions& options, const std::string& path,
                      const ChangeOptions& change) {
  const Result<Placement> placement = ReadPlacementFile(path);
  if (!placement) return Fail(placement.error());
  const TimePoint deadline = WorkDeadline(options);
  AdminClient client(options);
  const auto before = StatusBefore(options, true, deadline);
  if (!before) return Fail(before.error());
  const PlacementForecast forecast = Foresee(before->status, *placement);
  const runtime::GroupChangeRequest request{
      .placement = *placement, .dry_run = change.dry_run, .actor = ActorName()};
  const Status result = client.Request(request, CallDeadline(deadline));
  if (!result) return FailChange(result.error(), "placement get");
  SayWarnings(forecast, *placement);
  const json::object document{{"rules", placement->size()},
                              {"moves", forecast.moves.size()},
                              {"nobody_may_lead", forecast.nobody_count}};
  const QuickWords words = WordsAbout(*placement, before->status, forecast);
  if (!change.dry_run) return ReportQuick(options, change.dry_run, words, document);
  const std::string waits = PauseWords(before->status, forecast);
  if (!waits.empty()) Say(waits);
  const ExitCode reported = ReportQuick(options, change.dry_run, words, document);
  return forecast.nobody_count == 0 ? reported : ExitCode::kPrecondition;
}

// Asked for in any case, as an undrain is.
ExitCode PauseBalance(const CtlOptions& options, const ChangeOptions& change) {
  const TimePoint deadline = WorkDeadline(options);
  const auto before = StatusBefore(options, false, deadline);
  if (!before) return Fail(before.error());
  return Quick(options, PolicyOf(PolicyRequest::Verb::kPause, change),
               {.done = "balance is paused; failover goes on",
                .dry_run = "would pause balance",
                .check = "status",
                .unchanged = before->status.paused ? "balance was paused already" : ""},
               deadline);
}

ExitCode ResumeBalance(const CtlOptions& options, const ChangeOptions& change) {
  const TimePoint deadline = WorkDeadline(options);
  const auto before = StatusBefore(options, false, deadline);
  if (!before) return Fail(before.error());
  return Quick(options, PolicyOf(PolicyRequest::Verb::kResume, change),
               {.done = "balance runs again",
                .dry_run = "would resume balance",
                .check = "status",
                .unchanged = before->status.paused ? "" : "balance was not paused"},
               deadline);
}

}  // namespace baton::app
