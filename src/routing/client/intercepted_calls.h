// InterceptedCalls: the router's part in calls that a program makes itself, on channels that use
// the router's interceptor. It adds metadata, and counts calls and misroutes. It never delays,
// repeats or redirects a call. See Router::InterceptorFactory.
//
// Thread-safe; waits only for short locks. Channels and calls may outlive the router, so they share
// the ownership of this object. Unlike Router::Mark, it keeps no table of routes in memory for the
// calling thread.
#pragma once

#include <atomic>
#include <cstdint>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <string>

#include <grpcpp/support/client_interceptor.h>
#include <grpcpp/support/status.h>

#include "baton/types.h"
#include "routing/client/request_ids.h"
#include "routing/client/route_store.h"
#include "routing/request_metadata.h"

namespace baton::routing {

class InterceptedCalls {
 public:
  /// REQUIRES: `store` lives until Leave returns.
  InterceptedCalls(std::string group, const RouteStore& store, std::shared_ptr<RequestIds> ids)
      : group_(std::move(group)), ids_(std::move(ids)), store_(&store) {}
  InterceptedCalls(const InterceptedCalls&) = delete;
  InterceptedCalls& operator=(const InterceptedCalls&) = delete;

  /// Counts a call that begins, adds the metadata that the call lacks, and returns its shard. If no
  /// leader is known, adds no term. In these cases Begin returns nullopt, and adds and counts
  /// nothing:
  ///  - The metadata names no shard, or names another group.
  ///  - The group has no shard of this number. This is checked only after routes were read, and not
  ///    after Leave.
  ///  - A key of request_metadata.h has a malformed value or comes twice. The server will refuse
  ///    the call.
  std::optional<ShardId> Begin(std::multimap<std::string, std::string>& metadata);
  /// A call has ended with `status`. `shard`: the result of Begin. If the call got NOT_LEADER for
  /// this shard of this group (IsMisroute), counts a misroute.
  void End(ShardId shard, const grpc::Status& status);
  /// Detaches the store, which may be destroyed after this returns. Later calls are counted, but
  /// get no term. A second Leave does nothing.
  void Leave();

  std::uint64_t calls() const { return calls_.load(std::memory_order_relaxed); }
  std::uint64_t misroutes() const { return misroutes_.load(std::memory_order_relaxed); }

 private:
  std::optional<Term> FindTerm(ShardId shard) const;

  const std::string group_;
  const std::shared_ptr<RequestIds> ids_;
  std::atomic<std::uint64_t> calls_{0}, misroutes_{0};
  mutable std::mutex mutex_;
  const RouteStore* store_;  // null after Leave; guarded by mutex_
};

/// Makes the factory for a channel's interceptors, which share the ownership of `calls`. REQUIRES
/// (not checked): `calls` is not null.
std::unique_ptr<grpc::experimental::ClientInterceptorFactoryInterface> InterceptorFactoryOf(
    std::shared_ptr<InterceptedCalls> calls);

}  // namespace baton::routing
