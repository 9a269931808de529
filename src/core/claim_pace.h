// ClaimPace: how fast this node may claim, so that the claims of the whole group keep to one limit.
//
// Every claim goes to every watcher, and all members may be claiming at once. Each node computes
// the whole assignment, so it knows its share of the vacancies, and may use the same share of the
// group's limit (CoreOptions::event_deliveries_per_second). After a pause, a node may claim a tenth
// of what it may claim in a second at once; it earns the other nine tenths during that second.
// Nodes for which this tenth is less than one claim begin one after another, by node id.
//
// If vacancies come little by little, there are many assignments, and each of them grants the whole
// limit. So the node also counts the leaderships that it sees begin, and claims nothing while they
// exceed the limit.
//
// Pure and single-threaded: owned by Succession.
#pragma once

#include <cstdint>

#include "core/context.h"

namespace baton::core {

class ClaimPace {
 public:
  /// How many vacancies the assignment gives to a node.
  struct Share {
    std::int64_t assigned = 1;
    std::int64_t total = 1;   ///< to all nodes
    std::int64_t before = 0;  ///< to the nodes before it by id
  };

  /// The assignment was computed. `idle`: nothing of the one before was left to claim.
  void Assign(const Context& context, const Share& share, bool idle);
  /// This node claims some vacancies of a node that stalls, with that node's share.
  void TakeOver(std::size_t vacancies) { share_.assigned += static_cast<std::int64_t>(vacancies); }
  /// This node saw leaderships begin, its own among them.
  void NoteBegun(const Context& context, std::size_t leaderships);
  /// Returns how many claims may be sent now, if there are `wanted`. If they are more than that, it
  /// waits until a batch is worth sending: it returns 0 and lowers the context's wake_at.
  std::size_t Allowed(Context& context, std::size_t wanted);
  void Sent(const Context& context, std::size_t claims);
  /// The longest pause between two batches of a node with this share.
  Duration LongestPause(const Context& context, const Share& share) const;

 private:
  struct Pace {
    Duration each;         ///< average time between two claims
    std::int64_t at_once;  ///< claims that may be sent together after a pause
    std::int64_t batch;    ///< how many claims a transaction should have, if there are so many
  };
  Pace PaceOf(const Context& context, const Share& share) const;

  Share share_;
  Duration each_of_group_{};  ///< average time between two claims of the whole group, at its limit
  /// Up to these times, the pace of this node and the limit of the group are used up by the claims
  /// so far. If both are in the past, more claims may be sent.
  TimePoint paced_to_{};
  TimePoint group_paced_to_{};
};

}  // namespace baton::core
