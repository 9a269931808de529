// ClaimPace: how fast this node may claim, so that the claims of the whole group keep to one limit.
//
// Every member's watch gets every claim, and all members may claim at the same time. Each node
// computes the whole assignment. So it knows its share of the vacancies, and takes the same share
// of the group's limit (CoreOptions::event_deliveries_per_second). After a pause, a node may send
// the claims of a tenth of a second at once, but at least one claim. From then on it sends evenly,
// at nine tenths of its share, so that no second exceeds the share. If the last confirmation of the
// node's lease took more than TTL / 12, etcd is slow, and the node uses half of its share. If the
// share of a node is less than one claim in a tenth of a second, the nodes take turns: they send
// their first claims one after another, by node id.
//
// If vacancies come little by little, each new assignment grants the whole limit again. So the node
// also counts the leaderships that it sees begin in the whole group. If they begin faster than the
// limit allows, the node claims nothing until the average keeps to the limit again. This takes at
// most 1 s from the last of these leaderships.
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

  /// A new assignment gives this node that `share`. A `share.assigned` of 0 counts as 1. `idle`: no
  /// claim of the last assignment was left to send. Before the first call, practically nothing
  /// limits the claims.
  void Assign(const Context& context, const Share& share, bool idle);
  /// This node claims that many vacancies of a node that stalls. Until the next Assign, they are
  /// added to this node's share.
  void TakeOver(std::size_t vacancies) { share_.assigned += static_cast<std::int64_t>(vacancies); }
  /// This node saw that many leaderships begin, its own included.
  void NoteBegun(const Context& context, std::size_t leaderships);
  /// Returns how many claims may be sent now; may be more than `wanted`. `wanted`: how many claims
  /// the caller has to send. The result is 0 until a whole batch may be sent, or all of `wanted` if
  /// that is less. A batch is half of the claims that may be sent at once after a pause: at least
  /// 1, at most 124. If the result is 0, lowers the context's wake_at to the time of the next try.
  /// The next result may be 0, too. Does not use up the allowance: Sent does. REQUIRES (not
  /// checked): `wanted` is above 0.
  std::size_t Allowed(Context& context, std::size_t wanted);
  /// The caller has sent that many claims.
  void Sent(const Context& context, std::size_t claims);
  /// An upper bound for the pause between two batches of a node with this share: twice the time
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
