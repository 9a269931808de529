// The assignment that a status shows: whose shards are whose, and how many each member should lead.
//
// The loop only notes what has changed (AssignmentBoard). Targets and plans take O(shards), and are
// computed by the thread that asks first for those of a status (StatusAssignment).
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <mutex>
#include <set>
#include <utility>
#include <vector>

#include "core/assignment_of_view.h"
#include "runtime/shared_blocks.h"

namespace baton::runtime {

/// An assignment at one time. Thread-safe.
class StatusAssignment {
 public:
  StatusAssignment(std::vector<core::AssignmentMember> members,
                   std::vector<core::AssignmentPool> pools,
                   SharedBlocks<core::ShardOfAssignment> shards)
      : members_(std::move(members)), pools_(std::move(pools)), shards_(std::move(shards)) {}

  const std::vector<core::AssignmentMember>& members() const { return members_; }
  /// By number. Assignments share each block in which nothing changed.
  const SharedBlocks<core::ShardOfAssignment>& shards() const { return shards_; }
  /// Its `changes_at`, `owners_awaited` and `to_take_back` are not set.
  core::AssignmentOfView Whole() const;
  /// How many shards the member should lead; 0 if it does not take part. The first call takes
  /// O(shards).
  std::uint32_t TargetOf(const NodeId& node) const;

 private:
  const std::vector<core::AssignmentMember> members_;
  const std::vector<core::AssignmentPool> pools_;
  const SharedBlocks<core::ShardOfAssignment> shards_;
  mutable std::once_flag computed_;
  mutable std::map<NodeId, std::uint32_t> targets_;
};

/// Keeps an assignment that follows a view. Not thread-safe.
class AssignmentBoard {
 public:
  /// The assignment may read something else of this shard now. Call it for each shard whose
  /// ShardStatus may have changed.
  void Mark(ShardId shard);
  /// The assignment of the view, now. The same object as before, unless it has changed. Takes
  /// O(members + marked shards), and O(shards) if members came, went or changed. `settle`: see
  /// AssignmentFrom. REQUIRES: all calls pass the same `settle`.
  std::shared_ptr<const StatusAssignment> Of(const core::View& view, Duration settle,
                                             TimePoint now);

 private:
  bool Read(core::AssignmentReader& reader, ShardId shard);

  std::shared_ptr<const StatusAssignment> assignment_;  ///< null: Of was not called yet
  core::AssignmentMembers members_;
  SharedBlocks<core::ShardOfAssignment> shards_;
  std::set<ShardId> marked_;
  std::size_t renewed_ = 0;                          ///< the block that Read renewed last
  std::set<std::pair<TimePoint, ShardId>> changes_;  ///< when shards change without a mark
  TimePoint members_until_ = TimePoint::min();       ///< when members_ may change without one
};

}  // namespace baton::runtime
