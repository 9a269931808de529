// What findings follow from what was seen. Pure: tests give it any world.
#pragma once

#include <chrono>
#include <cstddef>
#include <optional>
#include <string>
#include <vector>

#include "runtime/control.h"
#include "runtime/doctor/etcd_checkup.h"
#include "runtime/doctor/finding.h"

namespace baton::runtime {

/// Of this host, as its kernel tells.
struct ClockCheckup {
  bool told = false;  ///< false: the kernel says nothing; the rest is empty
  bool synchronised = false;
  std::chrono::microseconds estimated_error{0};
};

/// All that was looked at.
struct Examination {
  NodeStatus status;
  bool answered = true;  ///< false: the node's loop did not; `status` is old or empty
  std::chrono::milliseconds ttl_asked{0};
  std::string etcd_prefix;
  bool authenticates = false;  ///< by password or certificate
  std::size_t max_shard_series = 0;
  std::vector<EndpointCheckup> endpoints;
  ClockCheckup clock;
};

/// One finding a check at least, in a fixed order: what the node is, then etcd, then the group.
std::vector<Finding> Judge(const Examination& seen);

/// Of whoever asks: the `node`'s clock was read between the two times of ours, so it is off by what
/// it lies outside. Any times.
Finding ClockDifference(std::chrono::system_clock::time_point asked,
                        std::chrono::system_clock::time_point node,
                        std::chrono::system_clock::time_point answered);

}  // namespace baton::runtime
