// Router: finds the leaders of a group's shards for callers of the service, and calls them.
// Opt-in: link the target baton_grpc.
//
//   auto router = baton::Router::Start({.group = "orders", .endpoints = {"10.0.0.7:7400"}});
//   if (!router) { /* router.error().message says what to do */ }
//   ...
//   kv::PutResponse response;
//   grpc::Status status = (*router)->Call(key, &kv::Kv::Stub::Put, request, &response,
//                                         {.deadline = std::chrono::seconds(2)});
//
// A router follows one node or relay (WatchRoutes), another one when that is away or silent, and
// never etcd. Its routes may be old the moment they are read: servers check with OwnerGuard
// (baton/owner_guard.h), resources by the term.
//
// It has one thread of its own, and logs nothing: Age() tells what is wrong.
#pragma once

#include <chrono>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <type_traits>
#include <vector>

#include <grpcpp/channel.h>
#include <grpcpp/client_context.h>
#include <grpcpp/security/credentials.h>
#include <grpcpp/support/client_interceptor.h>
#include <grpcpp/support/status.h>

#include "baton/export.h"
#include "baton/result.h"
#include "baton/routes.h"
#include "baton/types.h"

namespace baton {

struct RouterOptions {
  std::string group;                   ///< REQUIRED
  std::vector<std::string> endpoints;  ///< REQUIRED: gRPC addresses of nodes or relays, at most 64
  /// For whom it follows and for the leaders; null: insecure.
  std::shared_ptr<grpc::ChannelCredentials> credentials = nullptr;
  /// Begins the ids of this process's requests, beside a random part; visible ASCII, at most 64.
  std::string client = {};
  /// Whoever is followed and says nothing for so long is left; they speak every 2 s. So is, where
  /// there is another endpoint, who has said for so long that its routes are stale. At least 10 ms.
  std::chrono::milliseconds silence{6000};
};

struct CallOptions {
  std::chrono::milliseconds deadline{5000};  ///< of the whole call, waits and attempts; above 0
  std::chrono::milliseconds attempt{0};      ///< of one attempt; 0: what is left of the deadline
  int max_hops = 5;             ///< redirects in a row that are followed without a wait; 0 or more
  std::string request_id = {};  ///< visible ASCII, at most 128; empty: made up
  /// Attempts that may have taken effect (the connection broke, the server cancelled it, as one
  /// that shuts down does, or an attempt's time was over) are made again. The server must then
  /// recognise a request id that it has served.
  bool retry_unknown = true;
};

/// What a call is for.
class CallTarget {
 public:
  CallTarget(ShardId shard) : shard_(shard) {}       // NOLINT(google-explicit-constructor)
  CallTarget(std::string_view key) : key_(key) {}    // NOLINT(google-explicit-constructor)
  CallTarget(const std::string& key) : key_(key) {}  // NOLINT(google-explicit-constructor)
  CallTarget(const char* key) : key_(key) {}         // NOLINT(google-explicit-constructor)

  const std::optional<ShardId>& shard() const { return shard_; }
  std::string_view key() const { return key_; }  ///< where there is no shard

 private:
  std::optional<ShardId> shard_;
  std::string_view key_;
};

/// Thread-safe, but for the destructor. Several routers may live in one program.
class BATON_EXPORT Router {
 public:
  /// Begins to follow; returns at once. kInvalidArgument: an option is off (the message names it).
  static Result<std::unique_ptr<Router>> Start(RouterOptions options);
  /// As Stop. REQUIRES: nobody calls a method of it any more, or will.
  ~Router();
  Router(const Router&) = delete;
  Router& operator=(const Router&) = delete;

  /// Waits until all routes were read once. kTimedOut: not by then; the message says why the last
  /// endpoint was left. kFailedPrecondition: every endpoint serves another group, or maps keys
  /// another way than routes held from before. kUnavailable: stopped.
  Status WaitReady(std::chrono::milliseconds timeout);

  /// The key's shard by the group's mapping. kUnavailable: no routes were read yet.
  /// kInvalidArgument: an empty key, one above 4,096 bytes, or one that the group's hash function
  /// does not take.
  Result<ShardId> ShardFor(std::string_view key) const;

  /// The shard's route; leaderless where it is unknown or no such shard exists. Nanoseconds. Only a
  /// thread's first read may wait for a lock, and allocates. The first read after a change (at most
  /// 100 a second) tries a lock to copy one pointer, and goes on with the routes of before where it
  /// is taken. Each thread that has read keeps the routes that it read last alive (8 bytes a shard,
  /// 16 where terms lie far apart) until it reads again, ends, or the router is destroyed.
  Route Owner(ShardId shard) const noexcept;
  /// The same for a key; nullopt where ShardFor would be an error.
  std::optional<Route> Owner(std::string_view key) const noexcept;

  RoutesAge Age() const;
  RouterCounters counters() const;

