// Checks etcd's answers about leases before the node uses them. Pure; any thread.
#pragma once

#include <chrono>
#include <cstdint>
#include <string>

#include "etcd/transport.h"

namespace baton::etcd {

/// Returns a lease's TTL. `answered`: the TTL in etcd's answer, in seconds. A negative TTL counts
/// as 0. A TTL above kLongestTtl (records.h) counts as kLongestTtl, because no member's record can
/// state more.
std::chrono::seconds TtlOf(std::int64_t answered);

struct Grant {
  Outcome outcome = Outcome::kUnknown;
  std::chrono::seconds ttl{0};  ///< > 0 if kDone
  std::string detail;  ///< etcd's message, or what is wrong with the answer; empty if kDone
};
/// Returns the outcome of a request for a lease with a random id of ours and the TTL `asked`. If
/// the lease exists already, the outcome is kDone and the TTL counts as `asked`: an earlier copy of
/// this request made the lease. If etcd grants a TTL of 0 or less, the outcome is kRefused.
Grant GrantOf(const Reply<etcdserverpb::LeaseGrantResponse>& reply, std::chrono::seconds asked);

}  // namespace baton::etcd
