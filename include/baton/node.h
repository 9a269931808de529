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
// A thread may pause after it has checked Leads(). By the time its write takes effect, another node
// may lead. Only a resource that refuses older terms (baton/fencing.h) protects against such a late
// write. See docs/guarantees.md.
//
// The node connects to etcd again by itself after an outage. If it loses its session, it loses its
// shards, opens a new session, and takes part again. Only Drain, Stop or a halt (see
// Listener::Halted) ends its part in the group.
//
// If the process forks, the node stays with the parent. In the child, Leads() is false, Stop
// returns at once, and methods that return a Status return kFailedPrecondition. The destructor does
// nothing there, so the child never frees its copy of the node's memory. (Linux before 4.14 and
// some sandboxes lack MADV_WIPEONFORK. There, a child that calls a method or the destructor of the
// node ends by SIGSEGV.) The child inherits the lock in state_dir: until the child ends or calls
// exec, no node can start in that folder. Before the child calls exec, it must not use gRPC, which
// would harm gRPC in the parent. So Node::Start and Router::Start fail there.
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

/// Thread-safe, except the destructor: any thread may call any method, also from a callback of the
/// listener. But never call Stop or the destructor from a callback or from the log sink, because
/// they wait for the callbacks and for the sink. From a callback the call would never return. From
/// the sink it would abort the process or never return. See also Drain.
class BATON_EXPORT Node {
 public:
  /// Checks the options, takes the lock in state_dir and begins to take part. It does not wait for
  /// etcd, which may be unreachable. It may wait up to 2 s for a baton-guard that reads the lock
  /// file. If the guard reads for longer, the node starts without the lock, logs this, and takes
  /// the lock later. `listener` may be null; then a shard is activated as soon as the node leads
  /// it. Callbacks may begin before Start has returned, so the listener must not rely on the
  /// returned pointer yet. Errors:
  ///   kInvalidArgument     an option is invalid (the message names it), or state_dir can't be used
  ///   kFailedPrecondition  a living process has the lock in state_dir; or this process was forked
  ///                        from one that had started a node or a router
  ///   kNotFound            there is no such guard_program, or this process may not execute it
  ///   kInternal            the system gave no descriptor, memory or thread for the guard
  /// Throws an exception derived from std::runtime_error if the system gives no thread for the node
  /// itself. After an error or an exception no node runs, the lock is free, and no callback comes.
  static Result<std::unique_ptr<Node>> Start(NodeOptions options,
                                             std::shared_ptr<Listener> listener = nullptr);

  /// Calls Stop. If `batonctl doctor` examines the node at that time, the destructor also waits for
  /// the end of the examination (about 13 s at most). With GuardMode::kOwn it also waits up to 1 s
  /// for the guard's end. To hand the shards over first, call Drain before. REQUIRES: no method
  /// runs any more, and none is called later. If callbacks call methods, call Stop before.
  ~Node();
  Node(const Node&) = delete;
  Node& operator=(const Node&) = delete;

  /// Whether this node may act as the shard's leader now. False if the shard is out of range.
  /// Lock-free; tens of nanoseconds (one clock read).
  bool Leads(ShardId shard) const noexcept;
  /// As Leads, with the term and whether the shard is activated. `term` is 0 if `leads` is false.
  baton::Leadership Leadership(ShardId shard) const noexcept;

  /// Waits until the node is ready: its session is live and it has read the whole group. While a
  /// node is suspended, it is not ready. With a timeout of 0 or less it does not wait, and returns
  /// the present state. A timeout above a year counts as a year. Errors:
  ///   kTimedOut            the node was not ready within the timeout. Wrong etcd credentials lead
  ///                        to this, too; the log has the cause
  ///   kUnavailable         the node has drained or was stopped, also meanwhile. This comes at once
  ///   kFailedPrecondition  the node has halted (also if it was stopped afterwards); the message
  ///                        says why. This comes at once
  Status WaitReady(std::chrono::milliseconds timeout);

  /// Changes the password and certificates that the node uses for etcd. Returns at once, before the
  /// new ones are used; open connections go on. The node continues to use the earlier credentials
  /// until etcd accepts the new ones, so you may change a password here before you change it in
  /// etcd. A certificate that etcd refuses does no harm. EtcdOptions::user stays as it is. If it is
  /// empty, etcd takes the user from the certificate: then a certificate of another user changes
  /// the node's rights. The log says whether etcd accepts the new credentials.
  /// Give all fields, also those that stay the same: an empty field means none, as in EtcdOptions.
  /// If TLS was on at the start, it stays on; an empty `ca_pem` then means that the node trusts the
  /// system's roots. Errors (nothing changes):
  ///   kInvalidArgument  a PEM text can't be read; the certificate and the key don't belong
  ///                     together; there is a password without a user, or a user without a
  ///                     password; there are certificates, although no endpoint used TLS at the
  ///                     start
  ///   kUnavailable      the node has stopped, and all callbacks have returned
  Status SetEtcdCredentials(EtcdCredentials credentials);

