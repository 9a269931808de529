// ClaimPace: how fast this node may claim, so that the claims of the whole group keep to one limit.
//
// Every claim goes to every watcher, and all members may be claiming at once. Each node computes
// the whole assignment, so it knows its share of the vacancies, and uses the same share of the
// group's limit (CoreOptions::event_deliveries_per_second). While confirmations are slow, it uses
// half of that. After a pause, a node may send at once what it may send in a tenth of a second. It
// sends the rest of that second's claims evenly. If the tenth is less than one claim, the nodes
// take turns: they send their first claims one after another, by node id.
//
// If vacancies come little by little, each new assignment grants the whole limit again. So the node
// also counts the leaderships that it sees begin, and claims nothing while they exceed the limit.
//
// Pure and single-threaded: owned by Succession.
#pragma once

#include <cstdint>

#include "core/context.h"

namespace baton::core {

class ClaimPace {
 public:
  /// How many vacancies the assignment gives to this node, and to others.
  struct Share {
    std::int64_t assigned = 1;
    std::int64_t total = 1;   ///< how many it gives to all nodes
    std::int64_t before = 0;  ///< how many it gives to the nodes before this one by id
  };

  /// A new assignment was computed. `idle`: no claim of the last assignment was left to send.
  void Assign(const Context& context, const Share& share, bool idle);
  /// This node claims `vacancies` of a node that stalls, and uses that node's share for them.
  void TakeOver(std::size_t vacancies) { share_.assigned += static_cast<std::int64_t>(vacancies); }
  /// This node saw that many leaderships begin, its own included.
  void NoteBegun(const Context& context, std::size_t leaderships);
  /// Returns how many claims may be sent now, which may be more than `wanted`. Returns 0 if the
  /// allowed claims are not worth a batch yet, and lowers the context's wake_at to the time when
  /// they are.
  std::size_t Allowed(Context& context, std::size_t wanted);
  /// That many claims were sent.
  void Sent(const Context& context, std::size_t claims);
  /// The longest pause between two batches of a node that has this share.
  Duration LongestPause(const Context& context, const Share& share) const;

 private:
  struct Pace {
    Duration each;         ///< average time between two claims
    std::int64_t at_once;  ///< claims that may be sent together after a pause
    std::int64_t batch;    ///< how many claims a transaction should have at least
  };
  Pace PaceOf(const Context& context, const Share& share) const;

  Share share_;
  Duration each_of_group_{};  ///< average time between two claims of the whole group, at its limit
  /// The claims so far use up this node's pace, and the group's limit, until these times. More
  /// claims may be sent once both times are over.
  TimePoint paced_to_{};
  TimePoint group_paced_to_{};
};

}  // namespace baton::core
