#include "routing/leader_address.h"

#include "base/endpoint.h"
#include "base/text_rules.h"

namespace baton::routing {

bool IsUsable(std::string_view address, LeaderAddresses allowed) {
  if (!IsAddressText(address)) return false;
  if (allowed == LeaderAddresses::kUnixSocketsToo && IsUnixAddress(address)) return true;
  return IsPeerEndpoint(address);
}

std::string TargetOf(std::string_view address) {
  return IsUnixAddress(address) ? std::string(address) : DnsTarget(address);
}

}  // namespace baton::routing
