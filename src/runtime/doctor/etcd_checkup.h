// EtcdCheckup: examines each of etcd's endpoints once, on connections of its own.
//
// The examination changes nothing: its only write deletes a key that never exists. CheckEtcd blocks
// for at most kCheckupBound. Any thread that may wait can call it.
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
/// The longest time of the six calls to one endpoint. All endpoints are examined in parallel.
inline constexpr std::chrono::milliseconds kCheckupBound{6 * kCheckupCall};
/// The most endpoints that are examined. A node can have more endpoints (kMaxEndpoints in
/// base/limits.h).
inline constexpr std::size_t kMaxExamined = 16;

/// etcd's message contains this text if the user is unknown or the password is wrong.
inline constexpr const char* kWrongPassword = "authentication failed";

/// The answers of one endpoint. CheckEtcd asks for the status, reads the group, commits three
/// times, and reads an old revision. Fields without an answer keep their default values:
///  - If the endpoint does not answer the first call, only `endpoint` and `unreachable` are set.
///  - If etcd refuses to give the status, the fields from `version` to `alarms` are not set.
///  - If the read fails, the later calls are not made, and `read_refused` or `failed` says why.
/// If the user is unknown or the password is wrong, `read_refused` has etcd's words, and
/// `unreachable` is empty.
struct EndpointCheckup {
  std::string endpoint;
  std::string unreachable;  ///< why the endpoint did not answer; empty: it answered
  std::string version;
  std::vector<std::string> faults;  ///< known faults of this version, see etcd::FaultsOf
  std::uint64_t cluster = 0;        ///< 0: unknown
  bool has_leader = false;
  bool learner = false;
  std::int64_t applied = 0;            ///< the last raft index that this member has applied
  std::int64_t size_bytes = 0;         ///< of the database file
  std::int64_t used_bytes = 0;         ///< the part of the file that is in use
  std::vector<std::string> alarms;     ///< in etcd's words
  std::chrono::nanoseconds commit{0};  ///< the median of three commits; 0: not measured
  /// etcd's words if the user or its role may not read the group. Otherwise empty.
  std::string read_refused;
  /// etcd's words if the user or its role may not write the group. Otherwise empty, also if no
  /// write was tried.
  std::string write_refused;
  std::optional<std::int64_t> quarantined;  ///< how many damaged records are kept; unset: unknown
  /// Why the read or a commit failed for another reason, for example because no answer came.
  /// Otherwise empty.
  std::string failed;
  Revision revision;              ///< etcd's revision at the read; 0: unknown
  std::optional<bool> compacted;  ///< whether etcd has compacted revision 1; unset: unknown
};

/// Returns one result for each of the first kMaxExamined endpoints, in the order of the options.
/// Throws std::system_error if the host lacks threads. REQUIRES (checked): the prefix in `options`
/// and `group` are valid (etcd::Keyspace::Validate).
std::vector<EndpointCheckup> CheckEtcd(const EtcdOptions& options, const std::string& group);

}  // namespace baton::runtime
