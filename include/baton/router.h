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
// A router follows the routes of one node or relay at a time, never etcd. If this server goes away
// or falls silent, the router pauses, and then switches to another endpoint. The pause takes a
// random time of at most 50 ms. Each time that all endpoints have failed, one after another, this
// limit doubles, up to 5 s. An endpoint has failed if its stream of routes ended within 1 s, or if
// its routes were stale at the end of the stream. If the stream lasted longer, and its last routes
// were current or none came at all, the limit is 50 ms again. New credentials also set it back.
// Routes may be old when a caller reads them. So servers check requests with OwnerGuard
// (baton/owner_guard.h), and resources check the term (baton/fencing.h).
//
// Without group_credentials a router believes each server that answers at its endpoints. A false
// server decides where the calls go, for as long as the router follows it. When the router then
// follows a true server, this server sends a digest of its routes. If the digest does not fit the
// router's routes, the router at once reads all routes again, and drops the false ones. The digest
// comes when the true server has proven that its routes are current. A relay needs about 3 s for
// this, a node about TTL / 3 + 1 s. SECURITY.md says what else a false server can do.
//
// A router runs one thread and logs nothing; Age().problem says what is wrong. For Call and
// CallWith the router keeps at most 1,024 channels, one for each leader's address. It drops a
// channel about 5 minutes after the channel's last use. It also drops a channel whose calls get no
// answers. On these channels a response may have at most 4 MiB, gRPC's default.
//
// A router stores at most 1,000,000 pairs of node id and address. It takes 100,000 new pairs at
// once, and then one more each 10 ms. It refuses a server's message that exceeds one of these
// limits; Age().problem says so. If the first limit is reached, start another router.
#pragma once

#include <chrono>
#include <cstddef>
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

class GroupCredentials;

struct RouterOptions {
  std::string group;  ///< REQUIRED: the group's name, 1 to 128 visible ASCII characters
  /// REQUIRED: 1 to 64 addresses of nodes or relays that serve baton.v1.RoutingService. Each batond
  /// serves it, and so does each program that calls RegisterRoutingService. An address is
  /// host:port, [::1]:port, or a gRPC target that begins with unix:, unix-abstract:, dns:, ipv4: or
  /// ipv6:. Start refuses other URIs (xds:///name, xds:7400), and a host without a port. The host
  /// localhost means 127.0.0.1, also in leaders' addresses. The router tries the addresses in
  /// random order.
  std::vector<std::string> endpoints;
  /// Credentials for the connections to the endpoints and to the leaders. If `credentials` and
  /// `group_credentials` are both null, the connections have no TLS. See also SetCredentials.
  std::shared_ptr<grpc::ChannelCredentials> credentials = nullptr;
  /// TLS credentials that trust only the servers of this group (baton/credentials.h). If their
  /// files change, the router uses the new certificates by itself, within about 1 s. Null: not
  /// used. Give at most one of `credentials` and `group_credentials`.
  std::shared_ptr<const GroupCredentials> group_credentials = nullptr;
  /// The beginning of each request id that the router makes up; a random part follows. At most 64
  /// visible ASCII characters; may be empty.
  std::string client = {};
  /// If the followed server is silent this long, the router switches to another endpoint. If there
  /// is only one endpoint, the router opens the stream again. The time to connect counts, too. With
  /// several endpoints, the router also switches if the server has reported stale routes for this
  /// long. 10 ms to 366 days. Servers send something every 2 s, so use more than 2 s.
  std::chrono::milliseconds silence{6000};
  /// Whether a leader's address may be a unix socket of this host, unix:/path. If false, any
  /// address that is not host:port counts as no address.
  bool unix_leaders = false;
};

struct CallOptions {
  /// The time for the whole call, with all its pauses and attempts. Above 0; a time above a year
  /// counts as a year.
  std::chrono::milliseconds deadline{5000};
  /// The time for one attempt: 0 or more. `deadline` ends an attempt, too. With 0, an attempt may
  /// use all that is left of `deadline`. The time to connect to the leader counts for `deadline`,
  /// but not for `attempt`. If the leader's host does not answer, connecting may take seconds.
  std::chrono::milliseconds attempt{0};
  /// After NOT_LEADER, a call goes on to a newer leader at once, at most this many times in a row.
  /// After that the call pauses before it goes on. 0 or more. proto/baton/v1/errors.proto explains
  /// the refusals.
  int max_hops = 5;
  /// The id that all attempts of a call carry, so that the server recognises a repeated request. At
  /// most 128 visible ASCII characters. Empty: the router makes up a unique id for each call.
  std::string request_id = {};
  /// Whether to repeat an attempt that may have taken effect. An attempt may have taken effect in
  /// these cases:
  ///  - The connection broke: UNAVAILABLE without NO_LEADER.
  ///  - The server cancelled the attempt, for example during a shutdown: CANCELLED.
  ///  - The attempt's time was over: DEADLINE_EXCEEDED.
  ///  - A resource refused the attempt with STALE_TERM.
  /// If `retry_unknown` is true, the server must recognise a request id that it has served already.
  /// If the router hears of a newer leader while an attempt is in flight, it cancels the attempt
  /// 100 ms later. With either setting, the router tries again if it could not connect to the
  /// leader: nothing was sent then.
  bool retry_unknown = true;
};

