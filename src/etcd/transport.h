// Transport: the interface to etcd, with unary calls and two kinds of streams over any number of
// endpoints.
//
// Production uses GrpcTransport (grpc/transport.h), the simulator a model of etcd. All code above
// this interface (keyspace, watch cursor, runtime) sees only the interface.
//
// Threads: any thread may call any method, and no method blocks. Callbacks run on the transport's
// own threads. A unary call's callback runs exactly once, never from inside the call that started
// it. No callback runs after the transport's destructor has returned. A callback must not block: it
// should post and return. (Exception: if a callback makes a call while the destructor waits, that
// call is answered at once, as unknown, from inside the call. A stream that it opens then gets no
// callback at all.)
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
  bool permanent = false;  ///< credentials, role or size: trying again will not help
  /// kUnknown, but the request certainly did not reach a store, and never will.
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

/// One lease's keepalive stream to one endpoint. Destroying it ends the stream. No callback begins
/// after the destructor has returned. A callback may destroy the stream; then that callback still
/// runs to its end.
class KeepAliveStream {
 public:
  virtual ~KeepAliveStream() = default;
  /// Sends one keepalive. Does nothing once the stream has ended. REQUIRES (GrpcTransport checks
  /// it): every earlier keepalive on this stream was answered, because answers carry no number.
  virtual void Send() = 0;
  /// The address of the stream's endpoint, for logs and for `avoid` of the next stream.
  virtual std::string endpoint() const = 0;
};
/// Both are called on the transport's threads, one after another.
struct KeepAliveHandler {
  /// A TTL of 0 means that the lease does not exist any more.
  std::function<void(etcdserverpb::LeaseKeepAliveResponse)> answered;
  std::function<void(CallStatus)> ended;  ///< called at most once; the stream is of no use then
};

/// One watch. Destroying it cancels the watch. For callbacks, see KeepAliveStream.
class WatchStream {
 public:
  virtual ~WatchStream() = default;
  /// Asks etcd for a progress answer (a response without events). etcd may not answer, and a
  /// request may get lost if several wait to be sent. Does nothing once the stream has ended.
  virtual void RequestProgress() = 0;
  virtual std::string endpoint() const = 0;
};
/// Both are called on the transport's threads, one after another.
struct WatchHandler {
  /// Called for each response, in order. Fragments of a response are joined before. If etcd cancels
  /// the watch, that response comes, too, and `ended` follows.
  std::function<void(const etcdserverpb::WatchResponse&)> response;
  std::function<void(CallStatus)> ended;  ///< called at most once; the stream is of no use then
};

class Transport {
 public:
  virtual ~Transport() = default;

  // Unary calls. If there is no answer within `deadline`, the outcome is unknown. Transactions can
  // be large, so callers share them with the transport.
  virtual void Range(etcdserverpb::RangeRequest request, std::chrono::milliseconds deadline,
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
  /// The status of the endpoint that unary calls go to now.
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
