// Derives findings from an examination. The functions are pure, so that tests can give them any
// situation. Any thread.
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

/// The state of this host's clock, as its kernel reports it.
struct ClockCheckup {
  bool told = false;  ///< false: the kernel reports nothing, and the other fields say nothing
  bool synchronised = false;
  std::chrono::microseconds estimated_error{0};
};

/// The results of an examination.
struct Examination {
  NodeStatus status;
  bool known = true;     ///< false: the loop has never answered; `status` has group and node only
  bool answered = true;  ///< false: the node's loop did not answer; `status` is old or not known
  std::chrono::milliseconds ttl_asked{0};
  std::optional<GuardCounters> guard = {};  ///< see Control::Guard
  std::string etcd_prefix;
  bool authenticates = false;  ///< the node shows etcd a user or a client certificate
  std::optional<std::size_t> max_shard_series = {};      ///< see ExamineRequest; unset: not known
  std::optional<std::vector<std::string>> exposed = {};  ///< see ExamineRequest; unset: not known
  std::vector<EndpointCheckup> endpoints;
  std::size_t endpoints_left_out = 0;  ///< how many were not examined (kMaxExamined)
  ClockCheckup clock;
  SecretsCheckup secrets;
};

/// Returns one finding for each check, in a fixed order: the node, etcd, the group, the open ports.
std::vector<Finding> Judge(const Examination& seen);

/// Judges the difference between the node's clock and the caller's. The caller read its own clock
/// before (`asked`) and after (`answered`) the node read its clock (`node`). The difference is the
/// distance from `node` to the interval between the other two, 0 inside it. Below 500 ms the clocks
/// agree. Accepts any times.
Finding ClockDifference(std::chrono::system_clock::time_point asked,
                        std::chrono::system_clock::time_point node,
                        std::chrono::system_clock::time_point answered);

}  // namespace baton::runtime
