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
// Node::Leads says whether the node may act on a shard now. Its answer turns false by itself when
// the session's deadline passes on the local clock, even if no callback can run at that moment.
//
// Leadership::activated says that Leads() is true and Acquired has returned. If a request needs
// what Acquired loads, serve the request only while `activated` is true.
//
// Leadership::term is the fencing token. Send it with each write to a shared resource
// (baton/fencing.h).
//
// Usual order for one shard: [Prepare] [Acquired] [Suspended Resumed]... [Releasing] Lost.
// Callbacks in brackets may be missing. A shard may have to wait for its first Acquired, because
// the node limits how many calls of Acquired run at once. Until a call has succeeded on the node,
// and while calls fail there, the limit is low. The comment above NodeOptions::prepare_timeout has
// the numbers. The shard may be lost while it waits. So make Lost harmless for a shard that was not
// loaded.
//
// If placement rules ask for standbys, some of the nodes that don't lead the shard get Standby,
// before the callbacks above. Later each of these nodes gets StandbyEnded, Acquired or Lost. Being
// a standby never makes Leads() true.
//
// Threads: callbacks run on a pool of the node, never on the node's loop (see
// NodeOptions::callback_threads). Callbacks of one shard run one at a time and in order; callbacks
// of different shards run side by side. A callback may block, be slow or throw. The node still
// renews its lease. Other shards' callbacks, except a first Acquired (see above), go on as long as
// fewer than 256 callbacks block at once. Only Prepare, Acquired and Releasing have a time limit.
// The time runs from the moment at which the call is queued. The node never ends a callback. It
// catches and logs what a callback throws. But it logs only the first failure of Acquired for each
// shard, and at most one such line a second in all. A Prepare or Acquired that throws counts as
// failed. A Releasing that throws counts as one that exceeded release_timeout.
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

  /// A planned move is about to give this node `shard`: load its state. This node does not lead the
  /// shard yet, and perhaps never will. No callback says that a move was given up. Prepare may come
  /// again for the same shard. If Prepare throws or takes longer than prepare_timeout, the move is
  /// given up and the shard stays with its leader.
  virtual void Prepare(ShardId shard) { (void)shard; }
  /// This node leads `shard` with `term`. Leads() is true already, unless the session was suspended
  /// or lost meanwhile. Leadership::activated turns true a moment after Acquired has returned.
  ///
  /// If Acquired throws, it comes again with the same term, and neither Releasing nor Lost comes in
  /// between. The wait is 50 to 100 ms at first, and later up to 5 s. It may end early, for example
  /// because a repeated call for another shard succeeds. No repeated call begins in these cases:
  ///  - 64 repeated calls run on the node within callback_timeout, or 128 in all.
  ///  - The node is suspended, or in Node::Drain.
  ///
  /// If Acquired takes longer than callback_timeout, this timeout counts as a failure. Acquired
  /// does not come again while the late call still runs. If the late call returns without an
  /// exception, the shard is activated; if it throws, Acquired comes again as above.
  ///
  /// Once Acquired has failed three times, or has exceeded callback_timeout once, the node usually
  /// moves the shard to another node, but not before 2 s after the shard's first failure. If
  /// Acquired has failed for three shards on a node without a success in between, the node moves
  /// all its shards that are not activated. If Acquired fails on the other node, too, the shard
  /// stays there. No shard is moved for this reason if the group has a lock delay or the failover
  /// setting `never` (`batonctl group set`), while an operator has paused moves, or while failures
  /// are common (see NodeOptions::prepare_timeout). If a shard is moved before it was ever
  /// activated, Releasing does not come.
  ///
  /// Acquired also comes again with the same term if the node keeps a shard after Releasing. That
  /// happens if the handoff was given up, or if etcd refused the handoff or the resignation.
  virtual void Acquired(ShardId shard, Term term) { (void)shard, (void)term; }
  /// The shard is about to be handed over or resigned: finish the work in flight, and begin nothing
  /// new. Comes only while the shard is activated. Comes before a planned handoff (balance, drain,
  /// an operator's transfer). It also comes before Node::Drain resigns the shard, in two cases: (a)
  /// the group has a lock delay; (b) its failover setting is `after` or `never`, and no operator
  /// drains this node. Releasing does not come before other resignations, for example of shards
  /// that are left after drain_timeout. If the shard is lost, Lost comes without Releasing.
  ///
  /// Leads() stays true while Releasing runs, unless release_timeout passes, the session is
  /// suspended, the shard is lost, or the node stops. It may stay true for a moment after Releasing
  /// has returned. Begin nothing new in that moment either. If the node keeps the shard, Acquired
  /// comes again. After release_timeout the shard is handed over even if Releasing has not
  /// returned. But if the group has a lock delay, and Releasing exceeds release_timeout or throws,
  /// the shard is resigned instead. Then nobody leads the shard for the lock delay.
  virtual void Releasing(ShardId shard, Term term) { (void)shard, (void)term; }
  /// This node no longer leads `shard` with `term`. Leads() turned false before. If Leads() is true
  /// now, it is true for a newer term. Another node may lead already, so write nothing more; clean
  /// up. Comes once for each leadership, also if Acquired failed or never came. If the node stops
  /// or halts, `reason` is kShutdown. If the session is lost, `reason` is kLeaseExpired. After a
  /// handoff or resignation, `reason` says why, for example kRebalance. kOperator also stands for a
  /// record that was deleted or damaged from outside.
  virtual void Lost(ShardId shard, Term term, Reason reason) {
    (void)shard, (void)term, (void)reason;
  }
  /// No renewal was confirmed in time, so Leads() turned false. Keep the shard's state, and write
  /// nothing. Either Leads() turns true again (perhaps while Suspended still runs) and Resumed
  /// comes, or Leads() stays false and Lost comes. The lease may still live. Before the lease has
  /// ended, another node can get the shard only by a handoff that began before the suspension.
  virtual void Suspended(ShardId shard, Term term) { (void)shard, (void)term; }
  /// A late renewal was confirmed: Leads() is true again, with the same term, unless the shard is
  /// just being handed over or resigned. A handoff goes on through a suspension. So if Releasing
  /// came before, don't begin work again here: wait until Acquired comes again.
  virtual void Resumed(ShardId shard, Term term) { (void)shard, (void)term; }

  /// This node stands by for `shard`: load the shard's state and keep it fresh, so that the node
  /// can take over at once. Don't act on the shard. Call Node::SetStandbyReady when the state is
  /// loaded. Until then other standbys come first when the leader dies. The state may take long to
  /// load. So load it in a thread of your own, because a callback that blocks holds up the shard's
  /// other callbacks. Standby may come before Node::Start has returned, when the listener does not
  /// have the node yet. In that case call SetStandbyReady later.
  ///
  /// A standby ends with StandbyEnded; with Acquired, if the node takes the shard over; or with
  /// Lost, if it loses the shard before Acquired. During a standby Prepare may come, but not while
  /// the node is a ready standby. If this node stands by for a shard that it led, Standby comes
  /// again soon after Lost. If the node loses its session, neither Standby nor StandbyEnded comes
  /// at that time. Once the node has a session again, a standby that goes on is as ready as before.
  /// If the standby has ended, StandbyEnded comes then. If Standby throws, the node only logs the
  /// exception.
  virtual void Standby(ShardId shard) { (void)shard; }
  /// This node no longer stands by for `shard`, and does not lead it either: drop the state. Comes
  /// once after each Standby that did not end with Acquired or Lost, also if the node drains, stops
  /// or halts.
  virtual void StandbyEnded(ShardId shard) { (void)shard; }

  /// Reports one change of one shard's leadership that this node counts (see Transition). Comes in
  /// order with the shard's other callbacks. `transition` is valid during the call.
  virtual void Transitioned(const Transition& transition) { (void)transition; }
  /// The node has stopped for good. `why` has the code kFailedPrecondition, and its message says
  /// what to do. Examples: the node's options don't fit the group, its name is in use, etcd is
  /// another cluster or went back in time, or a newer version wrote the group's data. Leads() is
  /// false for all shards, and Lost comes for each shard that the node led. Halted runs in order
  /// with shard 0's callbacks, so the Lost callbacks of other shards may run at the same time.
  /// After Halted, only Node::Stop is of use (never call it from a callback). Comes at most once.
  virtual void Halted(const Error& why) { (void)why; }
};

}  // namespace baton
