// OwnerGuard: on the server of a sharded service, whether this node may serve a request. Opt-in:
// link the target baton_grpc.
//
//   grpc::Status Put(grpc::ServerContext* context, const PutRequest* request, ...) {
//     baton::Owned owned;
//     if (grpc::Status refused = guard.Check(*context, request->key(), &owned); !refused.ok()) {
//       return refused;
//     }
//     // write, fenced by owned.term; owned.request_id tells a retry from a new request
//   }
//
// What it does not promise: that the node still leads when the handler acts. Only the resource can
// tell, by the term. (gRPC's C++ interceptors can't refuse a call before its handler: hence the
// first line of each handler.)
#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include <grpcpp/support/status.h>

#include "baton/export.h"
#include "baton/node.h"
#include "baton/types.h"

namespace grpc {
class ServerContextBase;
}

namespace baton {

/// Who leads a shard, as told to a caller that went elsewhere.
struct LeaderHint {
  ShardId shard;
  NodeId leader;        ///< empty: nobody leads
  std::string address;  ///< where its requests go
  Term term;
  std::string group = {};  ///< empty: not said
};

/// FAILED_PRECONDITION with ErrorInfo{reason NOT_LEADER, domain baton, metadata shard, leaderNode,
/// leaderAddress, term, and group where it is said}.
BATON_EXPORT grpc::Status NotLeaderStatus(const LeaderHint& hint);
/// UNAVAILABLE with ErrorInfo{reason NO_LEADER, domain baton, metadata shard, and group where
/// it is not empty} and RetryInfo. `why` becomes part of the line, for example "nobody leads it at
/// the moment".
BATON_EXPORT grpc::Status NoLeaderStatus(ShardId shard, const std::string& why,
                                         std::chrono::milliseconds retry_after,
                                         const std::string& group = {});

/// What a request that may be served is for.
struct Owned {
  ShardId shard;
  Term term{};                ///< this node's: the fencing token of what the handler writes
  std::string request_id{};   ///< the same in each attempt of one call; empty: the caller gave none
  std::uint32_t attempt = 0;  ///< 1: the first; 0: the caller did not say
};

struct OwnerGuardOptions {
  /// Serve only once the listener's `acquired` has returned for the shard.
  bool activated = true;
  /// How soon callers are to ask again where nobody may serve at the moment.
  std::chrono::milliseconds retry_after{10};
  /// Who leads a shard that this node does not; nullopt: unknown. Must not block. Shard and group
  /// of the refusal are filled in; a hint that names this node itself is none. Empty: the node's
  /// own view, as it changes (some 5 ms later at most while the node's loop turns); none once the
  /// node has stopped.
  std::function<std::optional<LeaderHint>(ShardId)> hints = {};
};

/// Thread-safe; never blocks. The node must outlive it.
class BATON_EXPORT OwnerGuard {
 public:
  explicit OwnerGuard(Node& node, OwnerGuardOptions options = {});
  ~OwnerGuard();
  OwnerGuard(const OwnerGuard&) = delete;
  OwnerGuard& operator=(const OwnerGuard&) = delete;

  /// The handler's first line: OK and `owned` filled, or the status to return:
  ///   FAILED_PRECONDITION  NOT_LEADER, with the leader
  ///   UNAVAILABLE          nobody leads, or this node must not act at the moment (its session is
  ///                        suspended, the shard is not activated, the group was not read yet)
  ///   INVALID_ARGUMENT     the key is none (empty, above 4,096 bytes, or not for the group's hash
  ///                        function); or the request's metadata can't be read, or speaks of
  ///                        another group or shard. Absent metadata is fine.
  /// `owned` may be null.
  grpc::Status Check(const grpc::ServerContextBase& context, std::string_view key, Owned* owned);
  /// The same for a request that names its shard. INVALID_ARGUMENT: no such shard.
  grpc::Status Check(const grpc::ServerContextBase& context, ShardId shard, Owned* owned);

  /// How often NOT_LEADER was the answer. Lock-free.
  std::uint64_t misroutes() const noexcept;

 private:
  class Impl;
  std::shared_ptr<Impl> impl_;
};

}  // namespace baton
