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
// The handler itself calls Check, because interceptors of gRPC C++ can't refuse a call before its
// handler runs. The node may have lost the shard by the time the handler acts. Only a resource that
// refuses older terms protects against that (baton/fencing.h).
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
  /// Where the leader takes requests. It counts as missing if it is empty, has more than 512 bytes,
  /// or is not visible ASCII.
  std::string address;
  /// The term of that leadership. A caller follows the hint only if this term is greater than the
  /// term that the caller knew.
  Term term;
  std::string group = {};  ///< empty: the refusal names no group
};

/// The refusal NOT_LEADER: FAILED_PRECONDITION, with google.rpc.ErrorInfo in its details (reason
/// NOT_LEADER, domain baton; metadata shard, leaderNode, leaderAddress, term, and group unless it
/// is empty). See proto/baton/v1/errors.proto. Node id and group are escaped. If one of them has
/// more than 128 bytes, it is cut there, and "..." follows. leaderAddress is empty if
/// LeaderHint::address counts as missing. Nothing checks that the address is host:port.
BATON_EXPORT grpc::Status NotLeaderStatus(const LeaderHint& hint);
/// The refusal NO_LEADER: UNAVAILABLE, with ErrorInfo (reason NO_LEADER, domain baton; metadata
/// shard, and group unless it is empty) and RetryInfo of `retry_after`. `why` becomes part of the
/// message, for example "nobody leads it at the moment". `why` is escaped, and cut after 1,000
/// bytes. A `retry_after` below 0 counts as 0, one above a day as a day.
BATON_EXPORT grpc::Status NoLeaderStatus(ShardId shard, const std::string& why,
                                         std::chrono::milliseconds retry_after,
                                         const std::string& group = {});

/// A request that may be served, as far as Check knows it.
struct Owned {
  ShardId shard;
  Term term{};                ///< of this node's leadership: the fencing token for all writes
  std::string request_id{};   ///< the same in all attempts of one call; empty: the caller sent none
  std::uint32_t attempt = 0;  ///< 1, 2, ...; 0: the caller sent none
};

struct OwnerGuardOptions {
  /// Whether to refuse a shard (with NO_LEADER) until the listener's Acquired has returned for it.
  bool activated = true;
  /// How long a caller that is refused with NO_LEADER should wait (RetryInfo). A time below 0
  /// counts as 0, one above a day as a day.
  std::chrono::milliseconds retry_after{10};
  /// Finds the leader of a shard for which Leads() is false. Check fills in the hint's shard and
  /// group. Check refuses with NO_LEADER if the result is nullopt, names no leader, or names this
  /// node (its leadership may be suspended or about to end). Handlers' threads call this function,
  /// several at once, so it must be thread-safe and must not block. It should not throw; an
  /// exception passes through Check.
  ///
  /// Empty: the guard uses the node's own view. The view follows changes within about 5 ms. After
  /// the node has stopped or halted, the view names no leaders.
  std::function<std::optional<LeaderHint>(ShardId)> hints = {};
};

/// Thread-safe, except the destructor. Check waits for no other process. It takes no lock when it
/// accepts a request. When it refuses one, it may wait for a lock while the node copies changed
/// routes. That takes microseconds, or longer if many routes changed at once.
class BATON_EXPORT OwnerGuard {
 public:
  /// Begins to follow the node's routes, and returns at once. Until the node has read its group and
  /// given this guard the routes (milliseconds on a ready node), the guard refuses with NO_LEADER.
  /// A guard that is made after the node stopped or halted refuses all requests like this. The node
  /// keeps some kB for each guard until the node stops or halts, also after the guard was
  /// destroyed. REQUIRES: the node outlives the guard; the guard outlives all calls of Check.
  explicit OwnerGuard(Node& node, OwnerGuardOptions options = {});
  ~OwnerGuard();
  OwnerGuard(const OwnerGuard&) = delete;
  OwnerGuard& operator=(const OwnerGuard&) = delete;

  /// Call it first in a handler. OK: the request may be served, and Check has filled in `owned`,
  /// unless `owned` is null. After any other status `owned` is unchanged: do nothing else, and
  /// return the status:
  ///   FAILED_PRECONDITION  NOT_LEADER: another node leads the shard. The details name the leader
  ///                        and its term. The term in the details may be older than
  ///                        `baton-term`, because this node may know less than the caller (see
  ///                        LeaderHint)
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
  ///                        - one of `baton-group`, `baton-shard`, `baton-term`,
  ///                          `baton-request-id` and `baton-attempt` is malformed or comes twice.
  ///                        An empty key and malformed metadata get this even before the node
  ///                        has read its group
  /// A request without this metadata may be served. So may a request with an older `baton-term`.
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
