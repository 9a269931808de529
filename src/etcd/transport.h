// Transport: the interface to etcd. It has unary calls and two kinds of streams, and uses any
// number of endpoints.
//
// Production uses GrpcTransport (grpc/transport.h), and the simulator uses a model of etcd.
//
// Threads: any thread may call any method, and no method blocks. Callbacks run on the transport's
// own threads. A callback must not block or throw: it should post and return. A unary call's
// callback runs exactly once, and never inside the call that started it.
//
// The destructor waits for callbacks that run. Such a callback may still call the transport. A
// unary call then runs its callback inside the call, with kUnknown. A new stream then gets no
// callback. No callback runs after the destructor has returned. Streams may outlive the transport.
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
  /// kDone: etcd answered. kRefused: the request was definitely not applied, and never will be, for
  /// example because an argument was not valid. kUnknown: there is no definite answer. A write may
  /// have been applied, or may be applied later.
  Outcome outcome = Outcome::kUnknown;
  int code = 0;         ///< gRPC status code
  std::string message;  ///< for logs; empty if kDone
  /// kRefused, because the request has too many operations. Send smaller transactions.
  bool too_many_operations = false;
  /// kRefused, because the request has too many bytes. Send smaller transactions.
  bool too_large = false;
  /// kRefused, and etcd would refuse the same request every time. Reasons: the credentials, the
  /// role, the request's bytes, or a kind of request that etcd can't take. False if
  /// too_many_operations.
  bool permanent = false;
  /// kUnknown, but the request certainly reached no store, and never will.
  bool never_sent = false;
  bool ok() const { return outcome == Outcome::kDone; }
};

template <typename Response>
struct Reply {
  CallStatus status;
  Response response;  ///< empty if the call failed
};
template <typename Response>
using ReplyHandler = std::function<void(Reply<Response>)>;

/// One lease's keepalive stream to one endpoint. The destructor ends the stream. If a callback of
/// the stream runs on another thread, the destructor waits until the callback has returned. No
/// callback begins later. REQUIRES (not checked): no callback needs a lock that the destroying
/// thread holds. A callback may destroy its own stream; the callback then runs to its end.
class KeepAliveStream {
 public:
  virtual ~KeepAliveStream() = default;
  /// Sends one keepalive. Does nothing once the stream or the transport has ended. REQUIRES
  /// (GrpcTransport checks it): every earlier keepalive on this stream was answered.
  virtual void Send() = 0;
  /// The address of the stream's endpoint, for logs and for the `avoid` of the next stream.
  virtual std::string endpoint() const = 0;
};
/// The callbacks of a keepalive stream. The transport calls them on its threads, one at a time.
/// REQUIRES (not checked): both are set.
struct KeepAliveHandler {
  /// Called for each answer, in order. A TTL of 0 means that the lease no longer exists.
  std::function<void(etcdserverpb::LeaseKeepAliveResponse)> answered;
  std::function<void(CallStatus)> ended;  ///< called at most once; no callback follows
};

/// One watch. The destructor cancels the watch. For callbacks, the rules of KeepAliveStream hold.
class WatchStream {
 public:
  virtual ~WatchStream() = default;
  /// Asks etcd for a progress answer: a response without events. etcd does not always answer. A
  /// request may get lost while several wait to be sent. Does nothing once the stream has ended.
  virtual void RequestProgress() = 0;
  virtual std::string endpoint() const = 0;  ///< as that of KeepAliveStream
};
/// The callbacks of a watch. The transport calls them on its threads, one at a time. REQUIRES (not
/// checked): both are set.
struct WatchHandler {
  /// Called for each response, in order. The transport has joined the fragments of a response. If
  /// etcd cancels the watch, etcd's response comes here, and then `ended` is called.
  std::function<void(const etcdserverpb::WatchResponse&)> response;
  std::function<void(CallStatus)> ended;  ///< called at most once; no callback follows
};

class Transport {
 public:
  virtual ~Transport() = default;

  // Unary calls. `deadline` counts from the call. If there is no answer by then, the outcome is
  // kUnknown. A call is sent even if `deadline` is 0 or less. REQUIRES (not checked): nobody
  // changes a transaction before its handler is called.
  void Range(etcdserverpb::RangeRequest request, std::chrono::milliseconds deadline,
             ReplyHandler<etcdserverpb::RangeResponse> handler) {
    RangeAvoiding({}, std::move(request), deadline, std::move(handler));
  }
  /// Like Range, but first asks another endpoint than `avoid`, if there is another one. `avoid`: an
  /// endpoint's address; empty: avoids nothing.
  virtual void RangeAvoiding(const std::string& avoid, etcdserverpb::RangeRequest request,
                             std::chrono::milliseconds deadline,
                             ReplyHandler<etcdserverpb::RangeResponse> handler) = 0;
  virtual void Txn(std::shared_ptr<const etcdserverpb::TxnRequest> request,
                   std::chrono::milliseconds deadline,
                   ReplyHandler<etcdserverpb::TxnResponse> handler) = 0;
  /// Like Txn, but sends to another endpoint than Txn would use now, if there is another one.
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
  /// Asks a member of etcd for its status. First asks the endpoint that unary calls use now. If
  /// that endpoint does not answer, asks others.
  virtual void MaintenanceStatus(std::chrono::milliseconds deadline,
                                 ReplyHandler<etcdserverpb::StatusResponse> handler) = 0;

  /// Opens a keepalive stream for `lease`, at another endpoint than `avoid` if there is another
  /// one. `avoid` is as in RangeAvoiding. The result is never null: `ended` reports errors.
  virtual std::unique_ptr<KeepAliveStream> OpenKeepAlive(std::int64_t lease,
                                                         const std::string& avoid,
                                                         KeepAliveHandler handler) = 0;
  /// Opens a watch as `request` says, but the transport sets the watch id. `avoid` and the result
  /// are as in OpenKeepAlive.
  virtual std::unique_ptr<WatchStream> OpenWatch(const etcdserverpb::WatchCreateRequest& request,
                                                 const std::string& avoid,
                                                 WatchHandler handler) = 0;
};

}  // namespace baton::etcd