/// A shard, or a key of a shard. A key is not copied: it must live until the call returns.
/// REQUIRES: a const char* is not null.
class CallTarget {
 public:
  CallTarget(ShardId shard) : shard_(shard) {}       // NOLINT(google-explicit-constructor)
  CallTarget(std::string_view key) : key_(key) {}    // NOLINT(google-explicit-constructor)
  CallTarget(const std::string& key) : key_(key) {}  // NOLINT(google-explicit-constructor)
  CallTarget(const char* key) : key_(key) {}         // NOLINT(google-explicit-constructor)
  CallTarget(std::nullptr_t) = delete;  ///< otherwise a literal 0 would be a null const char*

  const std::optional<ShardId>& shard() const { return shard_; }
  std::string_view key() const { return key_; }  ///< empty if there is a shard

 private:
  std::optional<ShardId> shard_;
  std::string_view key_;
};

/// Thread-safe, except the destructor. A program may have several routers. A child made by fork()
/// must neither use nor destroy a router of the parent. If the parent has used gRPC, the child must
/// start no router before it calls exec: gRPC in the child would harm gRPC in the parent.
class BATON_EXPORT Router {
 public:
  /// Begins to follow the group's routes. Returns at once, before anything was read. Throws
  /// std::system_error if the system gives no thread. Errors:
  ///   kInvalidArgument     an option is invalid (the message names it)
  ///   kFailedPrecondition  this process was forked from one that had started a router or a node
  static Result<std::unique_ptr<Router>> Start(RouterOptions options);
  /// Calls Stop. REQUIRES: no method runs any more, and none is called later.
  ~Router();
  Router(const Router&) = delete;
  Router& operator=(const Router&) = delete;

  /// Waits until the router is ready: it has read all routes. A ready router stays ready, except
  /// while it reads all routes again. It does so in two cases: (a) The followed server has another
  /// history of etcd, for example a restored backup. (b) The server's digest shows that an earlier
  /// server sent false routes. With a timeout of 0 or less, WaitReady does not wait. A timeout
  /// above a year counts as a year. After Stop, WaitReady returns ok if the router was ready at the
  /// end. Errors:
  ///   kTimedOut            the routes were not read within the timeout; the message says what was
  ///                        wrong with the last endpoint
  ///   kFailedPrecondition  no endpoint fits: each serves another group, or maps keys differently
  ///                        from the routes that were read before (shard count, hash function).
  ///                        Returned at once. The router still tries the endpoints again, so a
  ///                        later call may return ok. A ready router keeps its routes instead, and
  ///                        Age() says what is wrong
  ///   kUnavailable         the router was stopped, before or during the call, and was not ready
  Status WaitReady(std::chrono::milliseconds timeout);

  /// The shard of a key, by the group's shard count and hash function. Errors:
  ///   kUnavailable      no routes were read yet
  ///   kInvalidArgument  the key is empty, is longer than 4,096 bytes, or does not have the form
  ///                     that the group's hash function needs (baton/sharding.h)
  /// Like Owner, ShardFor keeps a table of routes in memory for the calling thread, and may wait
  /// for a short lock.
  Result<ShardId> ShardFor(std::string_view key) const;
  Result<ShardId> ShardFor(std::nullptr_t) const = delete;

  /// The shard's route, at most about 10 ms behind the last message of the followed server. While
  /// the router reads all routes again (see WaitReady), Owner returns the earlier routes. The state
  /// is kLeaderless if the shard has no leader, if it does not exist, or if no routes were read
  /// yet.
  ///
  /// Cost: nanoseconds and no lock, with these exceptions:
  ///   - A thread's first read allocates memory, and may wait for a short lock.
  ///   - A thread's first read after the router became ready may wait for a short lock, too.
  ///   - A thread's first read after a later change of the routes takes the lock if it is free. If
  ///     the lock is taken, the read returns the earlier route. The router gives Owner new routes
  ///     at most about 100 times a second.
  ///
  /// Memory: each thread that reads keeps a table of routes, 16 bytes a shard, until it reads a
  /// newer table or ends. The router's destructor frees all tables. A Route's texts live as long as
  /// the router.
  Route Owner(ShardId shard) const noexcept;
  /// The same for a key. nullopt if ShardFor would return an error.
  std::optional<Route> Owner(std::string_view key) const noexcept;
  /// A literal 0 would be a null const char*. Write ShardId{0}.
  Route Owner(std::nullptr_t) const = delete;

