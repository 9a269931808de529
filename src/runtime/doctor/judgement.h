// Derives findings from an examination. Pure functions; any thread.
#pragma once

#include <chrono>
#include <cstddef>
#include <optional>
#include <string>
#include <vector>

#include "runtime/control.h"
#include "runtime/doctor/etcd_checkup.h"
#include "runtime/doctor/finding.h"
#include "runtime/doctor/secrets.h"

namespace baton::runtime {

/// The state of this host's clock, as the kernel reports it.
struct ClockCheckup {
  bool told = false;  ///< false: the kernel reports nothing, and the other fields are not set
  bool synchronised = false;
  std::chrono::microseconds estimated_error{0};
};

/// The results of an examination.
struct Examination {
  NodeStatus status;
  /// False: the node's loop has never answered. Then `status` has only the group and the node.
  bool known = true;
  /// False: the node's loop did not answer this time. Then `status` is its last answer, if `known`.
  bool answered = true;
  std::chrono::milliseconds ttl_asked{0};   ///< the TTL that the node asks etcd for
  std::optional<GuardCounters> guard = {};  ///< see Control::Guard
  std::string etcd_prefix;
  bool authenticates = false;  ///< the node shows etcd a user or a client certificate
  std::optional<std::size_t> max_shard_series = {};      ///< see ExamineRequest; unset: not known
  std::optional<std::vector<std::string>> exposed = {};  ///< see ExamineRequest; unset: not known
  std::vector<EndpointCheckup> endpoints;
  std::size_t endpoints_left_out = 0;  ///< endpoints beyond kMaxExamined
  ClockCheckup clock;
  SecretsCheckup secrets;
};

/// Returns one finding for each check, in a fixed order: the node, etcd, the group, the open ports.
/// If `seen.known` is false, findings from the status are kNotice, "not known". But if
/// `seen.answered` is false, the finding `session` is kProblem.
std::vector<Finding> Judge(const Examination& seen);

/// Judges the difference between the node's clock and the caller's clock. `node`: the time on the
/// node's clock. `asked` and `answered`: the times on the caller's clock before and after the node
/// read its clock. If `node` is between `asked` and `answered`, the difference is 0. Otherwise the
/// difference is the distance to the nearer of the two. Below 500 ms: kOk; otherwise kWarning.
/// Accepts any times.
Finding ClockDifference(std::chrono::system_clock::time_point asked,
                        std::chrono::system_clock::time_point node,
                        std::chrono::system_clock::time_point answered);

}  // namespace baton::runtime
