// KeepPollersApart: lets each of gRPC's threads wait for its own connections only.
#pragma once

namespace baton::app {

/// By default, gRPC (1.51) watches all sockets of a process together. A thread that waits for one
/// of them, for example for etcd's answer, also reads and parses what callers send, for as long as
/// more comes. So four callers could hold up renewals until the lease was lost. This function makes
/// gRPC use poll() instead of epoll. Then the threads of a completion queue watch only the sockets
/// of this queue. (gRPC has threads of its own beside them: one watches sockets on which a write
/// blocks, and an executor works on connections that two threads use at once.)
///
/// With poll(), a thread takes time in proportion to the number of its connections. So the function
/// is for nodes, which have at most 2,048, and not for relays, which have no lease. It does nothing
/// if the environment has GRPC_POLL_STRATEGY. Otherwise it also makes gRPC look every 100 ms, and
/// not only every 5 s, after channels that are connecting, unless the environment has
/// GRPC_CLIENT_CHANNEL_BACKUP_POLL_INTERVAL_MS. It leaves the environment as it was.
///
/// REQUIRES: called before gRPC is used, while the process has one thread.
void KeepPollersApart();

}  // namespace baton::app