  /// The nodes that stand by for a shard, with their service addresses, in the order in which they
  /// would take over. Use it for reads that may be stale. The list is only a hint: a node in it may
  /// no longer be a standby, or no longer be ready. A standby has no term, and nothing fences it.
  /// So its answer may be arbitrarily old, and older than an earlier answer of another standby. The
  /// application on the standby must be willing to answer: an OwnerGuard there would refuse the
  /// request, and name the leader.
  ///
  /// Empty if no placement rule asks for standbys of the shard, or no node can be a standby. Also
  /// empty if the key or the shard is invalid, or no routes were read yet. A rule asks for at most
  /// 8 standbys. While nobody leads the shard, the list may have one more. The list is as current
  /// as Owner's route. Cost and memory are those of Owner. In addition, each call allocates the
  /// list, and if shards have standbys, the router keeps 4 bytes a shard and 8 bytes a standby.
  /// Tables with the same standbys share this memory.
  std::vector<RouteStandby> Standbys(const CallTarget& target) const;

  /// How current the routes are, and what is wrong if they are not. Waits only for a short lock.
  RoutesAge Age() const;
  /// Counts what the router has done so far. Lock-free.
  RouterCounters counters() const;

  /// Calls the leader of a shard or key. `method` is a unary method of a generated stub, for
  /// example &kv::Kv::Stub::Put. Blocks the calling thread until there is an answer, `deadline` has
  /// passed, or Stop is called. So don't call it on gRPC's callback threads.
  ///
  /// The call goes to the newest route's leader. If the shard has no leader, or the leader has no
  /// service address, the call waits for another route. After a change of etcd's history (see
  /// WaitReady), each shard has no leader until its route has been read again.
  ///
  /// If a server refuses with NOT_LEADER, the refusal or the routes may name a leader with a newer
  /// term. Then the call goes to this leader at once, up to max_hops times in a row. After that the
  /// call pauses as described below, and may again follow max_hops leaders.
  ///
  /// If only the refusal names this leader, and the routes don't yet, this leader gets one attempt.
  /// After the attempt the call ends, goes at once to yet another leader (as above), or pauses and
  /// then goes to the leader that the routes name.
  ///
  /// The call pauses after any other refusal, after it could not connect to the leader, and before
  /// it repeats an attempt (see retry_unknown). The backoff is 5 ms at first, and doubles with each
  /// pause, up to 500 ms. A pause takes a random time between half of the backoff and all of it.
  /// But if the attempt ended with UNAVAILABLE and a RetryInfo of r, the pause takes a random time
  /// from r to max(r, backoff) + r / 2. A change of the shard's route ends a pause early, and so
  /// does the deadline.
  ///
  /// Each attempt carries this metadata: baton-group, baton-shard, baton-term (the leader's term),
  /// baton-request-id (the same in all attempts) and baton-attempt (1, 2, ...).
  ///
  /// Unless the status is OK, `*response` is unspecified. All attempts write to the same object.
  ///
  /// Statuses that the router makes:
  ///   INVALID_ARGUMENT   an option, the key or the shard is invalid; nothing was sent. The key and
  ///                      the shard are checked only after routes were read
  ///   UNAVAILABLE        the deadline passed or the router was stopped, and nothing took effect.
  ///                      The details say NO_LEADER, with group, shard and RetryInfo (that of the
  ///                      last attempt, otherwise 500 ms). If no routes were read yet, there are no
  ///                      details. If also no endpoint fits (see WaitReady, kFailedPrecondition),
  ///                      the call does not wait for the deadline
  ///   DEADLINE_EXCEEDED  the deadline passed, and an attempt may have taken effect
  ///   CANCELLED          the router was stopped, and an attempt may have taken effect
  ///   UNIMPLEMENTED      the server at the leader's address answered UNIMPLEMENTED. The message
  ///                      names the address, then repeats the server's message. If the address is
  ///                      not the application's, correct the leader's service address
  /// Call returns every other status unchanged. The application or gRPC made this status, perhaps
  /// after the request took effect. One example is a DEADLINE_EXCEEDED that came before the
  /// attempt's time was over. Another is a NOT_LEADER or NO_LEADER that names another group or
  /// shard: the application passed it on from another service.
  ///
  /// Without retry_unknown, if an attempt may have taken effect, Call returns its status unchanged.
  /// With either setting, UNAVAILABLE with NO_LEADER for this shard says that nothing took effect.
  /// After any other UNAVAILABLE, after DEADLINE_EXCEEDED or CANCELLED, and after ABORTED with
  /// STALE_TERM, assume that the request may have taken effect.
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

