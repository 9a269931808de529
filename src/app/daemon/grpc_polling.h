// KeepPollersApart: makes each of gRPC's threads wait only for its own connections, and read only a
// little at once.
#pragma once

namespace baton::app {

/// By default, gRPC (1.51) watches all sockets of a process together. A thread that waits for one
/// of these sockets, for example for etcd's answer, also reads what callers send, as long as more
/// comes. So a few callers could delay renewals until the lease was lost. This function makes gRPC
/// use poll() instead of epoll. Then the threads of a completion queue watch only the sockets of
/// this queue. This does not hold for two kinds of gRPC's own threads: one thread watches sockets
/// on which a write blocks, and an executor works on connections that two threads use at once.
///
/// With poll(), the time that a thread takes grows with the number of its connections. So call this
/// function only for a node, which has at most 2,048 connections. A relay has more connections, and
/// no lease to lose. The function also makes gRPC check connecting channels every 100 ms instead of
/// every 5 s. It makes gRPC obey kMaxReadAtOnce (base/grpc/server_limits.h), which gRPC 1.51
/// ignores by default. It leaves the environment as it was.
///
/// Variables of the environment may change this:
///  - If GRPC_POLL_STRATEGY is set, the function does nothing.
///  - If GRPC_CLIENT_CHANNEL_BACKUP_POLL_INTERVAL_MS is set, its interval counts instead of 100 ms.
///  - If GRPC_EXPERIMENTS is set, this variable decides whether gRPC obeys kMaxReadAtOnce.
///
/// REQUIRES (not checked): called before gRPC is used, while the process has one thread.
void KeepPollersApart();

}  // namespace baton::app
