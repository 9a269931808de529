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

NamedTarget NamedTargetOf(const std::string& target) {
  std::string_view name = target;
  for (const std::string_view resolver : {"dns:///", "dns:/", "dns:"}) {
    if (!name.starts_with(resolver)) continue;
    name.remove_prefix(resolver.size());
    break;
  }
  const std::string numeric = LocalhostAsAddress(name);
  if (numeric == name) return {.target = target, .authority = ""};
  return {.target = DnsTarget(numeric), .authority = std::string(name)};
}

}  // namespace baton::routing
