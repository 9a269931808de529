// OwnerGuard: decides, in a server of a sharded service, whether this node may serve a request.
// Opt-in: needs gRPC; find_package(baton COMPONENTS grpc), link baton::grpc.
//
//   grpc::Status Put(grpc::ServerContext* context, const kv::PutRequest* request,
//                    kv::PutResponse*) override {
//     baton::Owned owned;
//     const grpc::Status refused = guard_.Check(*context, request->key(), &owned);
//     if (!refused.ok()) return refused;
//     return Write(*request, owned.term, owned.request_id);  // a retry has the same request id
//   }
//
// Each handler calls Check itself. After Check, the node may lose the shard before the handler
// writes. Only a resource that refuses older terms protects against such a late write
// (baton/fencing.h).
#pragma once

#include <chrono>
#include <cstddef>
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

/// The leader that a refusal names, so that the caller can go there.
struct LeaderHint {
  ShardId shard;
  NodeId leader;  ///< node id; empty: the shard has no leader (use NoLeaderStatus then)
  /// The address at which the leader takes requests. An address that is empty, has more than 512
  /// bytes, or is not visible ASCII counts as missing.
  std::string address;
  /// The term of the leader's leadership. A Router follows the hint only if this term is greater
  /// than the `baton-term` of its request.
  Term term;
  std::string group = {};  ///< empty: the refusal names no group
};

/// The refusal NOT_LEADER. The status is FAILED_PRECONDITION, with google.rpc.ErrorInfo in its
/// details: reason NOT_LEADER, domain baton, and metadata shard, leaderNode, leaderAddress, term
/// and group. An empty group is left out. See proto/baton/v1/errors.proto. Node id and group are
/// escaped, and cut after 128 bytes ("..." follows). If LeaderHint::address counts as missing,
/// leaderAddress is empty. Nothing checks that the address is host:port.
BATON_EXPORT grpc::Status NotLeaderStatus(const LeaderHint& hint);
/// The refusal NO_LEADER. The status is UNAVAILABLE, with RetryInfo of `retry_after`, and with
/// ErrorInfo: reason NO_LEADER, domain baton, and metadata shard and group. An empty group is left
/// out. `why` becomes part of the message, for example "nobody leads it at the moment". `why` is
/// escaped, and cut after 1,000 bytes. A `retry_after` below 0 counts as 0, one above a day as a
/// day.
BATON_EXPORT grpc::Status NoLeaderStatus(ShardId shard, const std::string& why,
                                         std::chrono::milliseconds retry_after,
                                         const std::string& group = {});

/// The facts about a request that may be served.
struct Owned {
  ShardId shard;
  Term term{};                ///< of this node's leadership: the fencing token for all writes
  std::string request_id{};   ///< the same in all attempts of one call; empty: the caller sent none
  std::uint32_t attempt = 0;  ///< 1, 2, ...; 0: the caller sent none
};

struct OwnerGuardOptions {
  /// Whether Check refuses a request with NO_LEADER while the shard is not activated (see
  /// Leadership::activated).
  bool activated = true;
  /// How long a caller that is refused with NO_LEADER should wait (RetryInfo). A time below 0
  /// counts as 0, one above a day as a day.
  std::chrono::milliseconds retry_after{10};
  /// Finds the leader of a shard for which Leads() is false. If the result is nullopt, names no
  /// leader, or names this node, Check refuses with NO_LEADER. Otherwise Check fills in the hint's
  /// shard and group, and refuses with NOT_LEADER. Handlers' threads call this function, several at
  /// once. So it must be thread-safe, and must not block. An exception passes through Check.
  ///
  /// Empty: the guard uses the node's own view. The view follows changes within about 5 ms. After
  /// the node has stopped or halted, the view names no leaders.
  std::function<std::optional<LeaderHint>(ShardId)> hints = {};
};

/// Thread-safe, except the destructor. Check waits for no other process. To accept a request, it
/// takes no lock. To refuse a request, it may wait while the node copies changed routes. This takes
/// microseconds, or longer if many routes changed at once.
class BATON_EXPORT OwnerGuard {
 public:
  /// Begins to follow the node's routes, and returns at once. Until the guard has the routes, it
  /// refuses with NO_LEADER. A ready node sends them within milliseconds. Any other node sends them
  /// once it has read its group, but never if it has stopped or halted. The node keeps some kB for
  /// each guard until the node stops or halts, even if the guard was destroyed. REQUIRES: the node
  /// outlives the guard; the guard outlives all calls of Check.
  explicit OwnerGuard(Node& node, OwnerGuardOptions options = {});
  ~OwnerGuard();
  OwnerGuard(const OwnerGuard&) = delete;
  OwnerGuard& operator=(const OwnerGuard&) = delete;

  /// Call Check first in a handler. OK: the request may be served, and Check has filled in `owned`,
  /// unless `owned` is null. After any other status `owned` is unchanged: return the status, and do
  /// nothing else. (`baton-...` is metadata of the request: see Router::Call.)
  ///   FAILED_PRECONDITION  NOT_LEADER: another node leads the shard. The details name the leader
  ///                        and its term. This term may be older than `baton-term`, because this
  ///                        node may know less than the caller
  ///   UNAVAILABLE          NO_LEADER, with RetryInfo, in one of these cases:
  ///                        - the node has not read its group yet (the details then name the shard
  ///                          of `baton-shard`, or 0);
  ///                        - no leader is known, or this process is a forked child;
  ///                        - this node leads, but its session is suspended;
  ///                        - this node leads, but it has sent the write that gives the shard away;
  ///                        - this node leads, but the shard is not activated (unless
  ///                          OwnerGuardOptions::activated is false);
  ///                        - this node leads, but `baton-term` is newer than its term, so another
  ///                          node may lead already
  ///   INVALID_ARGUMENT     in one of these cases:
  ///                        - the key is empty, is longer than 4,096 bytes, or does not have the
  ///                          form that the group's hash function needs (baton/sharding.h);
  ///                        - `baton-group` names another group, or `baton-shard` another shard;
  ///                        - one of `baton-group`, `baton-shard`, `baton-term`, `baton-request-id`
  ///                          and `baton-attempt` is malformed or comes twice.
  ///                        An empty key and malformed metadata get INVALID_ARGUMENT even before
  ///                        the node has read its group
  /// Check also accepts requests without this metadata, and requests with an older `baton-term`.
  ///
  /// While Listener::Releasing runs, Check still accepts requests. From the beginning of Releasing,
  /// your handlers must refuse new requests by themselves, with NoLeaderStatus: see
  /// examples/orders.
  grpc::Status Check(const grpc::ServerContextBase& context, std::string_view key, Owned* owned);
  /// The same for a request that names its shard. If there is no such shard, the status is
  /// INVALID_ARGUMENT. Until the node has read its group, the status is NO_LEADER for any shard
  /// number, and the details name that number.
  grpc::Status Check(const grpc::ServerContextBase& context, ShardId shard, Owned* owned);
  /// A literal 0 would be a null const char*. Write ShardId{0}.
  grpc::Status Check(const grpc::ServerContextBase& context, std::nullptr_t, Owned* owned) = delete;

  /// How many requests this guard has refused with NOT_LEADER. Lock-free.
  std::uint64_t misroutes() const noexcept;

 private:
  class Impl;
  std::shared_ptr<Impl> impl_;
};

}  // namespace baton
