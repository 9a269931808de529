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
// What a node does not promise: that code which saw Leads() return true acts before the answer
// changes. A thread may stand still between the check and its effect. Only a resource that refuses
// older terms (baton/fencing.h) protects against that; see docs/guarantees.md.
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

/// Thread-safe: any thread may call any method, also from a callback of the listener. Exceptions
/// are Stop and the destructor: they wait for callbacks, so a callback that calls them waits for
/// itself.
class BATON_EXPORT Node {
 public:
  /// Checks the options, takes the lock in state_dir and begins to take part. Does not wait for
  /// etcd, which may be away. `listener` may be null; then a shard is activated at once.
  /// Errors:
  ///   kInvalidArgument     an option is invalid (the message names it), or state_dir can't be used
  ///   kFailedPrecondition  a living process has the lock in state_dir
  static Result<std::unique_ptr<Node>> Start(NodeOptions options,
                                             std::shared_ptr<Listener> listener = nullptr);

  /// Calls Stop. To hand the shards over first, call Drain before.
  ~Node();
  Node(const Node&) = delete;
  Node& operator=(const Node&) = delete;

  /// Whether this node may act as the shard's leader now. False if the shard is out of range.
  /// Lock-free; tens of nanoseconds (one clock read).
  bool Leads(ShardId shard) const noexcept;
  /// The same, with the term and whether the shard is activated. `term` is 0 unless `leads`.
  baton::Leadership Leadership(ShardId shard) const noexcept;

  /// Waits until the node is ready: its session is live and it has read the whole group. A node
  /// that is suspended later is not ready meanwhile. With a timeout of 0 it does not wait, and
  /// returns the present state; a longer timeout than a year counts as a year. Errors:
  ///   kTimedOut            not ready by then, or the node was stopped meanwhile
  ///   kFailedPrecondition  the node has halted; the message says why
  Status WaitReady(std::chrono::milliseconds timeout);

  /// Changes the password and certificates that the node uses for etcd. Returns at once, before
  /// they are used; open connections go on. The node goes on with the earlier ones until etcd
  /// accepts the new ones, so a password may be changed here before it is changed in etcd, and a
  /// certificate that etcd refuses does no harm (a valid one of another etcd user may). The log
  /// says whether etcd accepts them. Errors (nothing changes):
  ///   kInvalidArgument  a PEM text can't be read; certificate and key don't belong together; a
  ///                     password without a user or a user without a password; certificates, though
  ///                     no endpoint used TLS at the start
  ///   kUnavailable      the node has stopped
  Status SetEtcdCredentials(EtcdCredentials credentials);

  /// Hands every shard over to the other members, then ends the session. Blocks as long as the
  /// hand-overs take. After drain_timeout it resigns the shards that are left, without a hand-over;
  /// if no other member can take shards, it resigns all of them at once. With a reachable etcd it
  /// returns soon after drain_timeout at the latest, even if callbacks hang; in any case after
  /// drain_timeout + 30 s. Afterwards the node leads nothing and takes no shard again: call Stop,
  /// and start another Node to take part again. A second call gives the same result. Don't call it
  /// from a callback: that callback's shard waits for it to return. Results:
  ///   ok                   every shard was handed over, or resigned because nobody could take it
  ///   kTimedOut            some shards were resigned: drain_timeout passed, or the node halted
  ///   kUnavailable         etcd did not answer. The lease runs out by itself, and then other
  ///                        members take over. If Drain returned because of the 30 s, the node may
  ///                        still lead what it has not given away: call Stop
  ///   kFailedPrecondition  the node had halted before; it leads nothing already
  Status Drain();

  /// Stops leading at once, without a hand-over; then revokes the lease, so that other members take
  /// over soon. Blocks for up to 30 s while etcd does not answer (then the lease runs out by
  /// itself), and until every callback has returned, Lost of each shard included, however long that
  /// takes. Afterwards no callback runs. Idempotent; a second caller waits for the first.
  void Stop();

  /// The node's side for operators, which baton/grpc.h, baton/owner_guard.h and baton/prometheus.h
  /// use. Not for applications. Lives as long as the node.
  runtime::Control& control();

 private:
  friend struct runtime::NodeWithApplication;
  class Impl;
  explicit Node(std::unique_ptr<Impl> impl);
  std::unique_ptr<Impl> impl_;
};

}  // namespace baton