  /// Makes one attempt: a call on `channel` with `context`. Returns the call's status. The context
  /// has its deadline and metadata already. Use channel and context for this attempt only. The
  /// function runs on the thread that called CallWith, once for each attempt. Its exceptions pass
  /// through CallWith. To give the call up, throw an exception: if the function returns CANCELLED
  /// instead, the router may try again.
  using Attempt = std::function<grpc::Status(const std::shared_ptr<grpc::Channel>& channel,
                                             grpc::ClientContext& context)>;
  /// Like Call, for calls that are not unary methods of a stub: `attempt` makes each attempt.
  /// REQUIRES: `attempt` is not empty; otherwise CallWith throws std::bad_function_call.
  grpc::Status CallWith(const CallTarget& target, const Attempt& attempt,
                        const CallOptions& options = {});

  /// Prepares a call that you make yourself (a stream, the callback API, a completion queue) on a
  /// channel of your own. Adds baton-group and baton-shard to the call's metadata. Returns the
  /// newest route, for the address to which the call should go. If the shard has no leader, the
  /// route's `leader` and `address` are empty. They may also be empty while the router reads all
  /// routes again. Mark waits for no server. It may wait for a short lock: at worst while the
  /// router's thread copies all routes, at most about 100 times a second. Call Mark once for each
  /// context, before the call begins. Like Owner, Mark keeps a table of routes in memory for the
  /// calling thread. Errors (nothing was added):
  ///   kUnavailable      no routes were read yet
  ///   kInvalidArgument  the key or the shard is invalid
  Result<Route> Mark(grpc::ClientContext& context, const CallTarget& target) const;

  /// Makes a factory of interceptors for one of your own channels; never null. An interceptor adds
  /// the other metadata to calls that Mark has prepared, and counts these calls:
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
  /// An interceptor adds each of these keys that the call's metadata lacks: baton-group,
  /// baton-request-id, baton-attempt (1), and baton-term. The term is the newest one that the
  /// router knows when the call begins. If the router knows no leader, no term is added. If a call
  /// of yours repeats an earlier attempt, add baton-request-id and baton-attempt yourself. gRPC's
  /// own retries are one attempt.
  ///
  /// An interceptor adds nothing to a call, and does not count it, in these cases:
  ///  - The call's metadata has no baton-shard, or names another group.
  ///  - The group has no such shard. (This is checked only after routes were read.)
  ///  - One of the five keys comes twice, or has a malformed value.
  /// RouterCounters::intercepted_calls counts all other calls. intercepted_misroutes counts those
  /// of them that were answered with NOT_LEADER for their shard. Interceptors change no status and
  /// repeat no call.
  ///
  /// gRPC calls interceptors on any of its threads. Like Mark, interceptors wait for short locks
  /// only. Unlike Mark, they keep no table in memory. Make one factory for each channel. On such a
  /// channel, don't use a context that CallWith gave you: the call would be counted twice. Channels
  /// and calls may outlive the router. After the router's end, interceptors add everything except
  /// the term. For gRPC, interceptors are an experimental API.
  std::unique_ptr<grpc::experimental::ClientInterceptorFactoryInterface> InterceptorFactory() const;

  /// Uses other credentials from now on, for example with a renewed certificate. Returns at once.
  /// New attempts go over new connections. Attempts in flight finish on the earlier connections,
  /// which are then closed. Within a second the router opens its stream of routes again, and misses
  /// no route. Calls go on meanwhile. To turn TLS off, give grpc::InsecureChannelCredentials().
  /// REQUIRES (checked; otherwise the program aborts): `credentials` is not null, and
  /// RouterOptions::group_credentials was not given.
  void SetCredentials(std::shared_ptr<grpc::ChannelCredentials> credentials);

  /// Stops following the routes. Ends the calls in flight with UNAVAILABLE or CANCELLED (see Call),
  /// and waits until these calls have returned. Stop ends an attempt by cancelling its context. So
  /// if an Attempt of yours waits for something else, Stop waits, too. Afterwards Call and CallWith
  /// send nothing, and return UNAVAILABLE or INVALID_ARGUMENT at once. Owner, Standbys, ShardFor
  /// and Mark still use the last routes. Idempotent; a second caller waits for the first. REQUIRES:
  /// not called from an attempt; otherwise Stop would wait for this attempt without end.
  void Stop();

 private:
  class Impl;
  explicit Router(std::unique_ptr<Impl> impl);
  std::unique_ptr<Impl> impl_;
};

}  // namespace baton
