// What etcd says of itself and of leases, in values that can be counted on. Pure; any thread.
#pragma once

#include <chrono>
#include <cstdint>
#include <string>
#include <string_view>

#include "etcd/transport.h"

namespace baton::etcd {

/// Whether this version of etcd has faults that Baton has to work around, fixed in later ones
/// (3.5.28, 3.6.9). False for texts that are no version.
bool HasKnownFaults(std::string_view version);

/// A lease's TTL, as an answer has it: at least none, and at most kLongestTtl (records.h), beyond
/// which no member's record could say it. Within these etcd is believed.
std::chrono::seconds TtlOf(std::int64_t answered);

struct Grant {
  Outcome outcome = Outcome::kUnknown;
  std::chrono::seconds ttl{0};  ///< > 0 if kDone
  std::string detail;           ///< what etcd said, or what is wrong with it; empty if kDone
};
/// What became of the grant of a lease whose id is ours and random, and for which `asked` was
/// asked: one that exists is an earlier copy of this very grant. kRefused also for a lease that
/// does not last.
Grant GrantOf(const Reply<etcdserverpb::LeaseGrantResponse>& reply, std::chrono::seconds asked);

}  // namespace baton::etcd
