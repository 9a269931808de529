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
// The services answer asynchronously. They block no thread of the server or of the node.
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
///  - A request may have 64 KiB, and the metadata of a call 8 KiB. gRPC ends a call above these
///    limits. Answers are not limited.
///  - Compressed requests are refused with UNIMPLEMENTED.
///  - A connection may have 100 calls at once. gRPC's clients make further calls wait. If a client
///    sends more calls, gRPC ends the connection.
///  - All connections together may use 64 MiB, for requests that are still arriving and for gRPC's
///    own state. If the 64 MiB are used up, gRPC ends calls, perhaps also calls of other callers.
///    (LimitServer sets a grpc::ResourceQuota.)
///
/// gRPC 1.51 enforces the limits of 8 KiB and of 100 calls only for clients that have acknowledged
/// these limits. Nothing limits the number of connections.
///
/// LimitServer also turns SO_REUSEPORT off. So BuildAndStart returns null if another server has the
/// address. (By default, gRPC lets two servers of one user share an address.) REQUIRES: called
/// before BuildAndStart.
BATON_EXPORT void LimitServer(grpc::ServerBuilder& builder);

/// Says which callers may make changes through an admin service. These callers may make every
/// change, also a change that needs the role admin in batond. Everybody who reaches the server may
/// make calls that only read. One exception: if a caller's certificate has expired since the caller
/// connected, all new calls of this caller get UNAUTHENTICATED.
struct AdminOptions {
  /// Whether callers on other hosts may make changes. If false, only callers at loopback addresses
  /// and unix sockets may make changes; other callers get PERMISSION_DENIED. Set it to true only if
  /// the server authenticates its callers: each of them can then move every shard.
  bool allow_remote = false;
  /// If unset: every user of this host may make changes, and `allow_remote` decides about other
  /// hosts. If set: only callers whose certificate's name fits one of these entries may make
  /// changes. These callers may be on any host, and `allow_remote` has no effect. If the list is
  /// empty, nobody may make changes. Each entry is a whole name such as "dns:ann.example.org", the
  /// beginning of a name followed by "*", or "*" alone. GroupCredentialsOptions::servers
  /// (baton/credentials.h) describes these forms, and says which name a certificate has. REQUIRES
  /// (not checked): the server has TLS and verifies clients' certificates.
  std::optional<std::vector<std::string>> operators = {};
};

/// Checks the options. kInvalidArgument: an entry of `operators` has none of the three forms. The
/// message repeats the entry, and says what is expected.
BATON_EXPORT Status CheckAdminOptions(const AdminOptions& options);

/// A registered admin service. Destroy it after the server has shut down and before the node.
class AdminService {
 public:
  virtual ~AdminService() = default;
};

/// Adds baton.v1.AdminService (proto/baton/v1/admin.proto), for batonctl. The node's log gets a
/// record of each change that a caller asks for: who asked, for what, and whether the change was
/// made. Refused callers, all together, get at most one record a second. If CheckAdminOptions
/// refuses the options, RegisterAdminService returns null and adds nothing. Throws
/// std::system_error if the host has no thread left. REQUIRES: called before BuildAndStart.
///
/// Calls above the service's limits get RESOURCE_EXHAUSTED. There may be 64 streams of WatchEvents.
/// Callers that may not make changes may have 48 of these streams together, and 16 each. Each of
/// these callers may make 500 calls in a burst, then 50 a second. Callers with the same certificate
/// name count as one caller. So do callers without such a name on the same host (with IPv6: in the
/// same /64 network). docs/security.md lists all limits.
BATON_EXPORT std::unique_ptr<AdminService> RegisterAdminService(grpc::ServerBuilder& builder,
                                                                Node& node,
                                                                AdminOptions options = {});

struct RoutingOptions {
  /// The most streams of WatchRoutes at once. Further streams are refused with RESOURCE_EXHAUSTED.
  /// 0 counts as 1; a number above 1,000,000 counts as 1,000,000.
  std::size_t max_watchers = 10'000;
};

/// A registered routing service. Destroy it after the server has shut down and before the node.
class RoutingService {
 public:
  virtual ~RoutingService() = default;
  /// Ends every stream, so that callers go to another node. A stream ends with UNAVAILABLE, or with
  /// CANCELLED if a message is on its way. Waits a moment until the service's own thread has ended.
  /// Idempotent; any thread. The streams also end when the node stops or halts. The server's
  /// Shutdown waits for the streams: call Node::Stop or this method before the server's Shutdown.
  ///
  /// After a call of this method, new streams get RESOURCE_EXHAUSTED. If only the node has stopped
  /// or halted, new streams get UNAVAILABLE. In both cases new Lookup calls get UNAVAILABLE.
  virtual void Shutdown() = 0;
};

/// Adds baton.v1.RoutingService (proto/baton/v1/routing.proto). It tells baton::Router and other
/// callers which node leads which shard. The service costs one thread and about 100 bytes a shard.
/// Everybody who reaches the server may call it. If 1,024 Lookup calls wait, further Lookup calls
/// get UNAVAILABLE. Each caller on another host (counted as in RegisterAdminService) may make
/// 10,000 calls in a burst, then 1,000 a second. Further calls get RESOURCE_EXHAUSTED. If a
/// caller's certificate has expired since the caller connected, new calls of this caller get
/// UNAUTHENTICATED. Never returns null. Throws std::system_error if the host has no thread left.
/// REQUIRES: called before BuildAndStart.
BATON_EXPORT std::unique_ptr<RoutingService> RegisterRoutingService(grpc::ServerBuilder& builder,
                                                                    Node& node,
                                                                    RoutingOptions options = {});

/// The refusal STALE_TERM, for a request whose FenceGuard call returned kStaleTerm. The status is
/// ABORTED, with google.rpc.ErrorInfo in its details: reason STALE_TERM, domain baton, and metadata
/// shard, term and newestTerm (the guard's Highest). See proto/baton/v1/errors.proto. REQUIRES
/// (checked; otherwise the program aborts): the shard is in the guard's range.
BATON_EXPORT grpc::Status StaleTermStatus(const FenceGuard& guard, ShardId shard, Term term);

}  // namespace baton