  /// Says that the program works. If NodeOptions::watchdog is set, never let more than that time
  /// pass without a call. The node expects these calls from when it is first ready until you call
  /// Drain or Stop. Alive does nothing without a watchdog, and in a forked child. It takes tens of
  /// nanoseconds and no lock; only a call that comes too late takes a lock.
  void Alive() noexcept;

  /// Says whether the program can work on shards; true at first. While the program can't, the group
  /// treats the node as after `batonctl nodes drain`: it moves the node's shards to other nodes,
  /// each by a handoff with its callbacks. The node gets no new shards, and stays in the group. If
  /// no other node can take shards (all are unhealthy, drained, or of weight 0), this node keeps
  /// its own shards, and also takes over from nodes that die. Otherwise a failure of all programs
  /// would leave all shards without a leader. Once the program is healthy again, the node gets its
  /// share back. Call SetHealthy when this changes. It returns at once. The node writes at most one
  /// change a second to etcd, so a change may wait that long. Does nothing after Stop and in a
  /// forked child.
  void SetHealthy(bool healthy);

  /// Says whether the program, as a standby of this shard (Listener::Standby), could serve it at
  /// once; false at first. If the leader dies, a ready standby takes over. Call SetStandbyReady
  /// when this changes, also from inside Standby. It returns at once. Other nodes may know the
  /// change only after some seconds, because the node pauses between two writes of such changes to
  /// etcd. The pause is max(1 s, 50 ms for each live node) plus 1 ms for each shard of which this
  /// node is a ready standby. If the node ceases to be ready for a shard, it does not wait for the
  /// whole pause. It writes the change as soon as 1 s has passed since its last write about ready
  /// standbys. If several such changes follow each other, this 1 s doubles each time, up to the
  /// pause above.
  ///
  /// If the node is not a standby of the shard at the time of a call, the call has no effect,
  /// neither then nor later. Without a listener, each standby is ready at once, and calls do
  /// nothing. Calls also do nothing after Stop and in a forked child. If a node is ready for more
  /// than 100,000 shards, the other nodes count it as ready only for the 100,000 shards with the
  /// lowest numbers.
  void SetStandbyReady(ShardId shard, bool ready);

  /// Hands every shard over to the other members, then ends the session. Each handoff calls
  /// Releasing first and Lost afterwards (see Listener). Blocks as long as the handoffs take. After
  /// drain_timeout it resigns the shards that are left, without a handoff. If no other member can
  /// take shards, it resigns all its shards at once. But if the group has a lock delay, it first
  /// calls Releasing for each of these shards. If etcd is reachable, Drain returns soon after
  /// drain_timeout at the latest, even if callbacks hang. Without etcd it returns after
  /// drain_timeout + 30 s at the latest.
  ///
  /// If the group's failover setting is `after` or `never` (batonctl group set), Drain hands
  /// nothing over: it calls Releasing for each shard and resigns the shard. The shard then waits
  /// for this node. With `after`, other members may claim it once the failover delay is over. One
  /// exception: if an operator drains the node at that time, the node hands its shards over as
  /// usual.
  ///
  /// Afterwards the node leads nothing, takes no shard again and is never ready again (WaitReady
  /// says so at once). Call Stop, and start another Node to take part again. Don't call Drain from
  /// a callback: the node may keep the shard of that callback until drain_timeout, and then give it
  /// up without a handoff.
  ///
  /// A call during another Drain waits for the same end, and returns the same result. So does a
  /// later call, unless the node has halted meanwhile: then it returns kFailedPrecondition. If the
  /// first call gave up after drain_timeout + 30 s, a later call waits again. Drain returns the
  /// first of these that applies:
  ///   kFailedPrecondition  the node had halted before this call; it already leads nothing
  ///   kUnavailable         (a) The node had not read its group yet; it led nothing. (b) etcd did
  ///                        not answer, so the node gave its shards up without it; they are free
  ///                        once the lease has run out. (c) The node had not come to an end by
  ///                        drain_timeout + 30 s, and may still lead shards: call Stop
  ///   kTimedOut            (a) Some shards were given up without a handoff, because drain_timeout
  ///                        passed, Stop was called before or during this call, or the node lost
  ///                        its session. (b) The node halted during this call
  ///   ok                   (a) Each shard was either handed over, or resigned because nobody
  ///                        could take it or the failover setting keeps it for this node.
  ///                        (b) Stop was called before or during this call, and the node led
  ///                        nothing at that moment. (If it led shards then: kTimedOut.)
  Status Drain();

  /// Stops leading at once, without a handoff, and without Releasing. Then Stop revokes the lease.
  /// So other members take over soon, if the group's failover settings allow this. Unless Drain
  /// came first, the other nodes count this node as vanished. If many nodes vanish at once, the
  /// others wait before they take over (NodeOptions::settle). While etcd does not answer, Stop
  /// blocks for up to 30 s; then the lease runs out by itself. Stop also waits, without a limit,
  /// until every callback has returned, including Lost of each shard, and until the log sink has
  /// taken the records that wait for it (up to 8,192). If callbacks hold Stop up for 5 s, the log
  /// says so, and names one of the shards. Afterwards no callback runs. But the lock in state_dir
  /// stays taken until the node is destroyed. A call during another Stop waits for the same end.
  /// Later calls do nothing.
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
