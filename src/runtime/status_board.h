// StatusBoard: keeps the shards' part of a status, and the assignment. For a new status, the loop
// renders only the shards that changed since the last status. The two statuses share each block of
// shards (SharedBlocks) in which no shard changed.
//
// The first call of Shards renders all shards. Call Note(view, changes) after each change of the
// view. Call Note(shard) if ShardOf (node_status.h) gives another result now, although the view has
// not changed.
//
// For the loop alone; other threads may read what Shards returned. REQUIRES: all calls pass the
// same view.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "base/check.h"
#include "core/view.h"
#include "runtime/control.h"
#include "runtime/status_assignment.h"

namespace baton::runtime {

/// Lets all shards with equal standbys share one list, also shards of different statuses.
class SharedStandbys {
 public:
  using List = std::shared_ptr<const std::vector<StandbyStatus>>;
  /// Returns the list that all shards with this content share. If the content is new, returns
  /// `list` itself. If `list` is null, returns null.
  List Shared(List list);
  /// Call Sweep after each status. Now and then it forgets the lists that no shard has any more.
  void Sweep();

 private:
  struct ByContent {
    bool operator()(const List& a, const List& b) const { return *a < *b; }
  };
  std::set<List, ByContent> lists_;
  std::size_t sweep_at_ = 0;  ///< with more lists than this
};

class StatusBoard {
 public:
  /// The view has changed as `changes` says.
  void Note(const core::View& view, const core::ViewChanges& changes);
  /// The shard changed for a reason that the view does not show. Does nothing before the first call
  /// of Shards. REQUIRES (not checked): the group has this shard.
  void Note(ShardId shard);

  /// Returns all shards, by number. Calls `look` to render each shard that changed, as of `now`.
  /// Sets ShardStatus::nobody_may_lead itself. REQUIRES: `look` does not call this object.
  SharedBlocks<ShardStatus> Shards(const core::View& view, TimePoint now,
                                   const std::function<ShardStatus(ShardId)>& look);
  // As of the last call of Shards; 0 or empty before the first call.
  /// How many shards had a ShardStatus::claims_wait above 0.
  std::uint32_t waiting() const { return static_cast<std::uint32_t>(again_.size()); }
  /// How many shards had ShardStatus::nobody_may_lead.
  std::uint32_t nobody_may_lead() const { return nobody_may_lead_; }
  /// The shards that had ShardStatus::waits_for or ShardStatus::locked_until.
  const std::set<ShardId>& may_wait_by_settings() const { return may_wait_by_settings_; }
  /// How many shards had ShardStatus::led_against_rule.
  std::uint32_t led_against_rules() const { return led_against_rules_; }
  /// How many shards had ShardStatus::without_ready_standby.
  std::uint32_t without_ready_standby() const { return without_ready_standby_; }
  /// Since when every call of Shards has found a shard without_ready_standby: the `now` of the
  /// first of these calls. TimePoint::max(): the last call found no such shard, or there was no
  /// call yet.
  TimePoint without_ready_standby_since() const { return without_ready_standby_since_; }
  /// How many of the shards that `node` leads were suspended. A process knows this only of its own
  /// node: 0 for other nodes.
  std::uint32_t SuspendedBy(const NodeId& node) const;
  /// As AssignmentBoard::Of, with the same requirements. REQUIRES (checked): Shards was called
  /// before.
  std::shared_ptr<const StatusAssignment> Assignment(const core::View& view, Duration settle,
                                                     TimePoint now) {
    BATON_CHECK(shards_.size() == view.shard_count());
    return assignment_.Of(view, settle, now);
  }

 private:
  void Mark(ShardId shard);
  bool NoteAddress(const core::View& view, const NodeId& node);
  void MarkStandbysOf(const core::View& view);
  void Render(const core::View& view, ShardStatus& status, ShardStatus rendered);

  SharedBlocks<ShardStatus> shards_;  ///< empty: Shards was not called yet
  SharedStandbys standbys_;
  std::map<NodeId, std::string> addresses_;  ///< of the members, as shards may show them
  std::vector<bool> changed_flag_;
  std::vector<ShardId> changed_;
  std::vector<ShardId> again_;  ///< shards that show how long they wait
  /// Shards that are led and show deaths, with the time from which these deaths don't count.
  std::set<std::pair<TimePoint, ShardId>> deaths_until_;
  std::map<NodeId, std::uint32_t> suspended_;  ///< how many shards of a node are; none is 0
  std::uint32_t nobody_may_lead_ = 0;
  std::set<ShardId> may_wait_by_settings_;
  std::uint32_t led_against_rules_ = 0;
  std::uint32_t without_ready_standby_ = 0;
  TimePoint without_ready_standby_since_ = TimePoint::max();
  AssignmentBoard assignment_;
};

}  // namespace baton::runtime
