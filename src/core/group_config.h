// CheckGroupConfig: whether this process can take part in its group, or read it, as the group's
// `config` describes it.
//
// A pure function. Nodes and relays use it; only the advice in the message differs.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "base/facts.h"
#include "baton/result.h"

namespace baton::core {

enum class ConfigReader : std::uint8_t {
  kNode,   ///< was started for a group of a known shape
  kRelay,  ///< takes the shape from the first config that it reads
};

/// What is fixed when a group is created.
struct GroupShape {
  std::uint32_t shards = 0;
  HashFunction hash = HashFunction::kMurmur2;
  std::uint64_t cluster_id = 0;  ///< of the group's etcd; only a relay compares it
};

/// What the config must agree with.
struct GroupExpectation {
  ConfigReader reader = ConfigReader::kNode;
  std::string key = "config";   ///< its name in etcd, for messages
  std::uint64_t answering = 0;  ///< the cluster id of the etcd that answers; 0: not known yet
  /// A node's: from its options. A relay's: from the first config that it read; unset before.
  std::optional<GroupShape> shape = {};
};

/// Whether a newer version wrote it.
bool OfNewerSchema(const ConfigFact& config);
/// Whether `batonctl recover` closed the group, and has not finished.
bool ClosedByRecovery(const ConfigFact& config);

/// Why this process must halt: the error's message says what is wrong and what to do. Nullopt: it
/// can go on. REQUIRES: config.present; a node's expectation has a shape.
std::optional<Error> CheckGroupConfig(const ConfigFact& config, const GroupExpectation& expected);

}  // namespace baton::core
