// CheckGroupConfig: whether the group's `config` lets a node take part in the group, or lets a
// relay follow the group.
//
// Pure functions, callable from any thread. Nodes and relays use them.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "base/facts.h"
#include "baton/result.h"

namespace baton::core {

enum class ConfigReader : std::uint8_t {
  kNode,   ///< a node, which knows the group's shape from its options
  kRelay,  ///< a relay, which takes the shape from the first config that it reads
};

/// The properties that are fixed when a group is created.
struct GroupShape {
  std::uint32_t shards = 0;
  HashFunction hash = HashFunction::kMurmur2;
  std::uint64_t cluster_id = 0;  ///< of the group's etcd; only a relay compares it
};

/// The values with which the config must agree.
struct GroupExpectation {
  ConfigReader reader = ConfigReader::kNode;
  std::string key = "config";  ///< the config's name in etcd, for messages
  /// The cluster id of the etcd that answers. 0: not known yet, so it is not compared.
  std::uint64_t answering = 0;
  /// A node takes the shape from its options, a relay from the first config that it read. Unset:
  /// the relay has read no config yet, so any valid shape fits.
  std::optional<GroupShape> shape = {};
};

/// Whether a newer version of Baton wrote the config. False if the config is absent.
bool OfNewerSchema(const ConfigFact& config);
/// Whether `batonctl recover` has closed the group, and has not finished. False if the config is
/// absent or can't be read.
bool ClosedByRecovery(const ConfigFact& config);

/// Returns why the config does not fit; nullopt: it fits. The error is always kFailedPrecondition.
/// Its message says what is wrong and what to do. A node may go on although its config does not
/// fit: ConfigKeeper decides. REQUIRES (checked): config.present; a node's expectation has a shape.
std::optional<Error> CheckGroupConfig(const ConfigFact& config, const GroupExpectation& expected);

}  // namespace baton::core
