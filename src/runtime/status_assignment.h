// The assignment that a status shows: whose shards are whose, and how many each member should lead.
//
// AssignmentBoard keeps the assignment's input up to date on the loop. It computes no targets,
// because that takes O(shards). The first thread that asks a StatusAssignment for a target computes
// all its targets, once. Planner plans moves from a StatusAssignment.
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

/// An assignment at one time: its input, and the targets of its members. Thread-safe.
class StatusAssignment {
 public:
  /// REQUIRES (not checked): `pools` and `shards` name members by their places in `members`.
  StatusAssignment(std::vector<core::AssignmentMember> members,
                   std::vector<core::AssignmentPool> pools,
                   SharedBlocks<core::ShardOfAssignment> shards)
      : members_(std::move(members)), pools_(std::move(pools)), shards_(std::move(shards)) {}

  /// The members that take part (see core::AssignmentOfView).
  const std::vector<core::AssignmentMember>& members() const { return members_; }
  /// All shards of the group, by number, also those that don't take part. Assignments of one
  /// AssignmentBoard share each block in which no shard changed.
  const SharedBlocks<core::ShardOfAssignment>& shards() const { return shards_; }
  /// Returns the assignment in the form that core::PlanAll reads. `changes_at`, `owners_awaited`
  /// and `to_take_back` keep their defaults. Each call takes O(shards).
  core::AssignmentOfView Whole() const;
  /// How many shards the member should lead; 0 if the member does not take part. The first call
  /// computes the targets of all members, which takes O(shards). Calls of other threads wait until
  /// the first call is done.
  std::uint32_t TargetOf(const NodeId& node) const;

 private:
  const std::vector<core::AssignmentMember> members_;
  const std::vector<core::AssignmentPool> pools_;
  const SharedBlocks<core::ShardOfAssignment> shards_;
  mutable std::once_flag computed_;
  mutable std::map<NodeId, std::uint32_t> targets_;
};

/// Keeps the assignment of a view up to date. Not thread-safe.
class AssignmentBoard {
 public:
  /// The next Of reads this shard from the view again. Call Mark for each shard whose ShardStatus
  /// may have changed. Mark does nothing before the first Of, because that call reads all shards.
  /// REQUIRES (not checked): the view has this shard.
  void Mark(ShardId shard);
  /// The next Of reads the members from the view again. Call MarkMembers when the view's members,
  /// policies or config have changed.
  void MarkMembers() { members_marked_ = true; }

  /// Returns the assignment of the view at `now`: the same object as the last call if the
  /// assignment has not changed. Reads marked shards and members again, and those that change only
  /// because time passes. `settle`: see core::AssignmentFrom.
  ///
  /// Takes O(members + marked shards). If the members are read again, adds the time of
  /// core::AssignmentMembersFrom. If that returns other members than before, reads all shards.
  ///
  /// REQUIRES (not checked): all calls pass the same `view` and `settle`; the shard count never
  /// changes; the view is complete. In an incomplete view, an unknown shard looks like a shard that
  /// nobody leads.
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
  std::size_t renewed_ = 0;  ///< the block that Read renewed last in this call of Of
  /// By shard: when it may change without a mark; max: not known. `changes_` has these times.
  std::vector<TimePoint> changes_at_;
  std::set<std::pair<TimePoint, ShardId>> changes_;
};

}  // namespace baton::runtime
