#include "runtime/status_board.h"

#include <algorithm>
#include <map>
#include <memory>
#include <utility>
#include <vector>

#include "core/may_claim.h"

namespace baton::runtime {
namespace {

bool NobodyMayLead(core::RulesAsked& rules, const ShardStatus& shard) {
  return shard.rule != 0 && shard.leader.empty() && !rules.SomebodyMayLead(shard.shard);
}

/// Whether WaitsBySettings can be true of the shard, now or later.
bool MayWaitBySettings(const ShardStatus& shard) {
  return !shard.waits_for.empty() || shard.locked_until.has_value();
}

}  // namespace

SharedStandbys::List SharedStandbys::Shared(List list) {
  if (list == nullptr) return list;
  return *lists_.insert(std::move(list)).first;
}

// Rarely looks: only once there are about twice as many lists as it left the last time.
void SharedStandbys::Sweep() {
  if (lists_.size() <= sweep_at_) return;
  std::erase_if(lists_, [](const List& list) { return list.use_count() == 1; });
  sweep_at_ = 2 * lists_.size() + 1000;
}

void StatusBoard::Mark(ShardId shard) {
  if (shards_.empty()) return;
  assignment_.Mark(shard);
  if (changed_flag_[shard.value]) return;
  changed_flag_[shard.value] = true;
  changed_.push_back(shard);
}

void StatusBoard::Note(ShardId shard) { Mark(shard); }

// Returns whether shards may show another address of the node. A member that is new or gone is no
// standby, or its shards change as well.
bool StatusBoard::NoteAddress(const core::View& view, const NodeId& node) {
  const MemberFact* const member = view.member(node);
  if (member == nullptr || !member->present) {
    addresses_.erase(node);
    return false;
  }
  const auto [known, added] = addresses_.try_emplace(node, member->service_address);
  if (added || known->second == member->service_address) return false;
  known->second = member->service_address;
  return true;
}

// Looks at all standbys: addresses rarely change.
void StatusBoard::MarkStandbysOf(const core::View& view) {
  if (view.standbys().empty()) return;
  for (const ShardStatus& status : std::as_const(shards_)) {
    if (status.standbys == nullptr) continue;
    for (const StandbyStatus& standby : *status.standbys) {
      const MemberFact* member = view.member(standby.node);
      if (member == nullptr || member->service_address != standby.address) Mark(status.shard);
    }
  }
}

// A shard shows its leader's address, and a move only while it is live.
void StatusBoard::Note(const core::View& view, const core::ViewChanges& changes) {
  if (changes.members || changes.policy || changes.config) assignment_.MarkMembers();
  if (shards_.empty()) return;
  for (const ShardId shard : changes.shards) Mark(shard);
  for (const ShardId shard : changes.standbys) Mark(shard);
  bool moved = false;
  for (const NodeId& node : changes.changed_members) moved = NoteAddress(view, node) || moved;
  if (moved) MarkStandbysOf(view);
  const bool immediate = view.failover().policy == FailoverPolicy::kImmediate;
  const bool counts = changes.members && (!immediate || !view.rules().empty());
  if (changes.config || changes.policy || counts) {
    // Which nodes may claim a shard, and from when on, depends on the group's settings and members.
    // The config also says which rule counts for a shard that is led.
    for (std::uint32_t s = 0; s < view.shard_count(); ++s) {
      if (changes.config || !view.InForce(ShardId{s})) Mark(ShardId{s});
    }
  }
  for (const NodeId& node : changes.changed_members) {
    view.leaders().ForEachOf(node, [this](ShardId shard) { Mark(shard); });
    for (const auto& [shard, move] : view.moves()) {
      if (move.to == node) Mark(shard);
    }
  }
}

SharedBlocks<ShardStatus> StatusBoard::Shards(const core::View& view, TimePoint now,
                                              const std::function<ShardStatus(ShardId)>& look) {
  if (shards_.empty()) {
    changed_flag_.resize(view.shard_count(), false);
    shards_.resize(view.shard_count());
    for (const auto& [node, member] : view.members()) NoteAddress(view, node);
    for (std::uint32_t s = 0; s < view.shard_count(); ++s) Mark(ShardId{s});
  }
  for (const ShardId shard : std::exchange(again_, {})) Mark(shard);
  while (!deaths_until_.empty() && deaths_until_.begin()->first <= now) {
    Mark(deaths_until_.begin()->second);
    deaths_until_.erase(deaths_until_.begin());
  }
  std::sort(changed_.begin(), changed_.end());
  core::RulesAsked rules(view);
  std::size_t renewed = shards_.size();  // the block that was renewed last
  for (const ShardId shard : changed_) {
    const std::size_t block = shard.value / SharedBlocks<ShardStatus>::kBlock;
    if (block != renewed) shards_.Renew(shard.value);
    renewed = block;
    ShardStatus rendered = look(shard);
    rendered.nobody_may_lead = NobodyMayLead(rules, rendered);
    rendered.standbys = standbys_.Shared(std::move(rendered.standbys));
    Render(view, shards_[shard.value], std::move(rendered));
    changed_flag_[shard.value] = false;
  }
  changed_.clear();
  standbys_.Sweep();
  const TimePoint since = std::min(without_ready_standby_since_, now);
  without_ready_standby_since_ = without_ready_standby_ > 0 ? since : TimePoint::max();
  return shards_;
}

void StatusBoard::Render(const core::View& view, ShardStatus& status, ShardStatus rendered) {
  if (status.state == ShardState::kSuspended) {
    const auto earlier = suspended_.find(status.leader);
    if (--earlier->second == 0) suspended_.erase(earlier);
  }
  nobody_may_lead_ += rendered.nobody_may_lead - status.nobody_may_lead;
  if (MayWaitBySettings(rendered)) {
    may_wait_by_settings_.insert(rendered.shard);
  } else if (MayWaitBySettings(status)) {
    may_wait_by_settings_.erase(rendered.shard);
  }
  led_against_rules_ += rendered.led_against_rule - status.led_against_rule;
  without_ready_standby_ += rendered.without_ready_standby - status.without_ready_standby;
  status = std::move(rendered);
  if (status.state == ShardState::kSuspended) ++suspended_[status.leader];
  if (status.claims_wait.count() > 0) {
    again_.push_back(status.shard);
  } else if (status.deaths > 0 && !status.leader.empty()) {
    deaths_until_.emplace(view.deaths().LongFrom(status.shard), status.shard);
  }
}

std::uint32_t StatusBoard::SuspendedBy(const NodeId& node) const {
  const auto found = suspended_.find(node);
  return found != suspended_.end() ? found->second : 0;
}

}  // namespace baton::runtime
