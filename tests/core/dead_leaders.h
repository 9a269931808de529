// TryDeadLeaders: random groups with rules and ready standbys, evenly led, in each of which one
// node dies. It checks how evenly the dead node's shards arrive, and that planned moves mend the
// rest.
//
// The same seed gives the same group on every machine.
#pragma once

#include <cstdint>
#include <string>

namespace baton::core {

struct DeadLeaders {
  std::string wrong;  ///< the first fault, with its seed and its group; empty: there is none
  /// What a node held on arrival, less 3, in parts of its target: the most in groups whose rules
  /// let each other node take over each shard.
  double most_of_target = 0;
  /// The most in the other groups, in parts of the node's fair share (dead_leaders.cc), less what
  /// may be chance.
  double most_of_share = 0;
};
/// Tries so many groups, of the seeds from `seed` on.
DeadLeaders TryDeadLeaders(std::uint64_t seed, std::uint64_t groups);

}  // namespace baton::core
