// Router: finds the leaders of a group's shards for callers of the service, and calls them. Opt-in:
// needs gRPC; find_package(baton COMPONENTS grpc), link baton::grpc.
//
//   auto router = baton::Router::Start({.group = "orders", .endpoints = {"10.0.0.7:7400"}});
//   if (!router) return Fail(router.error().message);  // the message says what to do
//   ...
//   kv::PutResponse response;
//   const grpc::Status status = (*router)->Call(key, &kv::Kv::Stub::Put, request, &response,
//                                               {.deadline = std::chrono::seconds(2)});
//
// A router follows the routes of one node or relay at a time, never etcd. If that server goes away
// or falls silent, the router switches to another endpoint, after a random pause: up to 50 ms at
// first, up to 5 s later. A route may be out of date when it is read, so servers check each request
// with OwnerGuard (baton/owner_guard.h) and resources check the term (baton/fencing.h).
//
// A router runs one thread and logs nothing; Age().problem says what is wrong.
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
  std::string group;  ///< REQUIRED: the group's name
  /// REQUIRED: 1 to 64 addresses of nodes or relays that serve baton.v1.RoutingService: each batond
  /// does, and each program that calls RegisterRoutingService. An address is host:port, [::1]:port,
  /// or a target of gRPC's (unix:PATH, dns:NAME). The router tries them in random order.
  std::vector<std::string> endpoints;
  /// For the connections to the endpoints and to the leaders; null: insecure.
  std::shared_ptr<grpc::ChannelCredentials> credentials = nullptr;
  /// Each request id that the router makes up begins with it; a random part follows. At most 64
  /// visible ASCII characters; may be empty.
  std::string client = {};
  /// If the followed server is silent this long, the router switches to another endpoint. It also
  /// switches if there are other endpoints and the server has said for this long that its routes
  /// are stale. At least 10 ms; servers send something every 2 s, so use more than that.
  std::chrono::milliseconds silence{6000};
};

struct CallOptions {
  /// Of the whole call, with all its pauses and attempts: above 0; at most a year counts.
  std::chrono::milliseconds deadline{5000};
  /// Of one attempt: 0 or more; 0: whatever is left of `deadline`.
  std::chrono::milliseconds attempt{0};
  /// How many redirects (NOT_LEADER with a newer leader) a call follows in a row before it pauses:
  /// 0 or more.
  int max_hops = 5;
  /// Lets the server recognise a repeated request: at most 128 visible ASCII characters, the same
  /// in all attempts. Empty: the router makes up a unique one for each call.
  std::string request_id = {};
  /// Whether to repeat an attempt that may have taken effect. That is one whose connection broke
  /// (UNAVAILABLE without NO_LEADER), that the server cancelled (CANCELLED, for example because it
  /// shuts down), whose time was over, or that a resource refused with STALE_TERM. If true, the
  /// server must recognise a request id that it has served already, and the router also ends an
  /// attempt 100 ms after it heard that the shard has a newer leader.
  bool retry_unknown = true;
};

/// A shard, or a key that belongs to one. A key is not copied: it must live until the call returns.
class CallTarget {
 public:
  CallTarget(ShardId shard) : shard_(shard) {}       // NOLINT(google-explicit-constructor)
  CallTarget(std::string_view key) : key_(key) {}    // NOLINT(google-explicit-constructor)
  CallTarget(const std::string& key) : key_(key) {}  // NOLINT(google-explicit-constructor)
  CallTarget(const char* key) : key_(key) {}         // NOLINT(google-explicit-constructor)

  const std::optional<ShardId>& shard() const { return shard_; }
  std::string_view key() const { return key_; }  ///< empty if there is a shard

 private:
  std::optional<ShardId> shard_;
  std::string_view key_;
};

/// Thread-safe, except the destructor. A program may have several routers.
class BATON_EXPORT Router {
 public:
  /// Begins to follow the group's routes. Returns at once, before anything was read.
  /// kInvalidArgument: an option is invalid (the message names it).
  static Result<std::unique_ptr<Router>> Start(RouterOptions options);
  /// Calls Stop. REQUIRES: no method runs any more, and none is called later.
  ~Router();
  Router(const Router&) = delete;
  Router& operator=(const Router&) = delete;

  /// Waits until the router has read all routes once; after that it stays ready. With 0 it only
  /// asks. Errors:
  ///   kTimedOut            not by then; the message says what was wrong with the last endpoint
  ///   kFailedPrecondition  every endpoint serves another group, or this group with another shard
  ///                        count or hash function than the routes that were read before
  ///   kUnavailable         the router was stopped
  Status WaitReady(std::chrono::milliseconds timeout);

  /// The shard of a key, by the group's shard count and hash function. Errors:
  ///   kUnavailable      no routes were read yet
  ///   kInvalidArgument  the key is empty, above 4,096 bytes, or not one for the hash function
  Result<ShardId> ShardFor(std::string_view key) const;

  /// The shard's route, at most about 10 ms behind the last message of the followed server. Its
  /// state is kLeaderless if the shard has no leader or does not exist, or no routes were read yet.
  ///
  /// Takes nanoseconds and no lock, with two exceptions: a thread's first read may wait for a lock
  /// and allocates memory; and the first read after a change tries a lock (at most 100 times a
  /// second), and returns the earlier route if the lock is taken. Each thread that reads keeps the
  /// table it read last in memory (8 bytes a shard; 16 if terms lie very far apart) until it reads
  /// again, ends, or the router is destroyed.
  Route Owner(ShardId shard) const noexcept;
  /// The same for a key; nullopt if ShardFor would return an error.
  std::optional<Route> Owner(std::string_view key) const noexcept;

