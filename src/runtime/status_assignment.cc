#include "runtime/status_assignment.h"

#include <algorithm>
#include <limits>
#include <vector>

#include "core/assignment.h"

namespace baton::runtime {
namespace {

constexpr std::size_t kNoBlock = std::numeric_limits<std::size_t>::max();

}  // namespace

core::AssignmentOfView StatusAssignment::Whole() const {
  core::AssignmentOfView whole;
  whole.input.members = members_;
  whole.input.pools = pools_;
  whole.input.shards.reserve(shards_.size());
  whole.shard_of.reserve(shards_.size());
  whole.movable.reserve(shards_.size());
  for (std::uint32_t s = 0; s < shards_.size(); ++s) whole.Add(ShardId{s}, shards_[s]);
  return whole;
}

std::uint32_t StatusAssignment::TargetOf(const NodeId& node) const {
  std::call_once(computed_, [this] {
    const core::Assignment assigned = core::Assign(Whole().input);
    for (std::size_t m = 0; m < members_.size(); ++m) {
      targets_[members_[m].id] = assigned.target[m];
    }
  });
  const auto found = targets_.find(node);
  return found != targets_.end() ? found->second : 0;
}

void AssignmentBoard::Mark(ShardId shard) {
  if (assignment_ == nullptr || is_marked_[shard.value]) return;
  is_marked_[shard.value] = true;
  marked_.push_back(shard);
}

std::shared_ptr<const StatusAssignment> AssignmentBoard::Of(const core::View& view, Duration settle,
                                                            TimePoint now) {
  bool all = FindMembers(view, now);
  if (assignment_ == nullptr) {
    all = true;
    shards_.resize(view.shard_count());
    is_marked_.resize(view.shard_count());
    changes_at_.resize(view.shard_count(), TimePoint::max());
  }
  for (auto next = changes_.begin(); next != changes_.end() && next->first <= now; ++next) {
    Mark(next->second);
  }
  if (!all && marked_.empty()) return assignment_;
  std::sort(marked_.begin(), marked_.end());
  core::AssignmentReader reader(view, members_, settle, now);
  renewed_ = kNoBlock;
  bool changed = all;
  if (all) {
    for (std::uint32_t s = 0; s < view.shard_count(); ++s) Read(reader, ShardId{s});
  } else {
    for (const ShardId shard : marked_) changed = Read(reader, shard) || changed;
  }
  for (const ShardId shard : std::exchange(marked_, {})) is_marked_[shard.value] = false;
  if (changed) {
    assignment_ =
        std::make_shared<const StatusAssignment>(members_.members, members_.pools.pools, shards_);
  }
  return assignment_;
}

// Returns whether they are others than before.
bool AssignmentBoard::FindMembers(const core::View& view, TimePoint now) {
  if (!std::exchange(members_marked_, false) && now < members_until_) return false;
  core::AssignmentMembers found = core::AssignmentMembersFrom(view, now);
  members_until_ = core::AssignmentMembersUntil(view, now);
  if (found == members_) return false;
  members_ = std::move(found);
  return true;
}

// Returns whether the shard has changed.
bool AssignmentBoard::Read(core::AssignmentReader& reader, ShardId shard) {
  TimePoint& changes_at = changes_at_[shard.value];
  const TimePoint next = reader.NextChange(shard);
  if (next != changes_at) {
    changes_.erase({changes_at, shard});
    if (next != TimePoint::max()) changes_.emplace(next, shard);
    changes_at = next;
  }
  const core::ShardOfAssignment read = reader.Read(shard);
  if (std::as_const(shards_)[shard.value] == read) return false;
  const std::size_t block = shard.value / SharedBlocks<core::ShardOfAssignment>::kBlock;
  if (block != renewed_) shards_.Renew(shard.value);
  renewed_ = block;
  shards_[shard.value] = read;
  return true;
}

}  // namespace baton::runtime
