// A node's services for a gRPC server of yours. Opt-in: link the target baton_grpc.
//
//   grpc::ServerBuilder builder;
//   auto admin = baton::RegisterAdminService(builder, *node, {});
//   auto routing = baton::RegisterRoutingService(builder, *node, {});
//   auto server = builder.BuildAndStart();
//   ...
//   routing->Shutdown();  // ends the streams, which a server would wait for
//   server->Shutdown(); server->Wait();  // then `admin` and `routing`, then the node
//
// The services are asynchronous: they never block a thread of the server or of the node.
#pragma once

#include <cstddef>
#include <memory>

#include <grpcpp/support/status.h>

#include "baton/export.h"
#include "baton/fencing.h"
#include "baton/node.h"

namespace grpc {
class ServerBuilder;
}

namespace baton {

struct AdminOptions {
  /// Calls that change something come from loopback and unix sockets only, unless this is set. Set
  /// it only where the server authenticates its callers: whoever may call may move every shard.
  bool allow_remote = false;
};

/// Owns a registered service. Destroy it after the server has shut down and before the node.
class AdminService {
 public:
  virtual ~AdminService() = default;
};

/// Adds baton.v1.AdminService, which is what batonctl talks to. REQUIRES: before BuildAndStart.
BATON_EXPORT std::unique_ptr<AdminService> RegisterAdminService(grpc::ServerBuilder& builder,
                                                                Node& node,
                                                                AdminOptions options = {});

struct RoutingOptions {
  /// Streams of WatchRoutes at once; more are refused with RESOURCE_EXHAUSTED.
  std::size_t most_watchers = 10'000;
};

/// Owns a registered service. Destroy it after the server has shut down and before the node.
class RoutingService {
 public:
  virtual ~RoutingService() = default;
  /// Ends every stream with UNAVAILABLE (CANCELLED where a message is on its way), so that callers
  /// go elsewhere: a server that shuts down without a deadline waits for them. Stopping the node
  /// does the same. Idempotent; any thread.
  virtual void Shutdown() = 0;
};

/// Adds baton.v1.RoutingService, which callers of a sharded service ask who leads what. It costs a
/// thread and about 100 bytes a shard. REQUIRES: before BuildAndStart.
BATON_EXPORT std::unique_ptr<RoutingService> RegisterRoutingService(grpc::ServerBuilder& builder,
                                                                    Node& node,
                                                                    RoutingOptions options = {});

/// What a server answers where its guard said kStaleTerm: ABORTED, with ErrorInfo{reason
/// STALE_TERM, domain baton, metadata shard, term, newestTerm}. REQUIRES: a shard in the guard's
/// range.
BATON_EXPORT grpc::Status StaleTermStatus(const FenceGuard& guard, ShardId shard, Term term);

}  // namespace baton
