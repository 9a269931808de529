// ClaimPace: how fast this node may claim, so that the claims of the whole group keep to one limit.
//
// Every claim goes to every member's watch, and all members may be claiming at the same time. Each
// node computes the whole assignment. So it knows its share of the vacancies, and takes the same
// share of the group's limit (CoreOptions::event_deliveries_per_second). After a pause, a node may
// send at once a tenth of the claims that its share allows in a second, but at least one. From then
// on it sends evenly, at nine tenths of its share, so that no second exceeds the share. If the last
// confirmation of the node's lease took more than TTL / 12, etcd is slow, and the node uses half of
// its share. If its share is less than one claim in a tenth of a second, the nodes take turns: they
// send their first claims one after another, by node id.
//
// If vacancies come little by little, each new assignment grants the whole limit again. So the node
// also counts the leaderships that it sees begin in the whole group. If they began faster than the
// limit allows, the node claims nothing until the average keeps to the limit again. This takes at
// most 1 s from the last leadership that it saw begin.
//
// Pure and single-threaded: owned by Succession.
#pragma once

#include <cstdint>

#include "core/context.h"

namespace baton::core {

class ClaimPace {
 public:
  /// How many vacancies the assignment gives to a node, and to all nodes.
  struct Share {
    std::int64_t assigned = 1;  ///< how many it gives to the node
    std::int64_t total = 1;     ///< how many it gives to all nodes
    std::int64_t before = 0;    ///< how many it gives to nodes with smaller ids
  };

  /// A new assignment was computed, which gives this node that `share`. A `share.assigned` of 0
  /// counts as 1. `idle`: no claim of the last assignment was left to send. Before the first call,
  /// practically nothing limits the claims.
  void Assign(const Context& context, const Share& share, bool idle);
  /// This node claims that many vacancies of a node that stalls, and uses that node's share for
  /// them until the next Assign.
  void TakeOver(std::size_t vacancies) { share_.assigned += static_cast<std::int64_t>(vacancies); }
  /// This node saw that many leaderships begin, its own included.
  void NoteBegun(const Context& context, std::size_t leaderships);
  /// Returns how many claims may be sent now; the result may be greater than `wanted`. `wanted`:
  /// how many claims the caller has to send. The result is 0 until a whole batch may be sent, or
  /// all of `wanted` if that is less. A batch is half of the claims that may be sent at once after
  /// a pause, but at least 1 and at most 124. If the result is 0, the context's wake_at is lowered
  /// to the time at which to call this again; then the result may be 0 once more. A call does not
  /// use the allowance up: only Sent does. REQUIRES (not checked): `wanted` is above 0.
  std::size_t Allowed(Context& context, std::size_t wanted);
  /// That many claims were sent.
  void Sent(const Context& context, std::size_t claims);
  /// An upper bound for the pause between two batches of a node that has this share: twice the time
  /// that its pace needs for a batch. Assumes that etcd is as slow for that node as for this one.
  /// REQUIRES (not checked): `share.assigned` is above 0.
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
