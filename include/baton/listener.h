// Listener: how a program that embeds a node learns what it may lead.
//
//   class Orders : public baton::Listener {
//     void Acquired(baton::ShardId shard, baton::Term term) override { Load(shard, term); }
//     void Releasing(baton::ShardId shard, baton::Term) override { Finish(shard); }
//     void Lost(baton::ShardId shard, baton::Term, baton::Reason) override { Drop(shard); }
//   };
//
// Ask the node, not these callbacks, whether you may act:
//
// Node::Leads says whether the node may act on a shard now. When the session's deadline passes on
// the local clock, Leads() turns false by itself, even if no callback can run then.
//
// Leadership::activated says that Leads() is true and Acquired has succeeded. If a request needs
// something that Acquired loads, serve the request only while `activated` is true.
//
// Leadership::term is the fencing token. Send the term with each write to a shared resource
// (baton/fencing.h).
//
// Usual order for one shard: [Prepare] [Acquired] [Suspended Resumed]... [Releasing] Lost.
// Callbacks in brackets may be missing. The node limits how many calls of Acquired run at once, so
// a shard may wait for its first Acquired. The limit is low until a call has succeeded on the node,
// and while calls fail there. (The comment above NodeOptions::prepare_timeout has the numbers.) If
// the shard is lost while it waits, Lost comes without Acquired. So make Lost harmless for a shard
// that was not loaded.
//
// If placement rules ask for standbys, some nodes that don't lead the shard get Standby. Each
// standby ends with StandbyEnded, Acquired or Lost. Standby does not make Leads() true.
//
// Threads: callbacks run on a pool of threads of the node (NodeOptions::callback_threads). The
// callbacks of one shard run one at a time and in order. Callbacks of different shards run side by
// side. A callback may block, be slow or throw: the node still renews its lease. While fewer than
// 256 callbacks block, callbacks of other shards run. But calls of Acquired have the limits above.
// Only Prepare, Acquired and Releasing have a time limit. The time begins when the call is queued.
// The node never ends a callback. The node catches and logs each exception of a callback. For
// Acquired, the node logs only the first failure of each shard, and at most one such line a second
// in all. A Prepare or Acquired that throws has failed. A Releasing that throws counts as one that
// exceeded release_timeout.
#pragma once

#include "baton/export.h"
#include "baton/result.h"
#include "baton/types.h"

namespace baton {

/// Override only the methods that you need. By default a method does nothing. The Node object owns
/// a share of the listener until the node is destroyed. No callback comes after Node::Stop has
/// returned.
class BATON_EXPORT Listener {
 public:
  virtual ~Listener() = default;

