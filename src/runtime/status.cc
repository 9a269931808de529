#include "runtime/status.h"

#include "core/may_claim.h"
#include "runtime/status_assignment.h"

namespace baton::runtime {

bool MayBeginToLead(const MemberStatus& member) {
  return member.fact.Live() &&
         core::EligibilityOf(member.fact.weight, member.Draining()) == core::Eligibility::kYes;
}

std::uint32_t NodeStatus::TargetOf(const MemberStatus& member) const {
  return assignment != nullptr ? assignment->TargetOf(member.fact.node) : member.told_target;
}

}  // namespace baton::runtime
