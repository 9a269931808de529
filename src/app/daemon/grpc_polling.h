// KeepPollersApart: lets each of gRPC's threads wait for its own connections only, and read little
// at once.
#pragma once

namespace baton::app {

/// By default, gRPC (1.51) watches all sockets of a process together. A thread that waits for one
/// of them, for example for etcd's answer, also reads and parses what callers send, for as long as
/// more comes. So four callers could hold up renewals until the lease was lost. This function makes
/// gRPC use poll() instead of epoll. Then the threads of a completion queue watch only the sockets
/// of this queue. This does not hold for gRPC's own threads: one watches sockets on which a write
/// blocks, and an executor works on connections that two threads use at once.
///
/// With poll(), a thread takes time in proportion to the number of its connections. So the function
/// is for nodes, which have at most 2,048, and not for relays, which have no lease. It also makes
/// gRPC check channels that are connecting every 100 ms; by default that is every 5 s. It leaves
/// the environment as it was.
///
/// It also makes gRPC keep to kMaxReadAtOnce (base/grpc/server_limits.h).
///
/// If the environment has GRPC_POLL_STRATEGY, the function does nothing. If it has
/// GRPC_CLIENT_CHANNEL_BACKUP_POLL_INTERVAL_MS, that interval stays. If it has GRPC_EXPERIMENTS,
/// gRPC reads as that says.
///
/// REQUIRES: called before gRPC is used, while the process has one thread.
void KeepPollersApart();

}  // namespace baton::app
