// OwnCalls: what a router does for calls that its callers make by themselves, on channels with an
// interceptor of its: it adds metadata and counts, no more. See Router::InterceptorFactory.
//
// The channels and their calls may outlive the router, and then so does this. Thread-safe. It reads
// the store, not its table: whichever threads gRPC calls on, none keeps a table alive for it.
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
#include "routing/request_ids.h"
#include "routing/request_metadata.h"
#include "routing/route_store.h"

namespace baton::routing {

class OwnCalls {
 public:
  /// `store` until Leave.
  OwnCalls(std::string group, const RouteStore& store, std::shared_ptr<RequestIds> ids)
      : group_(std::move(group)), ids_(std::move(ids)), store_(&store) {}
  OwnCalls(const OwnCalls&) = delete;
  OwnCalls& operator=(const OwnCalls&) = delete;

  /// A call begins: counts it, and adds what its metadata don't say. nullopt: they name no shard of
  /// the group, or something that the server will refuse; then nothing is added or counted.
  std::optional<ShardId> Begin(std::multimap<std::string, std::string>& metadata);
  /// The call that began so has its answer.
  void End(ShardId shard, const grpc::Status& status);
  /// The store is about to go. From now on no term is known.
  void Leave();

  std::uint64_t calls() const { return calls_.load(std::memory_order_relaxed); }
  std::uint64_t misroutes() const { return misroutes_.load(std::memory_order_relaxed); }

 private:
  std::optional<Term> FindTerm(ShardId shard) const;

  const std::string group_;
  const std::shared_ptr<RequestIds> ids_;
  std::atomic<std::uint64_t> calls_{0}, misroutes_{0};
  mutable std::mutex mutex_;
  const RouteStore* store_;  // null: the router is gone; guarded by mutex_
};

std::unique_ptr<grpc::experimental::ClientInterceptorFactoryInterface> InterceptorFactoryOf(
    std::shared_ptr<OwnCalls> calls);

}  // namespace baton::routing
