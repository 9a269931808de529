// KeepPollersApart: lets each of gRPC's threads wait for its own connections only.
#pragma once

namespace baton::app {

/// gRPC (1.51) by default watches all sockets of a process together: whatever thread waits for any
/// of them, etcd's too, reads and parses what callers send, for as long as more comes. Four callers
/// could thereby hold up renewals until the lease was lost. After this, with poll() instead of
/// epoll, each completion queue's threads watch only the queue's own sockets. (gRPC has threads of
/// its own beside them: one watches sockets on which a write blocks, and an executor works on
/// connections that two threads use at once.) Threads that watch their own
/// sockets cost time in proportion to the number of connections, so it is for nodes, which have
/// 2,048 at most, and not for relays, which have no lease. If GRPC_POLL_STRATEGY is set, it stays
/// as it is.
///
/// REQUIRES: called before gRPC is used, while the process has one thread.
void KeepPollersApart();

}  // namespace baton::app
