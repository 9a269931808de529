// InterceptedCalls: the router's part in calls that a program makes itself, on channels that use
// the router's interceptor. It adds metadata and counts calls and misroutes, nothing else. See
// Router::InterceptorFactory.
//
// Thread-safe. Channels and calls may outlive the router; they share ownership of this object. This
// object reads the RouteStore under the store's lock instead of the published table, because a
// table stays in memory for each thread that read it, and gRPC may call on many threads.
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

  /// Counts a call that begins, and adds the metadata that the call lacks. Returns the call's
  /// shard. Returns nullopt, and adds and counts nothing, if the metadata name no shard of the
  /// group or contain a value that the server will refuse.
  std::optional<ShardId> Begin(std::multimap<std::string, std::string>& metadata);
  /// A call has ended with `status`: counts the call if it was a misroute. `shard` is the shard
  /// that Begin returned.
  void End(ShardId shard, const grpc::Status& status);
  /// Detaches the store before it is destroyed. Calls are still counted, but get no term.
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

std::unique_ptr<grpc::experimental::ClientInterceptorFactoryInterface> InterceptorFactoryOf(
    std::shared_ptr<InterceptedCalls> calls);

}  // namespace baton::routing
