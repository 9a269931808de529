// Node: one member of a group, embedded in a service.
//
//   auto node = baton::Node::Start(options, std::make_shared<Orders>());
//   if (!node) return Fail(node.error().message);  // the message says what to do
//   ...
//   const baton::Leadership mine = (*node)->Leadership(shard);
//   if (mine.activated) Write(shard, mine.term);  // the resource refuses older terms
//   ...
//   const baton::Status drained = (*node)->Drain();  // at the end: hand the shards over
//   (*node)->Stop();
//
// A thread may pause between its check of Leads() and its write. Meanwhile another node may have
// begun to lead. Only a resource that refuses older terms (baton/fencing.h) protects against the
// late write. See docs/guarantees.md.
//
// After an outage of etcd, the node connects again by itself. If the node loses its session, it
// loses its shards, opens a new session, and can get shards again. Only Drain, Stop or a halt
// (Listener::Halted) ends that for good.
//
// If the process forks, the node stays with the parent. In the child, Leads() is false, and methods
// that return a Status return kFailedPrecondition. The other methods and the destructor do nothing
// in the child. (Linux before 4.14 and some sandboxes lack MADV_WIPEONFORK. There, a child that
// calls a method or the destructor of the node ends by SIGSEGV.) The child shares the lock in
// state_dir: no node can start in that folder until the child ends or calls exec. Before the child
// calls exec, it must not use gRPC: this would harm gRPC in the parent. So Node::Start and
// Router::Start fail in the child.
#pragma once

#include <chrono>
#include <memory>

#include "baton/export.h"
#include "baton/listener.h"
#include "baton/options.h"
#include "baton/result.h"
#include "baton/types.h"

namespace baton {

namespace runtime {
class Control;
struct NodeWithApplication;
}  // namespace runtime

/// Thread-safe, except the destructor. The listener's callbacks and the log sink may call methods,
/// too, with these exceptions. Never call Stop or the destructor from a callback: the call would
/// never return. Never call them from the log sink: the call would abort the process, or never
/// return. Don't call Drain from a callback: see Drain.
class BATON_EXPORT Node {
 public:
  /// Checks the options, takes the lock in state_dir, and begins to take part. Start does not wait
  /// for etcd, so etcd may be unreachable. If a baton-guard reads the lock file, Start waits for
  /// the guard, up to 2 s. If the guard reads for longer, the node starts without the lock, logs
  /// this, and takes the lock later. If `listener` is null, a shard is activated as soon as the
  /// node leads it. Callbacks may begin before Start has returned, when the program does not have
  /// the node yet. Errors:
  ///   kInvalidArgument     an option is invalid (the message names it), or state_dir can't be used
  ///   kFailedPrecondition  a living process has the lock in state_dir; or this process was forked
  ///                        from one that had started a node or a router
  ///   kNotFound            there is no such guard_program, or this process may not execute it
  ///   kInternal            the system gave no descriptor, memory or thread for the guard
  /// If the system gives no thread for the node itself, Start throws an exception derived from
  /// std::runtime_error. After an error or an exception no node runs, the lock is free, and no
  /// callback comes.
  static Result<std::unique_ptr<Node>> Start(NodeOptions options,
                                             std::shared_ptr<Listener> listener = nullptr);

  /// Calls Stop. If `batonctl doctor` examines the node then, the destructor also waits for the end
  /// of the examination (about 13 s at most). With GuardMode::kOwn it also waits up to 1 s for the
  /// guard's end. To hand the shards over, call Drain first. REQUIRES: no method runs any more, and
  /// none is called later. So if callbacks call methods, call Stop first.
  ~Node();
  Node(const Node&) = delete;
  Node& operator=(const Node&) = delete;

  /// Whether this node may act as the shard's leader now. False if the shard is out of range.
  /// Lock-free; tens of nanoseconds (one clock read).
  bool Leads(ShardId shard) const noexcept;
  /// As Leads, with the term and whether the shard is activated. `term` is 0 if `leads` is false.
  baton::Leadership Leadership(ShardId shard) const noexcept;

  /// Waits until the node is ready: its session is live, and it has read the whole group. A node
  /// that is suspended is not ready. With a timeout of 0 or less, WaitReady does not wait, and
  /// returns the present state. A timeout above a year counts as a year. Errors:
  ///   kTimedOut            the node was not ready within the timeout, for example because etcd
  ///                        refuses its credentials; the log has the cause
  ///   kUnavailable         the node has drained or was stopped, before or during the call.
  ///                        Returned at once
  ///   kFailedPrecondition  the node has halted, even if it was stopped afterwards; the message
  ///                        says why. Returned at once
  Status WaitReady(std::chrono::milliseconds timeout);

  /// Changes the password and certificates that the node uses for etcd. Returns at once. The node
  /// uses the earlier credentials until etcd accepts the new ones. So you may change a password
  /// here before you change it in etcd, and a certificate that etcd refuses does no harm. The log
  /// says whether etcd accepts the new credentials. Open connections stay open. EtcdOptions::user
  /// can't change. If `user` is empty, etcd takes the user from the certificate: then a certificate
  /// of another user changes the node's rights.
  ///
  /// Give all fields, also those that stay the same: an empty field means none, as in EtcdOptions.
  /// TLS stays on or off as it was at the start. If TLS is on and `ca_pem` is empty, the node
  /// trusts the system's CAs. Errors (nothing changes):
  ///   kInvalidArgument  (a) A PEM text can't be read. (b) The key does not belong to the
  ///                     certificate. (c) There is a password without a user, or a user without a
  ///                     password. (d) There are certificates, but TLS was off at the start
  ///   kUnavailable      the node has stopped, and all callbacks have returned
  Status SetEtcdCredentials(EtcdCredentials credentials);

