// Transport: the interface to etcd, with unary calls and two kinds of streams over any number of
// endpoints.
//
// Production uses GrpcTransport (grpc/transport.h), and the simulator uses a model of etcd. All
// code above this interface (watch cursor, write executor, runtime) sees only the interface.
//
// Threads: any thread may call any method, and no method blocks. Callbacks run on the transport's
// own threads. A callback must not block or throw: it should post and return. A unary call's
// callback runs exactly once, never from inside the call that started it. There is one exception:
// while the transport's destructor waits for a callback, this callback may still make calls. Such a
// unary call is answered from inside the call, as unknown. A stream that is opened then gets no
// callback at all. No callback runs after the destructor has returned. Streams may outlive the
// transport.
#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>

#include "base/writes.h"
#include "etcd/etcd.pb.h"

namespace baton::etcd {

/// The outcome of a call.
struct CallStatus {
  /// kDone: etcd answered. kRefused: the request was definitely not applied, and never will be.
  /// Examples are an invalid argument and a compacted revision. kUnknown: there is no definite
  /// answer, and a write may still be applied later.
  Outcome outcome = Outcome::kUnknown;
  int code = 0;         ///< gRPC status code
  std::string message;  ///< for logs; empty if kDone
  /// The request was refused because it has too many operations: send smaller transactions.
  bool too_many_operations = false;
  /// The request was refused because it has too many bytes: send smaller transactions.
  bool too_large = false;
  /// kRefused, and the same request would be refused every time: because of the credentials, the
  /// role, its size, or because etcd can't take such a request. False if too_many_operations.
  bool permanent = false;
  /// kUnknown, because etcd did not refuse the request. But the request certainly reached no store,
  /// and never will.
  bool never_sent = false;
  bool ok() const { return outcome == Outcome::kDone; }
};

template <typename Response>
struct Reply {
  CallStatus status;
  Response response;  ///< empty unless status.ok()
};
template <typename Response>
using ReplyHandler = std::function<void(Reply<Response>)>;

/// One lease's keepalive stream to one endpoint. The destructor ends the stream, and waits for a
/// callback that runs on another thread; no callback begins later. REQUIRES (not checked): that
/// callback needs no lock that the destroying thread holds. A callback may destroy its own stream,
/// and then runs to its end.
class KeepAliveStream {
 public:
  virtual ~KeepAliveStream() = default;
  /// Sends one keepalive. Does nothing once the stream or the transport has ended. REQUIRES
  /// (GrpcTransport checks it): every earlier keepalive on this stream was answered, because
  /// answers carry no number.
  virtual void Send() = 0;
  /// The address of the stream's endpoint, for logs and for the `avoid` of the next stream.
  virtual std::string endpoint() const = 0;
};
/// Called on the transport's threads, never two calls at once. REQUIRES: both are set.
struct KeepAliveHandler {
  /// Called for each answer, in order. A TTL of 0: the lease does not exist any more.
  std::function<void(etcdserverpb::LeaseKeepAliveResponse)> answered;
  std::function<void(CallStatus)> ended;  ///< called at most once; the stream is of no use then
};

/// One watch. The destructor cancels the watch. For callbacks, see KeepAliveStream.
class WatchStream {
 public:
  virtual ~WatchStream() = default;
  /// Asks etcd for a progress answer (a response without events). etcd may not answer, and a
  /// request may get lost if several wait to be sent. Does nothing once the stream has ended.
  virtual void RequestProgress() = 0;
  virtual std::string endpoint() const = 0;  ///< as that of KeepAliveStream
};
/// Called on the transport's threads, never two calls at once. REQUIRES: both are set.
struct WatchHandler {
  /// Called for each response, in order. The transport has joined the fragments of a response. If
  /// etcd cancels the watch, that response comes, too, and `ended` follows.
  std::function<void(const etcdserverpb::WatchResponse&)> response;
  std::function<void(CallStatus)> ended;  ///< called at most once; the stream is of no use then
};

class Transport {
 public:
  virtual ~Transport() = default;

  // Unary calls. If there is no answer within `deadline`, counted from the call, the outcome is
  // unknown. A call is sent even if `deadline` is 0 or less. Transactions can be large, so callers
  // share them with the transport. REQUIRES (not checked): nobody changes a transaction before its
  // handler is called.
  void Range(etcdserverpb::RangeRequest request, std::chrono::milliseconds deadline,
             ReplyHandler<etcdserverpb::RangeResponse> handler) {
    RangeAvoiding({}, std::move(request), deadline, std::move(handler));
  }
  /// Like Range, but begins at another endpoint than `avoid` (an address; empty: no endpoint), if
  /// there is one.
  virtual void RangeAvoiding(const std::string& avoid, etcdserverpb::RangeRequest request,
                             std::chrono::milliseconds deadline,
                             ReplyHandler<etcdserverpb::RangeResponse> handler) = 0;
  virtual void Txn(std::shared_ptr<const etcdserverpb::TxnRequest> request,
                   std::chrono::milliseconds deadline,
                   ReplyHandler<etcdserverpb::TxnResponse> handler) = 0;
  /// Like Txn, but sent to another endpoint than the one that Txn would use now, if there is one.
  virtual void TxnElsewhere(std::shared_ptr<const etcdserverpb::TxnRequest> request,
                            std::chrono::milliseconds deadline,
                            ReplyHandler<etcdserverpb::TxnResponse> handler) = 0;
  virtual void LeaseGrant(etcdserverpb::LeaseGrantRequest request,
                          std::chrono::milliseconds deadline,
                          ReplyHandler<etcdserverpb::LeaseGrantResponse> handler) = 0;
  virtual void LeaseRevoke(etcdserverpb::LeaseRevokeRequest request,
                           std::chrono::milliseconds deadline,
                           ReplyHandler<etcdserverpb::LeaseRevokeResponse> handler) = 0;
  virtual void LeaseTimeToLive(etcdserverpb::LeaseTimeToLiveRequest request,
                               std::chrono::milliseconds deadline,
                               ReplyHandler<etcdserverpb::LeaseTimeToLiveResponse> handler) = 0;
  /// Asks a member of etcd for its status: at the endpoint that unary calls go to now, or at
  /// another one if that one does not answer.
  virtual void MaintenanceStatus(std::chrono::milliseconds deadline,
                                 ReplyHandler<etcdserverpb::StatusResponse> handler) = 0;

  /// Opens a keepalive stream for `lease`, at another endpoint than `avoid` if there is one.
  /// `avoid`: an address; empty: no endpoint. Never fails at once: `ended` reports errors.
  virtual std::unique_ptr<KeepAliveStream> OpenKeepAlive(std::int64_t lease,
                                                         const std::string& avoid,
                                                         KeepAliveHandler handler) = 0;
  /// Opens a watch as `request` says, except that the transport sets the watch id. Uses another
  /// endpoint than `avoid` if there is one. Never fails at once: `ended` reports errors.
  virtual std::unique_ptr<WatchStream> OpenWatch(const etcdserverpb::WatchCreateRequest& request,
                                                 const std::string& avoid,
                                                 WatchHandler handler) = 0;
};

}  // namespace baton::etcd
