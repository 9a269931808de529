#include "runtime/status.h"

#include "core/may_claim.h"

namespace baton::runtime {

bool MayBeginToLead(const MemberStatus& member) {
  return member.fact.Live() &&
         core::EligibilityOf(member.fact.weight, member.Draining()) == core::Eligibility::kYes;
}

}  // namespace baton::runtime