  /// Says that the program works. With a watchdog (NodeOptions::watchdog), call Alive before the
  /// watchdog's time has passed since the last call. The node expects these calls from the time
  /// when it is first ready until you call Drain or Stop. Without a watchdog Alive does nothing.
  /// Alive takes tens of nanoseconds and no lock; only a call that comes too late takes a lock.
  void Alive() noexcept;

  /// Says whether the program is healthy: whether it can work on shards. True at first. Call
  /// SetHealthy when the answer changes; it returns at once. While the program is not healthy,
  /// other nodes get this node's shards, as after `batonctl nodes drain`: each shard by a handoff
  /// with its callbacks. The node gets no new shards, but stays in the group. If no other node can
  /// take shards (all are unhealthy, drained, or of weight 0), this node keeps its shards, and also
  /// takes over from nodes that die. Once the program is healthy again, the node gets its share
  /// back. The node writes at most one change a second to etcd, so a change may wait for 1 s.
  /// SetHealthy does nothing after Stop.
  void SetHealthy(bool healthy);

  /// Says whether this node is a ready standby of the shard (see Listener::Standby): whether the
  /// program could serve the shard at once. False at first. If the leader dies, a ready standby
  /// takes over. Call SetStandbyReady when the answer changes, also from inside Standby. It returns
  /// at once. Other nodes may learn of the change some seconds later, because the node pauses
  /// between two writes about ready standbys. The usual pause is max(1 s, 50 ms for each live node)
  /// plus 1 ms for each shard of which this node is a ready standby. If the node ceases to be ready
  /// for a shard, the pause is 1 s at first. It doubles with each further such change in a row, but
  /// never exceeds the usual pause.
  ///
  /// A call is ignored if the node is not a standby of the shard at that time. Without a listener
  /// each standby is ready at once, and calls do nothing. Calls also do nothing after Stop. If a
  /// node is ready for more than 100,000 shards, only the 100,000 shards with the lowest numbers
  /// count.
  void SetStandbyReady(ShardId shard, bool ready);

  /// Hands every shard over to another member, then ends the session. Each handoff calls Releasing
  /// first and Lost afterwards (see Listener). Blocks as long as the handoffs take. After
  /// drain_timeout the node resigns the shards that are left, without a handoff. If no other member
  /// can take shards, the node resigns all its shards at once. But if the group has a lock delay,
  /// the node first calls Releasing for each of these shards. If etcd is reachable, Drain returns
  /// soon after drain_timeout at the latest, even if callbacks hang. Without etcd Drain returns
  /// after drain_timeout + 30 s at the latest.
  ///
  /// If the group's failover setting is `after` or `never` (batonctl group set), Drain hands
  /// nothing over. It calls Releasing for each shard, and resigns the shard. The shard then waits
  /// for this node. With `after`, other members may claim the shard once the failover delay is
  /// over. One exception: while an operator drains the node, Drain hands the shards over as usual.
  ///
  /// Afterwards the node leads nothing, takes no shard again, and is never ready again. To take
  /// part again, call Stop, and start another Node. Don't call Drain from a callback: the node may
  /// keep the callback's shard until drain_timeout, and then resign the shard without a handoff.
  ///
  /// A call during another Drain waits for the same end, and returns the same result. A later call
  /// returns this result, too, with two exceptions. If the node has halted meanwhile, the later
  /// call returns kFailedPrecondition. If the first call gave up after drain_timeout + 30 s, the
  /// later call waits again. Drain returns the first result in this list that applies:
  ///   kFailedPrecondition  the node had halted before this call; it leads nothing
  ///   kUnavailable         (a) The node had not read its group yet; it led nothing. (b) etcd did
  ///                        not answer, so the node gave its shards up without etcd. Others can
  ///                        lead them once the lease has run out. (c) The node had not come to an
  ///                        end after drain_timeout + 30 s, and may still lead shards: call Stop
  ///   kTimedOut            (a) Some shards were given up without a handoff: because drain_timeout
  ///                        passed, because the node lost its session, or because Stop was called
  ///                        before or during this call. (b) The node halted during this call
  ///   ok                   (a) Each shard was handed over or resigned. A shard was resigned only
  ///                        because nobody could take it, or because the failover setting keeps it
  ///                        for this node. (b) The node led nothing when Drain was called, or when
  ///                        Stop was called if Stop came first
  Status Drain();

  /// Stops leading at once, without a handoff, and without Releasing. Then revokes the lease. So
  /// other members take over soon, if the group's failover settings allow this. After a Stop
  /// without Drain, the other nodes count this node as vanished. If many nodes vanish at once, the
  /// others wait before they take over (NodeOptions::settle). While etcd does not answer, Stop
  /// blocks for up to 30 s; then the lease runs out by itself. Stop also waits, without a limit,
  /// until every callback has returned, including Lost of each shard. If callbacks hold Stop up for
  /// 5 s, the log says so, and names one of the shards. Then Stop waits, without a limit, until the
  /// log sink has taken the records that wait (up to 8,192). Afterwards no callback runs. But the
  /// lock in state_dir stays taken until the node is destroyed. A call during another Stop waits
  /// for the same end. Later calls do nothing.
  void Stop();

  /// The interface for operators' tools, not for applications: baton/grpc.h, baton/owner_guard.h
  /// and baton/prometheus.h use it. The interface lives as long as the node.
  runtime::Control& control();

 private:
  friend struct runtime::NodeWithApplication;
  class Impl;
  explicit Node(std::unique_ptr<Impl> impl);
  std::unique_ptr<Impl> impl_;
};

}  // namespace baton
