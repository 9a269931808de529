// EtcdCheckup: examines each of etcd's endpoints once, on connections of its own.
//
// It changes nothing: its only write deletes a key that never exists, as a renewal's confirmation
// does. It blocks for at most kCheckupBound. Any thread that may wait can call it.
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

/// The longest time of one call to etcd.
inline constexpr std::chrono::milliseconds kCheckupCall{2000};
/// The longest time of all calls to one endpoint. Endpoints are examined in parallel.
inline constexpr std::chrono::milliseconds kCheckupBound{6 * kCheckupCall};
/// The most endpoints that are examined. A node can have more (kMaxEndpoints in base/limits.h), but
/// no etcd has as many members.
inline constexpr std::size_t kMaxExamined = 16;

/// Part of etcd's message if the user is unknown or the password is wrong.
inline constexpr const char* kWrongPassword = "authentication failed";

/// The answers of one endpoint: first its status, then a read, then commits. An endpoint that did
/// not answer has only the first two fields. If the user or its password is wrong, the endpoint
/// counts as one that answered, and read_refused has etcd's words. If etcd refuses its status,
/// `version` is empty, and the fields from `faults` to `alarms` say nothing. If the read got no
/// result, nothing is examined after it, so the fields about commits, writes and compaction say
/// nothing.
struct EndpointCheckup {
  std::string endpoint;
  std::string unreachable;  ///< why it did not answer; empty: it answered
  std::string version;
  std::vector<std::string> faults;  ///< of this version, see etcd::FaultsOf
  std::uint64_t cluster = 0;        ///< 0: unknown
  bool has_leader = false;
  bool learner = false;
  std::int64_t applied = 0;  ///< the last raft index that this member has applied
  std::int64_t size_bytes = 0;
  std::int64_t used_bytes = 0;
  std::vector<std::string> alarms;     ///< in etcd's words
  std::chrono::nanoseconds commit{0};  ///< the median of three commits; 0: not measured
  /// etcd's words, if the user or its role may not read the group; otherwise empty.
  std::string read_refused;
  /// etcd's words, if the user or its role may not write the group; otherwise empty, also if no
  /// write was tried.
  std::string write_refused;
  std::optional<std::int64_t> quarantined;  ///< how many damaged records are kept; unset: unknown
  /// Why the read or a commit failed for another reason than these rights, for example because no
  /// answer came; empty: no such failure.
  std::string failed;
  Revision revision;              ///< the store's at the read; 0: unknown
  std::optional<bool> compacted;  ///< whether etcd has compacted revision 1; unset: unknown
};

/// Returns one result per endpoint, in order, for the first kMaxExamined. Throws std::system_error
/// if the host lacks threads. REQUIRES (checked): a prefix and a group that a node accepts.
std::vector<EndpointCheckup> CheckEtcd(const EtcdOptions& options, const std::string& group);

}  // namespace baton::runtime
