// Checks etcd's answers about leases, before they are used. Pure; any thread.
#pragma once

#include <chrono>
#include <cstdint>
#include <string>

#include "etcd/transport.h"

namespace baton::etcd {

/// A lease's TTL from an answer (`answered`, in seconds). A negative one counts as 0, and one above
/// kLongestTtl (records.h) as kLongestTtl, because no member's record can state more.
std::chrono::seconds TtlOf(std::int64_t answered);

struct Grant {
  Outcome outcome = Outcome::kUnknown;
  std::chrono::seconds ttl{0};  ///< > 0 if kDone
  std::string detail;  ///< etcd's message, or what is wrong with the answer; empty if kDone
};
/// The outcome of granting a lease with a random id of ours and a TTL of `asked`. kDone also if the
/// lease exists already, because an earlier copy of this grant made it. Its TTL then counts as
/// `asked`. kRefused also if the granted TTL is not positive.
Grant GrantOf(const Reply<etcdserverpb::LeaseGrantResponse>& reply, std::chrono::seconds asked);

}  // namespace baton::etcd
