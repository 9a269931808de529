// TryDeadLeaders: random groups with rules and ready standbys, evenly led, in each of which one
// node dies. It checks who takes the dead node's shards over, how evenly they arrive, and that
// planned moves mend the rest.
//
// The same seed gives the same group on every machine.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <string>

namespace baton::core {

/// Which part of the rules keeps some of the other nodes from taking over some shard of the dead
/// node.
enum class HeirsBy : std::uint8_t {
  kAnyNode,  ///< none does
  kSpread,
  kRequire,
  kPrefer,
  kSeveral,  ///< more than one of them
};
inline constexpr std::size_t kHeirsBy = static_cast<std::size_t>(HeirsBy::kSeveral) + 1;
/// "any node", "spread", ...
const char* ToString(HeirsBy by);

/// The groups of one kind.
struct JudgedDeaths {
  std::uint64_t groups = 0;
  /// The nodes that would have broken the bound if each shard that may go to them had gone there.
  std::uint64_t nodes = 0;
  /// The most that a node held on arrival, less 3 and less what may be chance (nothing, of
  /// kAnyNode), in parts of what it should hold: its target if any node may take over, else its
  /// fair share (dead_leaders.cc).
  double most = 0;
};

struct DeadLeaders {
  std::string wrong;  ///< the first fault, with its seed and its group; empty: there is none
  std::array<JudgedDeaths, kHeirsBy> judged{};
};
/// Tries so many groups, of the seeds from `seed` on.
DeadLeaders TryDeadLeaders(std::uint64_t seed, std::uint64_t groups);

}  // namespace baton::core