  /// A planned move is about to give `shard` to this node: load the shard's state. This node does
  /// not lead the shard yet, and perhaps never will. If the move is given up, no callback says so.
  /// Prepare may come again for the same shard. If Prepare throws or takes longer than
  /// prepare_timeout, the move is given up, and the shard stays with its leader.
  virtual void Prepare(ShardId shard) { (void)shard; }
  /// This node leads `shard` with `term`. Leads() is true already, unless the session was suspended
  /// or the shard was lost meanwhile. A moment after Acquired has returned, the shard is activated:
  /// Leadership::activated is true.
  ///
  /// If Acquired throws, the node keeps the shard, waits, and calls Acquired again with the same
  /// term. The wait is 50 to 100 ms at first, and later up to 5 s. It may end early, for example
  /// because a repeated call for another shard succeeds. No repeated call begins in these cases:
  ///  - 64 repeated calls that have not exceeded callback_timeout run on the node.
  ///  - 128 repeated calls run on the node, late ones included.
  ///  - The node is suspended, or in Node::Drain.
  ///
  /// An Acquired that takes longer than callback_timeout has failed, too, and is late. Acquired
  /// does not come again while the late call runs. If the late call returns without an exception,
  /// the shard is activated. If the late call throws, Acquired comes again as above.
  ///
  /// Once Acquired has failed three times for a shard, or was late once, the node usually moves the
  /// shard to another node. The node does so 2 s after the shard's first failure at the earliest. A
  /// node is failing if Acquired has failed there for three shards without a success in between. A
  /// failing node moves all its shards that are not activated. If Acquired fails on the other node,
  /// too, the shard stays there. Releasing does not come for a shard that is not activated. Failed
  /// calls move no shard in these cases:
  ///  - The group has a lock delay, or the failover setting `never` (`batonctl group set`).
  ///  - An operator has paused moves.
  ///  - Failures are common: see NodeOptions::prepare_timeout.
  ///
  /// The node may begin to give a shard away, and then keep it: the handoff was given up, or etcd
  /// refused the handoff or the resignation. Then Acquired comes again with the same term, even if
  /// Releasing did not come.
  virtual void Acquired(ShardId shard, Term term) { (void)shard, (void)term; }
  /// The shard is about to be handed over or resigned: finish the work in flight, and begin nothing
  /// new. Comes only while the shard is activated, in these cases:
  ///  - Before a planned handoff, for example for balance, a drain, or an operator's transfer.
  ///  - Before Node::Drain resigns the shard, if the group has a lock delay.
  ///  - Before Node::Drain resigns the shard, if the group's failover setting is `after` or
  ///    `never`, and no operator drains this node.
  /// Does not come before other resignations, for example of shards that are left after
  /// drain_timeout. If the shard is lost, Lost comes without Releasing.
  ///
  /// Leads() stays true while Releasing runs. Leads() turns false earlier if release_timeout
  /// passes, the session is suspended, the shard is lost, Node::Drain resigns the shard (see
  /// there), or the node stops. After Releasing has returned, Leads() may stay true for a moment:
  /// begin nothing new. If the node keeps the shard, Acquired comes again. If Releasing throws or
  /// exceeds release_timeout, the node gives the shard away all the same. But in a group with a
  /// lock delay the node then resigns the shard: nobody leads it until the lock delay is over.
  virtual void Releasing(ShardId shard, Term term) { (void)shard, (void)term; }
  /// This node no longer leads `shard` with `term`. Leads() turned false before. If Leads() is true
  /// now, it is true for a newer term. Another node may lead already: write nothing more, and clean
  /// up. Comes once for each leadership, also if Acquired failed or never came. `reason` says why
  /// the leadership ended, for example kRebalance. If the session was lost, `reason` is
  /// kLeaseExpired. If the node stops or halts, `reason` is kShutdown. If somebody deleted or
  /// damaged the shard's record in etcd, `reason` is kOperator.
  virtual void Lost(ShardId shard, Term term, Reason reason) {
    (void)shard, (void)term, (void)reason;
  }
  /// No renewal of the lease was confirmed in time, so Leads() turned false. Keep the shard's
  /// state, and write nothing. If a late renewal is confirmed, Leads() turns true again, perhaps
  /// while Suspended still runs, and Resumed comes. Otherwise Leads() stays false, and Lost comes.
  /// Before the lease has ended, another node can get the shard only by a handoff that began before
  /// the suspension.
  virtual void Suspended(ShardId shard, Term term) { (void)shard, (void)term; }
  /// A late renewal was confirmed: Leads() is true again, with the same term. (It stays false while
  /// a handoff or resignation of the shard is in flight.) A suspension does not end a handoff. So
  /// if Releasing came before, begin no work here: wait until Acquired comes again.
  virtual void Resumed(ShardId shard, Term term) { (void)shard, (void)term; }

  /// This node stands by for `shard`. Load the shard's state and keep it fresh, so that the node
  /// can take over at once. Don't act on the shard. When the state is loaded, call
  /// Node::SetStandbyReady. Until then, standbys that are ready come first if the leader dies. If
  /// the state takes long to load, load it on a thread of your own: a callback that blocks holds up
  /// the shard's other callbacks. Standby may come before Node::Start has returned. Then call
  /// SetStandbyReady once you have the node. If Standby throws, the node only logs the exception.
  ///
  /// If the node takes the shard over, the standby ends with Acquired, or with Lost if the node
  /// loses the shard before Acquired. Otherwise the standby ends with StandbyEnded. During a
  /// standby Prepare may come, but not while the node is a ready standby. After Lost, Standby comes
  /// again if the node stands by for the shard from then on. While the node has no session or is
  /// suspended, no standby begins, and a standby ends only if the node drains, stops or halts. A
  /// standby that goes on in the node's next session is as ready as before.
  virtual void Standby(ShardId shard) { (void)shard; }
  /// This node no longer stands by for `shard`, and does not lead it either: drop the state. Comes
  /// once after each Standby that did not end with Acquired or Lost, also if the node drains, stops
  /// or halts.
  virtual void StandbyEnded(ShardId shard) { (void)shard; }

  /// Reports a change of the shard's leadership that this node counts (see Transition). Comes in
  /// order with the shard's other callbacks. `transition` is valid until the call returns.
  virtual void Transitioned(const Transition& transition) { (void)transition; }
  /// The node has stopped for good. `why` has the code kFailedPrecondition, and its message says
  /// what to do. For example, the node's options don't fit the group, another node uses its name,
  /// another etcd cluster answers, or etcd went back in time. Leads() is false for all shards, and
  /// Lost comes for each shard that the node led. Halted runs in order with shard 0's callbacks, so
  /// Lost of other shards may run at the same time. After Halted, call Node::Stop, but not from a
  /// callback. Comes at most once.
  virtual void Halted(const Error& why) { (void)why; }
};

}  // namespace baton
