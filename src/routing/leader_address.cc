#include "routing/leader_address.h"

#include "base/endpoint.h"
#include "base/text_rules.h"

namespace baton::routing {
namespace {

constexpr std::string_view kUnixPath = "unix:/";

}  // namespace

bool IsUsable(std::string_view address, LeaderAddresses allowed) {
  if (!IsAddressText(address)) return false;
  if (allowed == LeaderAddresses::kUnixSocketsToo && address.starts_with(kUnixPath)) return true;
  return IsPeerEndpoint(address);
}

std::string TargetOf(std::string_view address) {
  return address.starts_with(kUnixPath) ? std::string(address) : DnsTarget(address);
}

}  // namespace baton::routing
