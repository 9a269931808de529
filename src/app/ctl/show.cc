#include "app/ctl/show.h"

#include <algorithm>
#include <chrono>
#include <memory>
#include <string>
#include <vector>

#include <fmt/format.h>
#include <boost/json.hpp>

#include "app/ctl/client.h"
#include "app/ctl/group_settings.h"
#include "app/ctl/interrupt.h"
#include "app/ctl/others.h"
#include "app/ctl/output.h"
#include "app/ctl/tables.h"
#include "base/duration_text.h"
#include "http/status_json.h"
#include "routing/lookup_key.h"

namespace baton::app {
namespace {

namespace json = boost::json;
using runtime::NodeStatus;
using runtime::ShardStatus;
using runtime::StandbyStatus;

constexpr std::chrono::milliseconds kHealthPoll{500};

TimePoint CallDeadline(const CtlOptions& options) {
  return BootClock::now() + options.timeout.value_or(kCallTimeout);
}

bool Wide(const CtlOptions& options) { return options.format == Format::kWide; }

void PrintField(const CtlOptions& options, const char* name, Cell value) {
  std::string padded = name;
  padded.resize(10, ' ');
  PrintCells(options, {{padded, Style::kBold}, std::move(value)});
}

std::string SessionLine(const NodeStatus& status) {
  const std::string line = fmt::format("{} {}, session {}", status.node, status.version,
                                       runtime::ToString(status.session));
  if (status.session == runtime::SessionPhase::kRelay) return line;
  if (status.renewal_age.count() == 0) return line + ", never renewed";
  return fmt::format("{}, renewed {} ago (lease {})", line, AgeWord(status.renewal_age),
                     AgeWord(status.ttl));
}

std::string BalanceLine(const StatusAnswer& answer) {
  const NodeId& balancer = answer.status.balancer;
  return fmt::format("{}{}, {} in flight", BalanceWord(answer.status),
                     balancer.empty() ? "" : ", balancer " + balancer,
                     CountOf(answer.moves.size(), "move"));
}

/// Only its leader knows that a shard fails, and only a former leader that it has not stopped. So
/// every node is asked.
void PrintFailing(const CtlOptions& options, const NodeStatus& status, OthersAnswers others) {
  others.answered.push_back(status);
  const std::string failing = FailingLine(others.answered);
  if (!failing.empty()) PrintField(options, "failing", {failing, Style::kBad});
  const std::string stopping = StoppingLine(others.answered);
  if (!stopping.empty()) PrintField(options, "stopping", {stopping, Style::kWarning});
  if (others.silent.empty()) return;
  constexpr std::size_t kNamed = 5;
  std::string names;
  for (std::size_t i = 0; i < std::min(kNamed, others.silent.size()); ++i) {
    names += (i == 0 ? "" : ", ") + others.silent[i];
  }
  if (others.silent.size() > kNamed)
    names += fmt::format(" and {} more", others.silent.size() - kNamed);
  Say("not asked whether their shards fail to activate or to stop, because they can't be reached "
      "from here, or refuse: " +
      names);
}

std::string LiveNodesWord(const NodeStatus& status) {
  const std::string live = CountOf(LiveNodes(status), "live node");
  if (status.expected_nodes == 0) return live;
  return fmt::format("{} of {} expected", live, status.expected_nodes);
}

void PrintStatus(const CtlOptions& options, StatusAnswer answer, TimePoint deadline) {
  NodeStatus& status = answer.status;
  OthersAnswers others = AskOthers(status, options.tls, deadline);
  AddDepartures(others.answered, &status);
  const std::string unhealthy = Unhealthy(status);
  PrintField(options, "group",
             {fmt::format("{}: {}, {}", status.group, CountOf(status.shard_count, "shard"),
                          LiveNodesWord(status))});
  PrintField(options, "health",
             unhealthy.empty() ? Cell{"healthy", Style::kGood}
                               : Cell{"unhealthy: " + unhealthy, Style::kBad});
  for (const std::string& line : GoneLines(status)) {
    PrintField(options, "gone", {line, Style::kWarning});
  }
  PrintField(options, "balance", {BalanceLine(answer)});
  PrintFailing(options, status, std::move(others));
  for (const std::string& line : PlacementLines(status)) {
    PrintField(options, "placement", {line, Style::kWarning});
  }
  if (status.braking) {
    PrintField(options, "brake", {"succession waits: too many members vanished at once"});
  }
  PrintField(options, "revision",
             {fmt::format("{} (view {} old)", status.revision.value, AgeWord(status.view_age))});
  PrintField(options, "node", {SessionLine(status)});
  PrintLine("");
  PrintTable(options, NodesTable(status, Wide(options)));
  SayAsOf(status);
}

ExitCode PrintHealth(const CtlOptions& options, const NodeStatus& status) {
  const std::string unhealthy = Unhealthy(status);
  if (options.structured()) {
    json::object document{{"group", status.group}, {"healthy", unhealthy.empty()}};
    document["problem"] = unhealthy.empty() ? json::value(nullptr) : json::value(unhealthy);
    PrintStructured(options, json::serialize(document));
  } else {
    PrintLine(unhealthy.empty() ? "healthy" : "unhealthy: " + unhealthy);
  }
  return unhealthy.empty() ? ExitCode::kDone : ExitCode::kFailed;
}

ExitCode WaitHealthy(const CtlOptions& options, AdminClient& client) {
  const TimePoint deadline = BootClock::now() + options.timeout.value_or(kWorkTimeout);
  Progress progress;
  std::string problem = "not asked yet";
  while (!Interrupt::Happened() && BootClock::now() < deadline) {
    const auto answer = client.GetStatus(true, std::min(deadline, BootClock::now() + kOneCall));
    // Of the command itself, such as a certificate that can't be read: to wait does not help.
    if (!answer && answer.error().code == ErrorCode::kInvalidArgument) {
      progress.End();
      return Fail(answer.error());
    }
    problem = answer ? Unhealthy(answer.value().status) : answer.error().message;
    if (answer && problem.empty()) {
      progress.End();
      return PrintHealth(options, answer.value().status);
    }
    if (!Interrupt::Happened()) progress.Show("waiting: " + problem);
    Interrupt::Sleep(kHealthPoll);
  }
  progress.End();
  if (Interrupt::Happened()) return Fail({ErrorCode::kInternal, ""});
  return Fail({ErrorCode::kTimedOut, "timed out, not healthy: " + problem});
}

ExitCode PrintMoves(const CtlOptions& options, const std::vector<MoveFact>& moves) {
  if (options.structured()) {
    PrintStructured(options, http::MovesJson(moves));
  } else if (moves.empty()) {
    Say("nothing to move");
  } else {
    PrintTable(options, MovesTable(moves, Wide(options)));
    Say(CountOf(moves.size(), "move"));
  }
  return ExitCode::kDone;
}

/// The leader knows more than the node that answered. Silent: the answer is shown as it is.
void AddWhatTheLeaderKnows(AdminClient& client, const ClientTls& tls, TimePoint deadline,
                           NodeStatus* status) {
  ShardStatus& shard = status->shards.front();
  if (shard.leader.empty() || shard.failing) return;
  const auto group = client.GetStatus(false, deadline);
  if (!group) return;
  if (auto told = AskLeader(group.value().status, shard, tls, deadline)) shard = *std::move(told);
}

void PrintShard(const CtlOptions& options, const NodeStatus& status) {
  PrintTable(options, ShardsTable(status, true));
  const ShardStatus& shard = status.shards.front();
  if (const std::string cause = CauseWords(shard.cause); !cause.empty()) {
    PrintLine(fmt::format("why {} leads: {}", shard.leader, cause));
  }
  for (const std::string& line : StandbyLines(shard)) {
    PrintLine("standby: " + line);
  }
  for (const Transition& transition : status.recent) {
    const std::string cause = CauseWords(transition.cause);
    PrintLine(fmt::format("term {}: {} -> {}, {}{}, gap {}{}", transition.term.value,
                          transition.from.empty() ? "nobody" : transition.from,
                          transition.to.empty() ? "nobody" : transition.to,
                          ToString(transition.reason), cause.empty() ? "" : " (" + cause + ")",
                          GapWord(transition, runtime::GapOf(transition)),
                          transition.actor.empty() ? "" : ", by " + transition.actor));
  }
}

std::string StandbysLine(const std::vector<StandbyStatus>& standbys) {
  std::vector<std::string> words;
  for (const StandbyStatus& standby : standbys) {
    words.push_back(fmt::format("{} ({}, {})", standby.node,
                                standby.address.empty() ? "no address" : standby.address,
                                standby.ready ? "ready" : "not ready"));
  }
  return fmt::format("standbys: {}", fmt::join(words, ", "));
}

}  // namespace

void SayAsOf(const NodeStatus& status) {
  if (!status.stale) return;
  Say(fmt::format("as of {} ago: etcd does not answer {}; what other nodes lead may have changed",
                  AgeWord(status.view_age), status.node));
}

ExitCode ShowStatus(const CtlOptions& options) {
  const TimePoint deadline = CallDeadline(options);
  AdminClient client(options);
  auto answer = client.GetStatus(true, deadline);
  if (!answer) return Fail(answer.error());
  if (options.structured()) {
    PrintStructured(options, http::StatusJson(answer.value().status));
  } else {
    PrintStatus(options, std::move(answer.value()), deadline);
  }
  return ExitCode::kDone;
}

ExitCode ShowIdentity(const CtlOptions& options) {
  AdminClient client(options);
  const auto identity = client.WhoAmI(CallDeadline(options));
  if (!identity) return Fail(identity.error());
  const auto& [caller, role] = identity.value();
  if (options.structured()) {
    PrintStructured(options, json::serialize(json::object{{"caller", caller}, {"role", role}}));
  } else {
    PrintLine(fmt::format("{}: {}", caller, role));
  }
  return ExitCode::kDone;
}

ExitCode CheckHealth(const CtlOptions& options, bool wait) {
  AdminClient client(options);
  if (wait) return WaitHealthy(options, client);
  const auto answer = client.GetStatus(true, CallDeadline(options));
  if (!answer) return Fail(answer.error());
  return PrintHealth(options, answer.value().status);
}

ExitCode ListShards(const CtlOptions& options) {
  AdminClient client(options);
  const auto status = client.ListShards(CallDeadline(options));
  if (!status) return Fail(status.error());
  if (options.structured()) {
    PrintStructured(options, http::ShardsJson(status.value()));
  } else {
    Table table = ShardsTable(status.value(), Wide(options));
    AddStandbys(status.value(), &table);
    PrintTable(options, table);
    SayAsOf(status.value());
  }
  return ExitCode::kDone;
}

ExitCode DescribeShard(const CtlOptions& options, ShardId shard) {
  AdminClient client(options);
  const TimePoint deadline = CallDeadline(options);
  auto status = client.DescribeShard(shard, deadline);
  if (!status) return Fail(status.error());
  AddWhatTheLeaderKnows(client, options.tls, deadline, &status.value());
  if (options.structured()) {
    PrintStructured(options, http::ShardJson(status.value(), shard).value_or("null"));
  } else {
    PrintShard(options, status.value());
    SayAsOf(status.value());
  }
  return ExitCode::kDone;
}

ExitCode LookUpKey(const CtlOptions& options, const std::string& key) {
  AdminClient client(options);
  const TimePoint deadline = CallDeadline(options);
  const auto group = client.GetStatus(false, deadline);
  if (!group) return Fail(group.error());
  const NodeStatus& known = group.value().status;
  const auto shard = routing::ShardOfKey(key, known);
  if (!shard) return Fail(shard.error());
  auto status = client.DescribeShard(shard.value(), deadline);
  if (!status) return Fail(status.error());
  status.value().view_age = known.view_age;  // from the call before
  if (options.structured()) {
    const auto document = http::LookupJson(status.value(), shard.value());
    if (!document) return Fail({ErrorCode::kNotFound, "the node's answer lacks the shard"});
    PrintStructured(options, *document);
  } else {
    PrintTable(options, ShardsTable(status.value(), true));
    const auto& standbys = status.value().shards.front().standbys;
    if (standbys != nullptr) PrintLine(StandbysLine(*standbys));
  }
  return ExitCode::kDone;
}

ExitCode ListNodes(const CtlOptions& options) {
  AdminClient client(options);
  const auto answer = client.GetStatus(false, CallDeadline(options));
  if (!answer) return Fail(answer.error());
  if (options.structured()) {
    PrintStructured(options, http::NodesJson(answer.value().status));
  } else {
    PrintTable(options, NodesTable(answer.value().status, Wide(options)));
    SayAsOf(answer.value().status);
  }
  return ExitCode::kDone;
}

ExitCode ShowGroup(const CtlOptions& options) {
  AdminClient client(options);
  const auto answer = client.GetStatus(false, CallDeadline(options));
  if (!answer) return Fail(answer.error());
  const NodeStatus& status = answer.value().status;
  if (options.structured()) {
    PrintStructured(options, http::GroupJson(status));
    return ExitCode::kDone;
  }
  const auto line = [](const char* setting, const std::string& value) {
    PrintLine(fmt::format("{} {}", setting, value));
  };
  const auto number = [&line](const char* setting, std::uint32_t value, const char* unset) {
    line(setting, value == 0 ? unset : std::to_string(value));
  };
  number(kExpectedNodesSetting, status.expected_nodes, "not set");
  number(kMaxMovesSetting, status.max_moves, "not set: each node's --max-moves");
  const auto delay = [&line](const char* setting,
                             const std::optional<std::chrono::milliseconds>& value) {
    line(setting,
         value ? FormatDuration(*value) : fmt::format("not set: each node's --{}", setting));
  };
  delay(kRebalanceDelaySetting, status.rebalance_delay);
  delay(kCooldownSetting, status.cooldown);
  const FailoverSettings& failover = status.failover;
  line(kFailoverSetting, ToString(failover.policy));
  if (failover.policy == FailoverPolicy::kAfter) {
    line(kFailoverDelaySetting, FormatDuration(failover.delay));
  }
  line(kLockDelaySetting, FormatDuration(failover.lock_delay));
  line("placement", status.placement.empty() ? "no rules"
                                             : CountOf(status.placement.size(), "rule") +
                                                   ": see `batonctl placement get`");
  SayAsOf(status);
  return ExitCode::kDone;
}

ExitCode ShowRebalancePlan(const CtlOptions& options) {
  AdminClient client(options);
  const TimePoint deadline = CallDeadline(options);
  const auto moves = client.PlanRebalance(deadline);
  if (!moves) return Fail(moves.error());
  const ExitCode exit = PrintMoves(options, moves.value());
  if (options.structured()) return exit;
  if (const auto answer = client.GetStatus(false, deadline)) SayAsOf(answer->status);
  return exit;
}

ExitCode ShowRebalanceStatus(const CtlOptions& options) {
  AdminClient client(options);
  const auto answer = client.GetStatus(false, CallDeadline(options));
  if (!answer) return Fail(answer.error());
  const NodeStatus& status = answer.value().status;
  if (options.structured()) {
    json::object document{
        {"balancer", status.balancer.empty() ? json::value(nullptr) : json::value(status.balancer)},
        {"paused", status.paused},
        {"rebalance_requested", status.rebalance_requested}};
    document["moves"] = json::parse(http::MovesJson(answer.value().moves)).at("moves");
    PrintStructured(options, json::serialize(document));
    return ExitCode::kDone;
  }
  PrintLine("balance: " + BalanceLine(answer.value()));
  if (!answer.value().moves.empty()) {
    PrintTable(options, MovesTable(answer.value().moves, Wide(options)));
  }
  return ExitCode::kDone;
}

ExitCode PrintVersion(const CtlOptions& options) {
  if (options.structured()) {
    PrintStructured(options, json::serialize(json::object{{"version", BATON_VERSION}}));
  } else {
    PrintLine(std::string("batonctl ") + BATON_VERSION);
  }
  return ExitCode::kDone;
}

}  // namespace baton::app
