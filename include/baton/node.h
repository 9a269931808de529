// Node: one member of a group, embedded in a service.
//
//   auto started = baton::Node::Start(options, listener);
//   if (!started) { /* started.error().message says what to do */ }
//   ...
//   if (node->Leads(shard)) { /* write, fenced by node->Leadership(shard).term */ }
//
// What it does not promise: that code which saw Leads() return true acts before the answer grows
// stale. A thread may be stopped between the check and its effect; only a resource that refuses
// older terms (the fence) covers that. See the README, "Guarantees".
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

/// Thread-safe: every method may be called from any thread, also from callbacks, but for Stop and
/// the destructor, which wait for callbacks to return and must not be called from one.
class BATON_EXPORT Node {
 public:
  /// Checks the options, takes the lock in state_dir and begins to take part; returns at once, etcd
  /// reachable or not. kInvalidArgument: an option is off (the message names it).
  /// kFailedPrecondition: the state_dir is in use by a living process of the same node id.
  /// `listener` may be null.
  static Result<std::unique_ptr<Node>> Start(NodeOptions options,
                                             std::shared_ptr<Listener> listener = nullptr);

  /// Stops (without handing over; call Drain first for that) and waits.
  ~Node();
  Node(const Node&) = delete;
  Node& operator=(const Node&) = delete;

  /// May this node act as `shard`'s leader now? Lock-free, tens of nanoseconds (one clock read).
  /// False for shards out of range.
  bool Leads(ShardId shard) const noexcept;
  /// The same, with term and activation. Lock-free.
  baton::Leadership Leadership(ShardId shard) const noexcept;

  /// Waits until the session is live and the view complete. kTimedOut: not by then.
  /// kFailedPrecondition: halted, with the reason.
  Status WaitReady(std::chrono::milliseconds timeout);

  /// From now on shows etcd these, and trusts by these, once etcd takes them: what was shown before
  /// is used until it does. So a password may be changed here before it is in etcd, and a
  /// certificate that etcd does not take costs nothing; the log says which it is. Open connections
  /// go on. Returns at once. kInvalidArgument: they do not fit together (key and certificate, a
  /// password without a user), or can't be read, or TLS was off at the start; nothing changes.
  /// kUnavailable: the node has stopped.
  Status SetEtcdCredentials(EtcdCredentials credentials);

  /// Gives every shard to the other members, resigns what has no target, ends the session. Takes up
  /// to drain_timeout; the node leads nothing afterwards. kTimedOut: some were resigned unprepared.
  /// kUnavailable: etcd was away; the lease runs out by itself.
  Status Drain();

  /// Ends at once: stops leading, waits for callbacks, revokes the lease if etcd answers.
  /// Idempotent.
  void Stop();

  /// For baton/grpc.h and baton/prometheus.h: the node's admin side. Lives as long as the node.
  runtime::Control& control();

 private:
  friend struct runtime::NodeWithApplication;
  class Impl;
  explicit Node(std::unique_ptr<Impl> impl);
  std::unique_ptr<Impl> impl_;
};

}  // namespace baton
