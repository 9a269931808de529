// The assignment that a status shows: whose shards are whose, and how many each member should lead.
//
// The loop only notes what has changed (AssignmentBoard). Targets and plans take O(shards). The
// first thread that asks a status for them computes them (StatusAssignment).
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
  /// The view's members, policies or config have changed.
  void MarkMembers() { members_marked_ = true; }

  /// The assignment of the view, now. The same object as before, unless it has changed. Takes
  /// O(members + marked shards); if members or their settings changed, also what
  /// AssignmentMembersFrom takes, and O(shards) if that found other ones. `settle`: see
  /// AssignmentFrom. REQUIRES: all calls pass the same `view` and `settle`.
  std::shared_ptr<const StatusAssignment> Of(const core::View& view, Duration settle,
                                             TimePoint now);

 private:
  bool FindMembers(const core::View& view, TimePoint now);
  bool Read(core::AssignmentReader& reader, ShardId shard);

  std::shared_ptr<const StatusAssignment> assignment_;  ///< null: Of was not called yet
  core::AssignmentMembers members_;
  bool members_marked_ = true;
  TimePoint members_until_ = TimePoint::min();  ///< members_ may be others from then on
  SharedBlocks<core::ShardOfAssignment> shards_;
  std::vector<bool> is_marked_;
  std::vector<ShardId> marked_;
  std::size_t renewed_ = 0;  ///< the block that Read renewed last
  /// By shard: when it may change without a mark; max: not known. `changes_` has these times.
  std::vector<TimePoint> changes_at_;
  std::set<std::pair<TimePoint, ShardId>> changes_;
};

}  // namespace baton::runtime
