// Three servers of examples/kv, whose shards take kLoadTime to load. One of them is killed, and its
// callers wait for their answers.
//
// Main thread only. A wait that exceeds its bound throws std::runtime_error.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "bench/nodes.h"
#include "bench/parts.h"

namespace baton::bench {

/// One kill.
struct StandbyScene {
  const Settings& settings;
  lab::PrivateEtcd& etcd;
  std::uint32_t standbys = 0;  ///< of each shard
  std::string group;
  std::string folder;  ///< of logs and state
};

/// Whether kv_server was built. It belongs to the examples.
bool HasKvServer(const Settings& settings);

/// Kills the server that leads most, with guards and a lease of 10 s. For each shard that it led
/// there is a caller. Returns the milliseconds from just before the SIGKILL to each caller's
/// answer. The call begins as soon as the process has ended. The caller's router has called all
/// three servers before, and reads routes from the two others.
std::vector<double> KillKvServer(const StandbyScene& scene);

}  // namespace baton::bench
