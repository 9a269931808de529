// Checks what etcd says about itself and about leases, before anyone uses it. Pure; any thread.
#pragma once

#include <chrono>
#include <cstdint>
#include <string>
#include <string_view>

#include "etcd/transport.h"

namespace baton::etcd {

/// Whether this version of etcd has faults that Baton has to work around; later versions (3.5.28,
/// 3.6.9) fix them. False for texts that are no version.
bool HasKnownFaults(std::string_view version);

/// A lease's TTL from an answer, limited to 0 up to kLongestTtl (records.h): no member's record can
/// say more.
std::chrono::seconds TtlOf(std::int64_t answered);

struct Grant {
  Outcome outcome = Outcome::kUnknown;
  std::chrono::seconds ttl{0};  ///< > 0 if kDone
  std::string detail;  ///< etcd's message, or what is wrong with the answer; empty if kDone
};
/// The outcome of granting a lease with a random id of ours and a TTL of `asked`. If the lease
/// exists already, an earlier copy of this very grant made it, so that is kDone. Also kRefused if
/// the granted TTL is not positive.
Grant GrantOf(const Reply<etcdserverpb::LeaseGrantResponse>& reply, std::chrono::seconds asked);

}  // namespace baton::etcd