  /// How current the routes are, and what is wrong if they are not. Takes a short lock.
  RoutesAge Age() const;
  /// What the router has done so far. Lock-free.
  RouterCounters counters() const;

  /// Calls the leader of a shard or key. `method` is a unary method of a generated stub, for
  /// example &kv::Kv::Stub::Put. Blocks the calling thread until there is an answer or `deadline`
  /// has passed, so don't call it on gRPC's callback threads.
  ///
  /// The call goes to the leader that the routes name. If the shard has no leader, or the leader
  /// has no service address, the call waits for another route.
  ///
  /// If a server refuses with NOT_LEADER, and it or the routes name a leader with a newer term, the
  /// call goes there at once, up to max_hops times in a row.
  ///
  /// After any other refusal, or if the leader can't be reached, the call pauses and tries again. A
  /// pause takes 5 ms at first and 500 ms at most, with jitter, or as long as RetryInfo says. A
  /// changed route ends it.
  ///
  /// Each attempt carries the metadata baton-group, baton-shard, baton-term (of the leadership it
  /// goes to), baton-request-id (the same in all attempts) and baton-attempt (1, 2, ...).
  ///
  /// Statuses that the router makes:
  ///   INVALID_ARGUMENT   the key, the shard or an option is invalid; nothing was sent
  ///   UNAVAILABLE        the deadline passed or the router was stopped, and nothing took effect.
  ///                      Its details say NO_LEADER, with group, shard and RetryInfo. If it has no
  ///                      details, no routes were read yet (see WaitReady)
  ///   DEADLINE_EXCEEDED  the deadline passed, and an attempt may have taken effect
  ///   CANCELLED          the router was stopped, and an attempt may have taken effect
  ///   UNIMPLEMENTED      the server does not offer the method. The message names its address, then
  ///                      repeats the server's own: usually the service address is wrong
  /// Every other status is the application's, unchanged. So are NOT_LEADER and NO_LEADER if their
  /// details name another shard or group: a handler has passed on the answer of another service,
  /// and may have done something before.
  ///
  /// Without retry_unknown, the status of an attempt that may have taken effect is returned
  /// unchanged. Then UNAVAILABLE and DEADLINE_EXCEEDED may also come from the server or the
  /// connection, and UNAVAILABLE means that nothing took effect only if its details say NO_LEADER
  /// for this shard.
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

  /// Makes one attempt: a call on `channel` with `context`, both for this attempt only. The context
  /// has its deadline and metadata already. Returns the call's status. Runs on the thread that
  /// called CallWith, once for each attempt; what it throws passes through CallWith.
  using Attempt = std::function<grpc::Status(const std::shared_ptr<grpc::Channel>& channel,
                                             grpc::ClientContext& context)>;
  /// Call for any other form of call: `attempt` makes each attempt.
  grpc::Status CallWith(const CallTarget& target, const Attempt& attempt,
                        const CallOptions& options = {});

  /// Prepares a call that you make by yourself (a stream, the callback API, a completion queue) on
  /// a channel of your own: adds baton-group and baton-shard to its metadata, and returns where it
  /// should go, by the newest route. If the shard has no leader, `leader` and `address` are empty.
  /// Does not wait. Use it once for each context, before the call begins. Like Owner, it keeps a
  /// table in memory for the thread. Errors (nothing was added):
  ///   kUnavailable      no routes were read yet
  ///   kInvalidArgument  the key or the shard is invalid
  Result<Route> Mark(grpc::ClientContext& context, const CallTarget& target) const;

  /// Makes an interceptor for your own channels. It adds the rest of the metadata to calls that
  /// Mark has prepared, and counts them:
  ///
  ///   std::vector<std::unique_ptr<grpc::experimental::ClientInterceptorFactoryInterface>> all;
  ///   all.push_back(router->InterceptorFactory());
  ///   auto channel = grpc::experimental::CreateCustomChannelWithInterceptors(
  ///       address, credentials, grpc::ChannelArguments(), std::move(all));
  ///   ...
  ///   grpc::ClientContext context;
  ///   const auto route = router->Mark(context, key);  // route->address says which channel
  ///   kv::Kv::NewStub(channel)->async()->Put(&context, &request, &response, done);
  ///
  /// It adds what the call's metadata does not have yet: baton-term (the newest known when the call
  /// begins; nothing if no leader is known), baton-request-id and baton-attempt (1). If an attempt
  /// of yours repeats an earlier one, add these two yourself. gRPC's own retries are one attempt.
  ///
  /// It leaves calls alone, and does not count them, if their metadata names no shard, another
  /// group or (once routes were read) a shard that does not exist, or has malformed baton- values.
  /// RouterCounters::own_calls counts the others; own_misroutes counts those answered with
  /// NOT_LEADER for their shard. It changes no status and repeats nothing.
  ///
  /// gRPC calls it on any of its threads. It waits only for short locks, the longest of them while
  /// the routes are copied (at most 100 times a second), and keeps no table in memory. Make one for
  /// each channel. Don't use it on the channels that CallWith gives you: those calls have all
  /// metadata, and would be counted twice. Channels and calls may outlive the router; then it adds
  /// all but the term. gRPC calls its interceptors experimental.
  std::unique_ptr<grpc::experimental::ClientInterceptorFactoryInterface> InterceptorFactory() const;

  /// Stops following, ends the calls in flight with UNAVAILABLE or CANCELLED (see Call) and waits
  /// until they have returned. Later calls return UNAVAILABLE at once. The last routes can still be
  /// read. Idempotent. REQUIRES: not called from an attempt.
  void Stop();

 private:
  class Impl;
  explicit Router(std::unique_ptr<Impl> impl);
  std::unique_ptr<Impl> impl_;
};

}  // namespace baton
