// EtcdCheckup: what one look at each of etcd's endpoints tells, on connections of its own.
//
// It writes nothing: its one write deletes a key that never exists, as the confirmation of a
// renewal does. Blocking, and bounded by kCheckupBound; call it from a thread that may wait.
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

/// For one call, and for all that is asked of one endpoint; endpoints are asked side by side.
inline constexpr std::chrono::milliseconds kCheckupCall{2000};
inline constexpr std::chrono::milliseconds kCheckupBound{6 * kCheckupCall};
/// More endpoints than an etcd has members are not looked at.
inline constexpr std::size_t kMostEndpoints = 16;

/// In what etcd says of a user that it does not know, or another password.
inline constexpr const char* kWrongPassword = "authentication failed";

struct EndpointCheckup {
  std::string endpoint;
  std::string unreachable;  ///< why; empty: it answered, and the rest says what
  std::string version;
  bool known_faults = false;  ///< of that version, see etcd::HasKnownFaults
  std::uint64_t cluster = 0;  ///< 0: not told
  bool has_leader = false;
  bool learner = false;
  std::int64_t applied = 0;  ///< raft's index
  std::int64_t size_bytes = 0;
  std::int64_t used_bytes = 0;
  std::vector<std::string> alarms;     ///< as etcd words them
  std::chrono::nanoseconds commit{0};  ///< the median of three
  std::string read_refused;   ///< what the role forbids, where it forbids to read the group
  std::string write_refused;  ///< and to write it
  std::string failed;         ///< why a read or commit gave no answer; empty: all did
  Revision revision;
  std::optional<bool> compacted;  ///< the oldest revision is gone; unset: not told
};

/// In the order of the options' endpoints. REQUIRES: a prefix and a group that a node takes.
std::vector<EndpointCheckup> CheckEtcd(const EtcdOptions& options, const std::string& group);

}  // namespace baton::runtime
