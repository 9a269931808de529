#include "runtime/planner.h"

#include <map>
#include <string>
#include <system_error>
#include <utility>

#include "core/assignment_of_view.h"
#include "core/shard_rules.h"
#include "runtime/status_assignment.h"

namespace baton::runtime {

Planner::Planner(Control& control, std::function<void()> refresh)
    : refresh_(std::move(refresh)), status_(control) {}

void Planner::Plan(Handler handler) {
  const auto shared = std::make_shared<Handler>(std::move(handler));
  bool queued = false;
  try {
    const std::lock_guard lock(mutex_);
    if (!worker_) worker_.emplace(kMaxWaiting);
    queued = worker_->Post([this, shared] { (*shared)(PlanNow()); });
  } catch (const std::system_error& error) {  // a thread for it
    return (*shared)(
        Error{ErrorCode::kUnavailable, std::string("the host lacks threads: ") + error.what()});
  }
  if (queued) return;
  (*shared)(Error{ErrorCode::kUnavailable, "too many plans at once: try again in a moment"});
}

Result<std::vector<MoveFact>> Planner::PlanNow() {
  constexpr const char* kNotComplete = "this node's view is not complete yet";
  refresh_();
  const LatestStatus latest = status_.Get();
  if (!latest.fresh || latest.status == nullptr) {
    return Error{ErrorCode::kUnavailable, "the node does not answer: try again in a moment"};
  }
  const NodeStatus& status = *latest.status;
  if (status.assignment == nullptr) {
    const bool ended = status.session == SessionPhase::kEnded;
    return Error{ErrorCode::kUnavailable, ended ? status.not_ready : kNotComplete};
  }
  // The assignment stays the same if only terms, labels or rules change that move nothing.
  if (status.assignment != planned_for_ || status.revision != planned_at_) {
    core::ShardRules rules;
    rules.Set(status.placement, status.shard_count);
    std::map<NodeId, const MemberFact*> members;
    for (const MemberStatus& member : status.members) members[member.fact.node] = &member.fact;
    for (const core::AssignmentMember& member : status.assignment->members()) {
      if (!members.contains(member.id)) return Error{ErrorCode::kUnavailable, kNotComplete};
    }
    planned_ = core::PlanAll(
        status.assignment->Whole(),
        {.rules = rules,
         .term_of = [&](ShardId shard) { return status.shards[shard.value].term; },
         .member_of = [&](const NodeId& node) -> const MemberFact& { return *members.at(node); }});
    planned_for_ = status.assignment;
    planned_at_ = status.revision;
  }
  return planned_;
}

}  // namespace baton::runtime
