// KeepPollersApart: makes each of gRPC's threads wait only for its own connections, and read only a
// little at once.
#pragma once

namespace baton::app {

/// By default, gRPC (1.51) watches all sockets of a process together. A thread that waits for one
/// of these sockets, for example for etcd's answer, also reads and parses what callers send, as
/// long as more comes. So four callers could delay renewals until the lease was lost. This function
/// makes gRPC use poll() instead of epoll. Then the threads of a completion queue watch only the
/// sockets of this queue. This does not hold for gRPC's own threads: one watches sockets on which a
/// write blocks, and an executor works on connections that two threads use at once.
///
/// With poll(), a thread takes time in proportion to the number of its connections. So the function
/// is for nodes, which have at most 2,048 connections. It is not for relays, which have more
/// connections and no lease. It also makes gRPC check channels that are connecting every 100 ms
/// instead of every 5 s. It leaves the environment as it was.
///
/// It also makes gRPC obey kMaxReadAtOnce (base/grpc/server_limits.h), which gRPC 1.51 ignores by
/// default.
///
/// If the environment has GRPC_POLL_STRATEGY, the function does nothing. If it has
/// GRPC_CLIENT_CHANNEL_BACKUP_POLL_INTERVAL_MS, the interval in this variable counts. If it has
/// GRPC_EXPERIMENTS, this variable decides whether gRPC obeys kMaxReadAtOnce.
///
/// REQUIRES (not checked): called before gRPC is used, while the process has one thread.
void KeepPollersApart();

}  // namespace baton::app
