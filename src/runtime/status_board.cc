#include "runtime/status_board.h"

#include <algorithm>
#include <map>
#include <memory>
#include <optional>
#include <utility>
#include <vector>

#include "core/assignment.h"
#include "core/assignment_of_view.h"
#include "core/may_claim.h"

namespace baton::runtime {
namespace {

/// Asks for each placement rule once whether some node may lead by it.
class RulesAsked {
 public:
  explicit RulesAsked(const core::View& view) : view_(view), known_(view.rules().size()) {}
  bool NobodyMayLead(const ShardStatus& shard) {
    if (shard.rule == 0 || !shard.leader.empty()) return false;
    std::optional<bool>& known = known_[shard.rule - 1];
    if (!known) known = !core::SomebodyMayLead(view_, shard.shard);
    return *known;
  }

 private:
  const core::View& view_;
  std::vector<std::optional<bool>> known_;  ///< by rule
};

/// Makes shards with equal standbys share one list.
class SharedStandbys {
 public:
  using List = std::shared_ptr<const std::vector<StandbyStatus>>;
  void Share(const List& before, List& list) {
    if (list == nullptr) return;
    const auto [found, fresh] = lists_.try_emplace(*list, list);
    // The list of an earlier status may be shared by shards that did not change.
    if (fresh && before != nullptr && *before == *list) found->second = before;
    list = found->second;
  }

 private:
  std::map<std::vector<StandbyStatus>, List> lists_;
};

}  // namespace

void StatusBoard::Mark(ShardId shard) {
  if (shards_.empty() || changed_flag_[shard.value]) return;
  changed_flag_[shard.value] = true;
  changed_.push_back(shard);
}

void StatusBoard::Note(ShardId shard) { Mark(shard); }

// A node's next session may have another address. Looks at all standbys: sessions rarely change.
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
  if (changes.any()) targets_until_ = TimePoint::min();
  if (shards_.empty()) return;
  for (const ShardId shard : changes.shards) Mark(shard);
  for (const ShardId shard : changes.standbys) Mark(shard);
  if (!changes.changed_members.empty()) MarkStandbysOf(view);
  const bool after = view.failover().policy == FailoverPolicy::kAfter;
  const bool counts = changes.members && (after || !view.rules().empty());
  if (changes.config || changes.policy || counts) {
    // Who may claim a shard, and from when on, depends on the group's settings, and on who is here.
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
    for (std::uint32_t s = 0; s < view.shard_count(); ++s) Mark(ShardId{s});
  }
  for (const ShardId shard : std::exchange(again_, {})) Mark(shard);
  while (!deaths_until_.empty() && deaths_until_.begin()->first <= now) {
    Mark(deaths_until_.begin()->second);
    deaths_until_.erase(deaths_until_.begin());
  }
  std::sort(changed_.begin(), changed_.end());
  RulesAsked rules(view);
  SharedStandbys standbys;
  std::size_t renewed = shards_.size();  // the block that was renewed last
  for (const ShardId shard : changed_) {
    const std::size_t block = shard.value / SharedBlocks<ShardStatus>::kBlock;
    if (block != renewed) shards_.Renew(shard.value);
    renewed = block;
    ShardStatus rendered = look(shard);
    rendered.nobody_may_lead = rules.NobodyMayLead(rendered);
    standbys.Share(shards_[shard.value].standbys, rendered.standbys);
    Render(view, shards_[shard.value], std::move(rendered));
    changed_flag_[shard.value] = false;
  }
  changed_.clear();
  return shards_;
}

void StatusBoard::Render(const core::View& view, ShardStatus& status, ShardStatus rendered) {
  if (status.state == ShardState::kSuspended) --suspended_[status.leader];
  nobody_may_lead_ += rendered.nobody_may_lead - status.nobody_may_lead;
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

const std::map<NodeId, std::uint32_t>& StatusBoard::Targets(const core::View& view, Duration settle,
                                                            TimePoint now) {
  if (now < targets_until_) return targets_;
  assignment_ =
      std::make_shared<const core::AssignmentOfView>(core::AssignmentFrom(view, settle, now));
  const core::AssignmentInput& input = assignment_->input;
  const core::Assignment divided = core::Assign(input);
  targets_.clear();
  for (std::size_t i = 0; i < input.members.size(); ++i) {
    targets_[input.members[i].id] = divided.target[i];
  }
  // A damaged record may be replaced after some time.
  targets_until_ = view.damage().empty() ? assignment_->changes_at : TimePoint::min();
  return targets_;
}

}  // namespace baton::runtime
