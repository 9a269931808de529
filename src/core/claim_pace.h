// ClaimPace: how fast this node may claim, so that the claims of the whole group keep to one limit.
//
// Every claim goes to every watcher, and all members may be claiming at once. Each node computes
// the whole assignment, so it knows its share of the vacancies, and uses the same share of the
// group's limit (CoreOptions::event_deliveries_per_second). While etcd is slow to confirm the
// node's lease renewals (more than TTL / 12), it uses half of that. After a pause, a node may send
// at once what it may send in a tenth of a second. It sends the rest of that second's claims
// evenly. If the tenth is less than one claim, the nodes take turns: they send their first claims
// one after another, by node id.
//
// If vacancies come little by little, each new assignment grants the whole limit again. So the node
// also counts the leaderships that it sees begin in the whole group. If they began faster than the
// limit allows, it claims nothing until the average keeps to the limit again, for at most 1 s.
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
  /// Returns how many claims may be sent now: 0, or at least as many as make a batch. `wanted` is
  /// how many the caller has: if they are fewer than a batch, they count as one. The result may be
  /// greater than `wanted`. If it is 0, the context's wake_at is lowered to the time of the next
  /// batch. Only Sent uses the allowance up.
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
  /// Until paced_to_, the claims so far use up this node's pace. Until group_paced_to_, the
  /// leaderships that began use up the group's limit. A claim may be sent once both times are over.
  TimePoint paced_to_{};
  TimePoint group_paced_to_{};
};

}  // namespace baton::core
