#include "core/ripe_marks.h"

#include <algorithm>
#include <limits>
#include <set>
#include <utility>
#include <vector>

#include "core/may_claim.h"

namespace baton::core {
namespace {

constexpr Duration kStep = std::chrono::milliseconds(300);
// A mark that says nothing does no harm. Meanwhile more shards may be claimed.
constexpr Duration kSweepAfter = std::chrono::seconds(10);

Duration Turn(const Context& context) {
  std::int64_t place = 0;
  for (const auto& [node, member] : context.view.members()) {
    if (node == context.self()) break;
    if (member.Live()) ++place;
  }
  return place * kStep;
}

// By the leaders' numbers: the least term by which each node leads a shard.
std::vector<Revision> LeastTerms(const View& view) {
  constexpr Revision kNone{std::numeric_limits<std::int64_t>::max()};
  std::vector<Revision> least(view.leaders().numbers(), kNone);
  for (std::uint32_t s = 0; s < view.shard_count(); ++s) {
    const ShardId shard{s};
    if (!view.InForce(shard)) continue;
    Revision& known = least[view.leaders().Of(shard)];
    known = std::min(known, view.record(shard).revision);
  }
  return least;
}

// A mark that no record needs any more. A later record has a later revision than any mark that is
// there, so none will need it again. Not a mark that this node knows from an answer, before all
// records that are as old.
std::optional<RipeMark> NeedlessMark(const View& view) {
  std::set<NodeId> needed;
  for (std::uint32_t s = 0; s < view.shard_count(); ++s) {
    const RecordFact& record = view.record(ShardId{s});
    const NodeId& node = record.leader.empty() ? record.resigned_by : record.leader;
    const RipeFact* mark = record.present && !node.empty() ? view.ripe(node) : nullptr;
    if (mark != nullptr && record.revision <= mark->up_to) needed.insert(node);
  }
  for (const auto& [node, mark] : view.ripe()) {
    if (!mark.present || mark.revision > view.revision() || needed.contains(node)) continue;
    return RipeMark{.node = node, .read = mark.revision};
  }
  return std::nullopt;
}

}  // namespace

// A mark becomes due by a node's coming or going, by another policy, or by a node that resigns.
void RipeMarks::Note(const View& view, const ViewChanges& changes) {
  swept_ = swept_ && !changes.policy && changes.shards.empty();
  outdated_ = outdated_ || changes.members || changes.policy || changes.config;
  if (outdated_ || view.failover().policy != FailoverPolicy::kAfter) return;
  outdated_ = Vacated(view, changes);
}

void RipeMarks::On(TimePoint now) {
  in_flight_ = false;
  outdated_ = true;
  swept_ = false;
  not_before_ = now + kMaxRetryPause;
}

// A mark holds for all that the node leads by terms up to the mark's, too. So a record that is as
// new as one of these leaderships gets none: for example what a node has resigned that takes its
// time to stop. Then each node claims by its own clock. Nor does a record that this node knows from
// an answer, before the watch has shown what the node led by then.
void RipeMarks::Look(const Context& context) {
  due_.clear();
  look_at_ = TimePoint::max();
  const View& view = context.view;
  const std::vector<Revision> least = LeastTerms(view);
  for (std::uint32_t s = 0; s < view.shard_count(); ++s) {
    const ShardId shard{s};
    if (view.InForce(shard)) continue;
    const NodeId& owner = OwnerOf(view, shard);
    if (owner.empty()) continue;
    const Revision revision = view.record(shard).revision;
    if (revision > view.revision()) {
      look_at_ = std::min(look_at_, context.now + kMaxRetryPause);
      continue;
    }
    const LeaderIndex::Number number = view.leaders().NumberOf(owner);
    if (number != LeaderIndex::kNobody && revision >= least[number]) continue;
    const TimePoint ripe_at = OthersFrom(view, shard);
    if (ripe_at == TimePoint::min() || ripe_at == TimePoint::max()) continue;  // marked, or unknown
    // At most 20 looks a second, because each goes through all shards.
    if (ripe_at > context.now) {
      look_at_ = std::min(look_at_, std::max(ripe_at, context.now + kMinRetryPause));
    }
    Due& due = due_[owner];
    due.at = std::max(due.at, ripe_at);
    due.newest = std::max(due.newest, revision);
  }
}

void RipeMarks::Advance(Context& context) {
  const View& view = context.view;
  if (!view.complete() || !context.live() || in_flight_) return;
  if (view.failover().policy == FailoverPolicy::kAfter) WriteDue(context);
  if (!in_flight_) Sweep(context);
}

void RipeMarks::Sweep(Context& context) {
  if (context.view.ripe().empty() || (swept_ && !sweep_at_)) return;
  if (!sweep_at_) sweep_at_ = context.now + kSweepAfter + Turn(context);
  swept_ = true;
  if (context.now < *sweep_at_) return context.WakeAt(*sweep_at_);
  sweep_at_.reset();
  auto needless = NeedlessMark(context.view);
  if (!needless) return;
  context.Submit(WriteOwner::kRipeMarks, *std::move(needless));
  in_flight_ = true;
}

void RipeMarks::WriteDue(Context& context) {
  if (outdated_ || context.now >= look_at_) Look(context);
  outdated_ = false;
  context.WakeAt(look_at_);
  const Duration turn = due_.empty() ? Duration{0} : Turn(context);
  for (const auto& [owner, due] : due_) {
    const TimePoint at = std::max(due.at + turn, not_before_);
    if (context.now >= at) return Write(context, owner);
    context.WakeAt(at);
  }
}

// The owner may have taken its shards back meanwhile.
void RipeMarks::Write(Context& context, NodeId owner) {
  Look(context);
  const auto found = due_.find(owner);
  if (found == due_.end() || context.now < found->second.at) {
    return context.WakeAt(context.now + kMinRetryPause);  // others may be due
  }
  const RipeFact* known = context.view.ripe(owner);
  const Revision read = known != nullptr && known->present ? known->revision : Revision{};
  context.Submit(WriteOwner::kRipeMarks,
                 RipeMark{.node = owner, .up_to = found->second.newest, .read = read});
  in_flight_ = true;
}

}  // namespace baton::core
