// EtcdCheckup: examines each of etcd's endpoints once, on connections of its own.
//
// It changes nothing. Its only write deletes a key that never exists; the confirmation of a renewal
// does the same. CheckEtcd blocks for at most kCheckupBound. Any thread that may wait can call it.
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
/// The longest time of all six calls to one endpoint. Endpoints are examined in parallel.
inline constexpr std::chrono::milliseconds kCheckupBound{6 * kCheckupCall};
/// The most endpoints that are examined. A node can have more (kMaxEndpoints in base/limits.h), but
/// no etcd has as many members.
inline constexpr std::size_t kMaxExamined = 16;

/// Part of etcd's message if the user is unknown or the password is wrong.
inline constexpr const char* kWrongPassword = "authentication failed";

/// The answers of one endpoint. CheckEtcd first asks for the status, then reads, then commits, then
/// reads an old revision. Fields that it could not find out keep their default values:
///  - If the endpoint does not answer the first call, only `endpoint` and `unreachable` are set.
///  - If etcd refuses to give the status, the fields from `version` to `alarms` are not set.
///  - If the read fails, the calls after it are not made. So only the fields before `commit`, and
///    `read_refused` or `failed`, are set.
/// If the user is unknown or the password is wrong, the endpoint counts as one that answered, and
/// `read_refused` has etcd's words.
struct EndpointCheckup {
  std::string endpoint;
  std::string unreachable;  ///< why it did not answer; empty: it answered
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
  /// If the user or its role may not read the group: etcd's words. Otherwise empty.
  std::string read_refused;
  /// If the user or its role may not write the group: etcd's words. Otherwise empty, also if no
  /// write was tried.
  std::string write_refused;
  std::optional<std::int64_t> quarantined;  ///< how many damaged records are kept; unset: unknown
  /// If the read or a commit failed, but not for lack of these rights: why, for example because no
  /// answer came. Otherwise empty.
  std::string failed;
  Revision revision;              ///< etcd's revision at the read; 0: unknown
  std::optional<bool> compacted;  ///< whether etcd has compacted revision 1; unset: unknown
};

/// Returns one result for each of the first kMaxExamined endpoints, in the order of the options; no
/// endpoints: no results. Throws std::system_error if the host lacks threads. REQUIRES (checked): a
/// node accepts the prefix in `options`, and `group`.
std::vector<EndpointCheckup> CheckEtcd(const EtcdOptions& options, const std::string& group);

}  // namespace baton::runtime
