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
// Node::Leads says whether the node may act on a shard now. It turns false at the local deadline by
// itself, even if no callback can run at that moment.
//
// Leadership::activated says that Leads() is true and Acquired has returned. If a request needs
// what Acquired loads, serve it only while this is true.
//
// Leadership::term is the fencing token. Send it with everything that you write outside.
//
// Usual order for one shard: [Prepare] [Acquired] [Suspended Resumed]... [Releasing] Lost.
// Callbacks in brackets may be missing. A shard may wait for its first Acquired, because the node
// limits how many of these calls run at once: 16 at first, 192 after a success. If three shards in
// a row fail, the limit is one or two until the next success. Calls that have exceeded
// callback_timeout don't count (see NodeOptions::callback_timeout). The shard may be lost
// meanwhile. So make Lost harmless for a shard that was not loaded.
//
// If placement rules ask for standbys, some of the nodes that don't lead the shard get Standby
// before all this. Later each of them gets StandbyEnded, Acquired or Lost. Being a standby never
// makes Leads() true.
//
// Threads: callbacks run on a pool of the node, never on the node's loop (see
// NodeOptions::callback_threads). Callbacks of one shard run one at a time and in order; callbacks
// of different shards run side by side. A callback may block, be slow or throw. The node still
// renews its lease. Other shards' callbacks, except a first Acquired (see above), go on as long as
// fewer than 256 callbacks block at once. Only Prepare, Acquired and Releasing have a time limit,
// which runs from when the call is queued. The node never ends a callback. It catches and logs what
// a callback throws. For Acquired it logs only the first failure of each shard, and at most one
// line a second in all. A Prepare or Acquired that throws counts as failed, and a Releasing that
// throws as one that exceeded release_timeout.
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

  /// A planned move is about to give this node `shard`: load its state. This node does not lead
  /// yet, and may never: no callback says that the move was given up. Prepare may come again for
  /// the same shard. If Prepare throws or takes longer than prepare_timeout, the move is given up
  /// and the shard stays with its leader.
  virtual void Prepare(ShardId shard) { (void)shard; }
  /// This node leads `shard` with `term`. Leads() is true already, unless the session was suspended
  /// or lost meanwhile. Leadership::activated turns true when Acquired returns.
  ///
  /// If Acquired throws, it comes again with the same term: at first after 50 to 100 ms, later
  /// after up to 5 s. Neither Releasing nor Lost comes in between. The next call may also be later,
  /// because at most 64 repeated calls run at once on a node (with those that have exceeded
  /// callback_timeout, 128), and none begins while the node is suspended or in Node::Drain.
  /// If Acquired takes longer than callback_timeout, it does not come again while it still runs.
  /// If it then returns without an exception, the shard is activated. After three failures or one
  /// timeout, but not before 2 s after the first failure, the node usually moves the shard to
  /// another node. Once three shards fail on a node, it moves all its shards that are not active.
  /// A shard moves like this once: if Acquired fails there too, it stays. None moves if the group
  /// has a lock delay or the failover setting `never` (`batonctl group set`), while moves are
  /// paused, or if Acquired fails on many nodes. Releasing does not come without an activation.
  ///
  /// Acquired also comes again with the same term if the node keeps a shard after Releasing,
  /// because the handoff was given up or etcd refused the resignation.
  virtual void Acquired(ShardId shard, Term term) { (void)shard, (void)term; }
  /// The shard is about to be handed over: finish the work in flight, and begin nothing new. Comes
  /// before a planned handoff (balance, drain, an operator's transfer). It also comes before
  /// Node::Drain resigns the shard, in two cases: (a) the group has a lock delay; (b) its failover
  /// setting is `after` or `never`, and no operator drains this node. Releasing does not come
  /// before other resignations, for example of shards that are left after drain_timeout. It does
  /// not come either if the shard is lost.
  ///
  /// Leads() stays true while Releasing runs, unless release_timeout passes, the session is
  /// suspended or lost, or the node stops. It may stay true for a moment after Releasing has
  /// returned. Begin nothing new in that moment either. If the node keeps the shard, Acquired comes
  /// again. After release_timeout the shard is handed over even if Releasing has not returned. But
  /// if the group has a lock delay and Releasing is late or throws, the shard is resigned instead,
  /// and nobody leads it for that delay.
  virtual void Releasing(ShardId shard, Term term) { (void)shard, (void)term; }
  /// This node no longer leads `shard` with `term`. Leads() turned false before; if it is true now,
  /// that is for a newer term. Another node may lead already, so write nothing more; clean up.
  /// Comes once for each leadership, also if Acquired failed or never came, if the node stops or
  /// halts (`reason` is kShutdown), and if the session is lost (kLeaseExpired). After a handoff or
  /// resignation, `reason` says why, for example kRebalance. kOperator also stands for a record
  /// that was deleted or damaged from outside.
  virtual void Lost(ShardId shard, Term term, Reason reason) {
    (void)shard, (void)term, (void)reason;
  }
  /// No renewal was confirmed in time, so Leads() turned false. Keep the shard's state, and write
  /// nothing. Either Leads() turns true again (perhaps while Suspended still runs) and Resumed
  /// comes, or Leads() stays false and Lost comes. The lease may still live; no other node takes
  /// the shard over before the lease has ended.
  virtual void Suspended(ShardId shard, Term term) { (void)shard, (void)term; }
  /// A late renewal was confirmed: Leads() is true again, with the same term, unless the shard is
  /// just being handed over or resigned. A handoff goes on through a suspension. So if Releasing
  /// came before, don't begin work again here: wait until Acquired comes again.
  virtual void Resumed(ShardId shard, Term term) { (void)shard, (void)term; }

  /// This node stands by for `shard`: load the shard's state and keep it fresh, so that the node
  /// can take over at once. Don't act on the shard. Call Node::SetStandbyReady when the state is
  /// loaded. Until then other standbys come first when the leader dies. The state may take long to
  /// load; do that in a thread of your own, because a callback that blocks holds up the shard's
  /// other callbacks. Standby may come before Node::Start has returned, when the listener does not
  /// have the node yet. In that case call SetStandbyReady later.
  ///
  /// A standby ends with StandbyEnded; with Acquired, if the node takes the shard over; or with
  /// Lost, if it loses the shard before Acquired. Prepare may come meanwhile, but not to a ready
  /// standby. If this node stands by for a shard that it led, Standby comes again soon after Lost.
  /// If the node loses its session, neither Standby nor StandbyEnded comes at that time. Once the
  /// node has a session again, a standby that goes on is as ready as before. If the standby has
  /// ended, StandbyEnded comes then. If Standby throws, the node only logs the exception.
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
