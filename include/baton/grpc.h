// A node's services for a gRPC server of yours: the admin service for batonctl, and the routing
// service for callers. Opt-in: needs gRPC; find_package(baton COMPONENTS grpc), link baton::grpc.
//
//   grpc::ServerBuilder builder;
//   builder.AddListeningPort(address, grpc::InsecureServerCredentials());
//   baton::LimitServer(builder);
//   auto admin = baton::RegisterAdminService(builder, *node);
//   auto routing = baton::RegisterRoutingService(builder, *node);
//   auto server = builder.BuildAndStart();
//   ...
//   const baton::Status drained = node->Drain();  // hands the shards over
//   node->Stop();  // ends the streams of both services, which server->Shutdown would wait for
//   // Without a deadline, Shutdown would also wait for callers that don't read their answers.
//   server->Shutdown(std::chrono::system_clock::now() + std::chrono::seconds(5));
//   server->Wait();
//   // then destroy `server`, `admin` and `routing`, and the node last
//
// The services answer asynchronously: they block no thread of the server or of the node.
#pragma once

#include <cstddef>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include <grpcpp/support/status.h>

#include "baton/export.h"
#include "baton/fencing.h"
#include "baton/node.h"
#include "baton/result.h"

namespace grpc {
class ServerBuilder;
}

namespace baton {

/// Limits what strangers can cost a server of yours. If your own services need more, set higher
/// limits on `builder` after this call.
///  - A request has at most 64 KiB, and a call's metadata 8 KiB. gRPC ends a call above these
///    limits. Answers are not limited.
///  - A compressed request is refused with UNIMPLEMENTED, because gRPC 1.51 decompresses a request
///    before it checks the request's size.
///  - A connection has at most 100 calls at once. A client makes further calls wait. If a client
///    does not, gRPC ends the connection. gRPC 1.51 enforces this limit, and the limit of metadata,
///    only for clients that have acknowledged the limits.
///  - Requests that are still arriving, and gRPC's own state of connections, have 64 MiB together
///    for the whole server, by a grpc::ResourceQuota of the builder. If the 64 MiB are used up,
///    gRPC ends calls, perhaps also calls of other callers.
/// Neither LimitServer nor gRPC bounds the number of connections.
///
/// LimitServer also turns SO_REUSEPORT off, so BuildAndStart returns null if another server has the
/// address. By default, gRPC lets two servers of one user share an address, and each gets a part of
/// the connections. REQUIRES: called before BuildAndStart.
BATON_EXPORT void LimitServer(grpc::ServerBuilder& builder);

/// Says which callers may make changes through an admin service. These callers may make every
/// change, also the changes that need the role admin in batond. Everybody who reaches the server
/// may make calls that only read. One exception: if a caller's certificate has expired since the
/// caller connected, all new calls of this caller get UNAUTHENTICATED.
struct AdminOptions {
  /// Whether callers on other hosts may make changes. By default, only callers at loopback
  /// addresses and unix sockets may make changes; other callers get PERMISSION_DENIED. Set this
  /// only if the server authenticates its callers, because any accepted caller can move every
  /// shard.
  bool allow_remote = false;
  /// If set, only callers whose certificate fits one of these entries may make changes. These
  /// callers may be on any host, and `allow_remote` has no effect. If the list is empty, nobody may
  /// make changes. If `operators` is unset, every user of this host may make changes, because gRPC
  /// can't tell which user has opened a connection; `allow_remote` decides about other hosts. Each
  /// entry is a whole name such as "dns:ann.example.org", the beginning of a name followed by "*",
  /// or "*" alone. GroupCredentialsOptions::servers (baton/credentials.h) describes these forms,
  /// and says which name a certificate has. REQUIRES: the server has TLS and verifies clients'
  /// certificates.
  std::optional<std::vector<std::string>> operators = {};
};

/// Checks the options. kInvalidArgument: a name in `operators` can't be a certificate's name. The
/// message repeats the name, and says what is expected.
BATON_EXPORT Status CheckAdminOptions(const AdminOptions& options);

/// A registered admin service. Destroy it after the server has shut down and before the node.
class AdminService {
 public:
  virtual ~AdminService() = default;
};

/// Adds baton.v1.AdminService (proto/baton/v1/admin.proto), for batonctl. The node's log gets a
/// record of each change that somebody asks for (who, what, and whether it was made). But refused
/// callers together cause at most one record a second. Returns null and adds nothing if
/// CheckAdminOptions refuses the options. Throws std::system_error if the host has no thread left.
/// REQUIRES: called before BuildAndStart.
///
/// Calls above the service's limits get RESOURCE_EXHAUSTED. There are at most 64 streams of
/// WatchEvents. Callers that may not make changes have at most 48 of these streams together, and 16
/// each. Each of these callers may make 500 calls in a burst, then 50 a second. Callers with one
/// certificate name, and callers without a certificate on one host, count as one caller.
/// docs/security.md lists all limits.
BATON_EXPORT std::unique_ptr<AdminService> RegisterAdminService(grpc::ServerBuilder& builder,
                                                                Node& node,
                                                                AdminOptions options = {});

struct RoutingOptions {
  /// The most streams of WatchRoutes at once. Further streams are refused with RESOURCE_EXHAUSTED.
  /// 1 to 1,000,000; a number out of this range counts as the nearest in it.
  std::size_t max_watchers = 10'000;
};

/// A registered routing service. Destroy it after the server has shut down and before the node.
class RoutingService {
 public:
  virtual ~RoutingService() = default;
  /// Ends every stream with UNAVAILABLE (CANCELLED if a message is on its way), so that callers go
  /// to another node. Waits a moment until the service's own thread has ended. Idempotent; any
  /// thread. A stop or a halt of the node ends the streams, too. The server's Shutdown waits for
  /// streams, so call Node::Stop or this method before it.
  ///
  /// Later streams are refused: with RESOURCE_EXHAUSTED after a call of this method, with
  /// UNAVAILABLE if only the node was stopped or has halted. Later Lookup calls get UNAVAILABLE.
  virtual void Shutdown() = 0;
};

/// Adds baton.v1.RoutingService (proto/baton/v1/routing.proto), which tells baton::Router and other
/// callers which node leads which shard. Costs one thread and about 100 bytes a shard. Everybody
/// who reaches the server may call the service. At most 1,024 Lookup calls wait at once; further
/// Lookup calls get UNAVAILABLE. Each caller on another host may make 10,000 calls in a burst, and
/// 1,000 a second after that; further calls get RESOURCE_EXHAUSTED. If a caller's certificate has
/// expired since the caller connected, new calls of this caller get UNAUTHENTICATED. Never returns
/// null. Throws std::system_error if the host has no thread left. REQUIRES: called before
/// BuildAndStart.
BATON_EXPORT std::unique_ptr<RoutingService> RegisterRoutingService(grpc::ServerBuilder& builder,
                                                                    Node& node,
                                                                    RoutingOptions options = {});

/// The refusal STALE_TERM, for a request whose FenceGuard call returned kStaleTerm: ABORTED, with
/// google.rpc.ErrorInfo in its details (reason STALE_TERM, domain baton; metadata shard, term,
/// newestTerm). See proto/baton/v1/errors.proto. REQUIRES (checked): the shard is in the guard's
/// range.
BATON_EXPORT grpc::Status StaleTermStatus(const FenceGuard& guard, ShardId shard, Term term);

}  // namespace baton
