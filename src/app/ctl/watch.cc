#include "app/ctl/watch.h"

#include <algorithm>
#include <chrono>

#include <fmt/format.h>

#include "app/ctl/blocked_drain.h"
#include "app/ctl/interrupt.h"
#include "app/ctl/output.h"
#include "app/ctl/tables.h"
#include "runtime/group_follower.h"

namespace baton::app {
namespace {

using runtime::MemberStatus;
using runtime::NodeStatus;
using runtime::ShardStatus;

constexpr std::chrono::milliseconds kPoll{200};
constexpr std::chrono::minutes kSilence{1};
constexpr std::chrono::seconds kShardsPause{2};

const ShardStatus* FindShard(const NodeStatus& status, ShardId shard) {
  for (const ShardStatus& candidate : status.shards) {
    if (candidate.shard == shard) return &candidate;
  }
  return nullptr;
}

const MemberStatus* FindMember(const NodeStatus& status, const NodeId& node) {
  for (const MemberStatus& candidate : status.members) {
    if (candidate.fact.node == node) return &candidate;
  }
  return nullptr;
}

std::string ShardName(ShardId shard) { return "shard " + std::to_string(shard.value); }

Verdict JudgeNewLeadership(const MoveFact& move, const ShardStatus& shard) {
  const std::string term = fmt::format(" (term {})", shard.term.value);
  if (shard.leader == move.to) {
    return {ExitCode::kDone, fmt::format("{} moved from {} to {}{}", ShardName(move.shard),
                                         move.from, move.to, term)};
  }
  return {ExitCode::kPrecondition,
          fmt::format("{} was not moved to {}: its term moved on, {} leads it now{}",
                      ShardName(move.shard), move.to, shard.leader, term)};
}

/// `next_shards`: from when on the shards of the whole group may be asked for.
Result<StatusAnswer> Ask(AdminClient& client, const FollowOptions& options,
                         TimePoint* next_shards) {
  const TimePoint deadline = std::min(options.deadline, BootClock::now() + kOneCall);
  if (options.shard) {
    Result<NodeStatus> status = client.DescribeShard(*options.shard, deadline);
    if (!status) return status.error();
    return StatusAnswer{std::move(status).value(), {}};
  }
  Result<StatusAnswer> answer = client.GetStatus(false, deadline);
  const bool needed = answer && options.needs_shards && options.needs_shards(answer->status);
  if (!needed || BootClock::now() < *next_shards) return answer;
  *next_shards = BootClock::now() + kShardsPause;
  Result<StatusAnswer> with_shards = client.GetStatus(true, deadline);
  if (with_shards) return with_shards;
  return answer;
}

/// Why nothing that the node leads can move, as far as the answer shows; empty: some can.
std::string WhyNoneMoves(const NodeStatus& status, const MemberStatus& member) {
  const NodeId& node = member.fact.node;
  if (!HasOtherCandidate(status, node)) {
    return fmt::format("no other node can take {}'s {}", node, CountOf(member.led, "shard"));
  }
  const LedShards led = LedBy(status, node);
  if (led.blocked == 0 || led.movable > 0) return "";
  return fmt::format("no other node may lead {}'s {} by placement {}", node,
                     CountOf(led.blocked, "shard"), RuleWords(status, led.rules));
}

Followed EndEarly(const FollowOptions& options, const Verdict& last) {
  const std::string so_far = last.line.empty() ? "" : "; by now: " + last.line;
  if (Interrupt::Happened()) {
    return {ExitCode::kInterrupted, fmt::format("interrupted: {} goes on{}", options.what, so_far)};
  }
  return {last.partly ? ExitCode::kPartly : ExitCode::kTimedOut,
          fmt::format("timed out: {} goes on{}", options.what, so_far)};
}

}  // namespace

Verdict JudgeTransfer(const MoveFact& move, const StatusAnswer& answer) {
  const ShardStatus* shard = FindShard(answer.status, move.shard);
  const std::string waiting =
      fmt::format("{} from {} to {}: ", ShardName(move.shard), move.from, move.to);
  if (shard == nullptr) return {{}, waiting + "the node does not know it yet"};
  if (shard->term > move.ends && !shard->leader.empty()) return JudgeNewLeadership(move, *shard);
  // An older answer doesn't know of the move.
  if (answer.status.revision < move.revision) return {{}, waiting + "written"};
  if (shard->leader.empty()) return {{}, waiting + "it has no leader now"};
  if (!shard->move) {
    return {ExitCode::kFailed,
            fmt::format(
                "{} stays with {}: the move was given up (is {} alive, did it prepare in time?)",
                ShardName(move.shard), move.from, move.to)};
  }
  return {{}, waiting + ToString(shard->move->phase)};
}

Verdict JudgeDrain(const NodeId& node, std::uint32_t initial, const StatusAnswer& answer) {
  const MemberStatus* member = FindMember(answer.status, node);
  if (member == nullptr) return {ExitCode::kDone, node + " is drained: it left the group"};
  const bool known = member->drained_by_policy;
  const std::uint32_t moved = initial > member->led ? initial - member->led : 0;
  if (known && member->led == 0) {
    return {ExitCode::kDone, fmt::format("{} is drained: it leads nothing, {} moved", node,
                                         CountOf(moved, "shard"))};
  }
  const std::string why = known ? WhyNoneMoves(answer.status, *member) : "";
  if (!why.empty()) {
    const char* const rest = member->led == 1 ? "it" : "them";
    const bool ruled = HasOtherCandidate(answer.status, node);
    return {
        moved > 0 ? ExitCode::kPartly : ExitCode::kPrecondition,
        fmt::format("{}: it goes on leading {}; the drain stands, and goes on when a node{} joins",
                    why, rest, ruled ? fmt::format(" that may lead {}", rest) : "")};
  }
  return {{},
          fmt::format("{} leads {} of {}", node, member->led, CountOf(initial, "shard")),
          moved > 0};
}

Verdict JudgeRetry(const Retried& retried, const StatusAnswer& answer) {
  const std::string name = ShardName(retried.shard);
  const ShardStatus* shard = FindShard(answer.status, retried.shard);
  if (shard == nullptr) return {{}, name + ": the node does not know it"};
  if (shard->leader.empty()) return {ExitCode::kPrecondition, name + " lost its leader meanwhile"};
  if (shard->term != retried.term) {
    return {ExitCode::kPrecondition,
            fmt::format("{} changed hands meanwhile: {} leads it now", name, shard->leader)};
  }
  if (!shard->failing && shard->state != ShardState::kActivating) {
    return {ExitCode::kDone, fmt::format("{} is active on {}", name, shard->leader)};
  }
  if (shard->failing && shard->failing->attempts > retried.attempts) {
    return {ExitCode::kFailed,
            fmt::format("{} failed again: {}", name, FailingWords(*shard->failing))};
  }
  return {{}, fmt::format("{} is being tried on {}", name, shard->leader)};
}

Verdict JudgeRebalance(RebalanceProgress* progress, const RebalanceLook& look) {
  const NodeStatus& status = look.answer.status;
  const auto of_balance = [](const MoveFact& move) { return move.reason == Reason::kRebalance; };
  const auto& moves = look.answer.moves;
  const auto in_flight =
      static_cast<std::uint32_t>(std::count_if(moves.begin(), moves.end(), of_balance));
  progress->known = progress->known || status.rebalance_requested ||
                    look.since > status.view_age + runtime::GroupFollower::kLongestStatusAge;
  if (look.left) progress->left = *look.left;
  const std::uint32_t rest = progress->left + in_flight;
  const std::uint32_t moved = progress->initial > rest ? progress->initial - rest : 0;
  const std::string count = fmt::format("{} of {} done", moved, CountOf(progress->initial, "move"));
  if (status.rebalance_requested || in_flight > 0 || !look.left) {
    return {{}, fmt::format("{}, {} in flight", count, in_flight), moved > 0};
  }
  if (*look.left == 0) return {ExitCode::kDone, "balanced: " + count};
  if (!progress->known) return {{}, count, moved > 0};
  return {moved > 0 ? ExitCode::kPartly : ExitCode::kFailed,
          fmt::format("the rebalance has ended, and {} left (cancelled, given up, or new): {}",
                      *look.left == 1 ? "1 move is" : CountOf(*look.left, "move") + " are", count)};
}

Followed Follow(AdminClient& client, const FollowOptions& options,
                const std::function<Verdict(const StatusAnswer&)>& judge) {
  Progress progress;
  Verdict last;
  TimePoint heard = BootClock::now();
  TimePoint next_shards = heard;
  while (!Interrupt::Happened() && BootClock::now() < options.deadline) {
    const Result<StatusAnswer> answer = Ask(client, options, &next_shards);
    if (answer) {
      heard = BootClock::now();
      last = judge(answer.value());
      if (last.exit) return {*last.exit, last.line};
      progress.Show(last.line);
    } else if (BootClock::now() - heard > kSilence) {
      return {ExitCode::kUnreachable,
              fmt::format("{}; {} goes on", answer.error().message, options.what)};
    } else if (!Interrupt::Happened()) {
      progress.Show(answer.error().message + "; trying again");
    }
    Interrupt::Sleep(kPoll);
  }
  return EndEarly(options, last);
}

}  // namespace baton::app
