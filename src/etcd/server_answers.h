// Checks etcd's answers about leases, before they are used. Pure; any thread.
#pragma once

#include <chrono>
#include <cstdint>
#include <string>

#include "etcd/transport.h"

namespace baton::etcd {

/// Returns a lease's TTL from an answer (`answered`, in seconds). A negative TTL counts as 0. A TTL
/// above kLongestTtl (records.h) counts as kLongestTtl, because no member's record can state more.
std::chrono::seconds TtlOf(std::int64_t answered);

struct Grant {
  Outcome outcome = Outcome::kUnknown;
  std::chrono::seconds ttl{0};  ///< > 0 if kDone
  std::string detail;  ///< etcd's message, or what is wrong with the answer; empty if kDone
};
/// Returns the outcome of granting a lease with a random id of ours and a TTL of `asked`. If the
/// lease exists already, the outcome is kDone, because an earlier copy of this grant made the
/// lease; its TTL then counts as `asked`. If the granted TTL is not positive, the outcome is
/// kRefused.
Grant GrantOf(const Reply<etcdserverpb::LeaseGrantResponse>& reply, std::chrono::seconds asked);

}  // namespace baton::etcd
