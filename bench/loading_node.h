// A node whose application needs time to load a shard, in a separate process that the bench kills.
// It notes in a file when it serves a shard.
#pragma once

#include <chrono>
#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "base/clock.h"
#include "baton/types.h"

namespace baton::bench {

/// How long a shard takes to load. Shards load side by side.
inline constexpr std::chrono::seconds kLoadTime{2};

struct LoadingNode {
  std::string endpoint;
  std::string group;
  NodeId node;
  std::uint32_t shards = 0;
  std::uint32_t standbys = 0;  ///< the node sets a rule that asks for them; 0: it sets none
  std::string folder;          ///< of its state and of the file
  std::string guard;           ///< the program
};
/// How many words BeLoadingNode takes.
inline constexpr int kLoadingNodeWords = 7;
std::vector<std::string> WordsOf(const LoadingNode& node);
/// Is the node until SIGTERM. It expects three nodes, with a TTL of 10 s.
[[noreturn]] void BeLoadingNode(const std::vector<std::string>& words);

/// When the node last began to serve each shard.
std::map<ShardId, TimePoint> ServedBy(const std::string& folder, const NodeId& node);

}  // namespace baton::bench