  /// Makes a unary call at the leader of a shard or key: `method` is a generated stub's, for
  /// example &kv::Kv::Stub::Put. Blocks until there is an answer or the deadline has passed.
  ///
  /// Where the server says NOT_LEADER the hint is followed towards a higher term; where nobody
  /// leads the call waits for a leader; where a leader can't be reached it is tried again, after a
  /// jittered 5 to 500 ms or at once when another one is known. Each attempt carries the metadata
  /// baton-group, baton-shard, baton-term, baton-request-id (the same in all attempts) and
  /// baton-attempt (1, 2, ...). Answers:
  ///   - the application's, as they are; also a NOT_LEADER or NO_LEADER whose metadata names
  ///     another shard or group than this call's, as a handler's own call to another service may
  ///     get. STALE_TERM is taken for an attempt that may have taken effect, and so are
  ///     CANCELLED and UNAVAILABLE of any reason but NO_LEADER (RetryInfo is only a pause then);
  ///   - INVALID_ARGUMENT: the key, the shard or an option is off; nothing was sent;
  ///   - UNAVAILABLE: given up by the deadline, or stopped, and nothing took effect. Once routes
  ///   were
  ///     read it carries NO_LEADER with the group, the shard and RetryInfo (see errors.proto);
  ///   - DEADLINE_EXCEEDED: given up by the deadline, and an attempt may have taken effect;
  ///   - CANCELLED: stopped, and an attempt may have taken effect;
  ///   - without `retry_unknown`, the status of an attempt that may have taken effect, as it is.
  template <typename Stub, typename Request, typename Response>
  grpc::Status Call(const CallTarget& target,
                    grpc::Status (Stub::*method)(grpc::ClientContext*, const Request&, Response*),
                    const std::type_identity_t<Request>& request,
                    std::type_identity_t<Response>* response, const CallOptions& options = {}) {
    return CallWith(
        target,
        [&](const std::shared_ptr<grpc::Channel>& channel, grpc::ClientContext& context) {
          Stub stub(channel);
          return (stub.*method)(&context, request, response);
        },
        options);
  }

  /// One attempt: makes a call on the channel with the context, both good for this attempt only.
  using Attempt = std::function<grpc::Status(const std::shared_ptr<grpc::Channel>& channel,
                                             grpc::ClientContext& context)>;
  /// The same for a call of any other form, made by `attempt`.
  grpc::Status CallWith(const CallTarget& target, const Attempt& attempt,
                        const CallOptions& options = {});

  /// For calls that you make by yourself (streams, the callback API, completion queues), on
  /// channels of your own: names their shard in the metadata baton-group and baton-shard, and
  /// answers where its requests go now, as Call would see it. Where nobody leads, leader and
  /// address are empty. Nothing is waited for; the thread keeps routes alive as with Owner. Once
  /// for each context, before its call is begun. kUnavailable: no routes were read yet.
  /// kInvalidArgument: the key or the shard is off. Then nothing was added.
  Result<Route> Mark(grpc::ClientContext& context, const CallTarget& target) const;

  /// What adds the rest to calls that were marked, and counts them, for the channels that they are
  /// made on:
  ///
  ///   std::vector<std::unique_ptr<grpc::experimental::ClientInterceptorFactoryInterface>> each;
  ///   each.push_back(router->InterceptorFactory());
  ///   auto channel = grpc::experimental::CreateCustomChannelWithInterceptors(
  ///       address, credentials, grpc::ChannelArguments(), std::move(each));
  ///   ...
  ///   grpc::ClientContext context;
  ///   auto route = router->Mark(context, key);  // route.value().address says which channel
  ///   kv::Kv::NewStub(channel)->async()->Put(&context, &request, &response, done);
  ///
  /// A call gets what its metadata don't say: baton-term (the newest known when it is begun; absent
  /// where nobody is known to lead), baton-request-id and baton-attempt (1). So an attempt of yours
  /// that repeats another one says both by itself; retries that gRPC makes are the same attempt to
  /// it. RouterCounters::own_calls counts these calls, own_misroutes those that were answered with
  /// a NOT_LEADER of the group and their shard. Calls that name no shard, another group, a shard
  /// that there isn't (where routes are known), or whose baton- metadata the server's guard would
  /// refuse as unreadable are left as they are, and not counted.
  ///
  /// It changes no status and repeats nothing. Any thread of gRPC's may call it; it waits for locks
  /// alone, the longest of which is held while the routes are copied, at most 100 times a second,
  /// and keeps no routes alive there. Give each channel one of its own, and none to the attempts of
  /// CallWith, which say all by themselves and would be counted twice. Channels and calls may
  /// outlive the router: then all but the term is added. gRPC calls its interceptors experimental.
  std::unique_ptr<grpc::experimental::ClientInterceptorFactoryInterface> InterceptorFactory() const;

  /// Stops following, ends all calls at work (see Call) and waits for them; later calls end at
  /// once. The last routes can still be read. Idempotent. REQUIRES: not inside an attempt.
  void Stop();

 private:
  class Impl;
  explicit Router(std::unique_ptr<Impl> impl);
  std::unique_ptr<Impl> impl_;
};

}  // namespace baton
