// EtcdCheckup: examines each of etcd's endpoints once, on connections of its own.
//
// It changes nothing: its only write deletes a key that never exists, as a renewal's confirmation
// does. It blocks for at most kCheckupBound, so call it from a thread that may wait.
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "baton/options.h"
#include "baton/types.h"

namespace baton::runtime {

/// The limits for one call, and for all calls to one endpoint. Endpoints are examined in parallel.
inline constexpr std::chrono::milliseconds kCheckupCall{2000};
inline constexpr std::chrono::milliseconds kCheckupBound{6 * kCheckupCall};
/// More endpoints than this, which is more than an etcd has members, are not examined.
inline constexpr std::size_t kMaxEndpoints = 16;

/// Part of etcd's message if the user is unknown or the password is wrong.
inline constexpr const char* kWrongPassword = "authentication failed";

struct EndpointCheckup {
  std::string endpoint;
  std::string unreachable;  ///< why it did not answer; empty: it answered, and the rest is set
  std::string version;
  bool known_faults = false;  ///< of this version, see etcd::HasKnownFaults
  std::uint64_t cluster = 0;  ///< 0: unknown
  bool has_leader = false;
  bool learner = false;
  std::int64_t applied = 0;  ///< raft's index
  std::int64_t size_bytes = 0;
  std::int64_t used_bytes = 0;
  std::vector<std::string> alarms;     ///< in etcd's words
  std::chrono::nanoseconds commit{0};  ///< the median of three
  std::string read_refused;   ///< etcd's words, if the role may not read the group; else empty
  std::string write_refused;  ///< the same for writing
  std::optional<std::int64_t> quarantined;  ///< damaged records that are kept; unset: unknown
  std::string failed;  ///< why a read or a commit got no answer; empty: all did
  Revision revision;
  std::optional<bool> compacted;  ///< whether the oldest revision is gone; unset: unknown
};

/// Returns one result per endpoint, in order. REQUIRES: a prefix and a group that a node accepts.
std::vector<EndpointCheckup> CheckEtcd(const EtcdOptions& options, const std::string& group);

}  // namespace baton::runtime
