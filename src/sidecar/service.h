// SidecarService: an Attachment's streams over gRPC.
//
// Each connection has a service of its own, so the user of a stream is known for certain. On a unix
// socket the process is known, too, if the kernel can name it. gRPC's own name for a peer is not
// enough, because that name may belong to a connection that is closed. The client's certificate is
// known when a stream begins.
//
// The service never blocks. A stream has at most one write in flight; all other messages wait in
// the Attachment.
#pragma once

#include <functional>
#include <memory>
#include <utility>

#include <grpcpp/grpcpp.h>

#include "access/access.h"
#include "baton/v1/sidecar.grpc.pb.h"
#include "sidecar/attachment.h"
#include "sidecar/complaints.h"
#include "sidecar/peer_process.h"

namespace baton::sidecar {

// Raw messages, because gRPC's own parser can't report a malformed message.
class Service final
    : public v1::SidecarService::WithRawCallbackMethod_Attach<v1::SidecarService::Service> {
 public:
  /// The other end of the connection.
  struct Peer {
    std::shared_ptr<const PeerProcess> process;  ///< null: its death can't be proven
    access::Caller caller;                       ///< without a certificate, which Attach adds
    /// Counts and logs callers that lack the role kLead, once for each stream. Null: the connection
    /// is counted already, so its streams are not.
    std::shared_ptr<Complaints> complaints;
    /// Called for each stream whose caller has the role kLead, before the caller attaches. May be
    /// empty. REQUIRES: any thread may call it, also several times; it doesn't wait.
    std::function<void()> may_attach;
  };

  /// A caller may attach if it has the role kLead when its first message arrives. A token gives no
  /// role here. Other callers get PERMISSION_DENIED, or UNAVAILABLE if the user or its groups are
  /// not known yet. A stream that breaks the rules of sidecar.proto ends with INVALID_ARGUMENT. If
  /// the Attachment refuses, the status depends on Refusal::Kind: INVALID_ARGUMENT (kMalformed),
  /// NOT_FOUND (kOtherGroup), ALREADY_EXISTS (kTaken), UNAVAILABLE (kUnavailable),
  /// RESOURCE_EXHAUSTED (kExhausted). A stream that the client closes ends with OK. REQUIRES: this
  /// service outlives the server that it is registered with; `attachment` and `access` are not
  /// null.
  Service(std::shared_ptr<Attachment> attachment, std::shared_ptr<const access::Access> access,
          Peer peer)
      : attachment_(std::move(attachment)), access_(std::move(access)), peer_(std::move(peer)) {}

  grpc::ServerBidiReactor<grpc::ByteBuffer, grpc::ByteBuffer>* Attach(
      grpc::CallbackServerContext* context) override;

 private:
  const std::shared_ptr<Attachment> attachment_;
  const std::shared_ptr<const access::Access> access_;
  const Peer peer_;
};

}  // namespace baton::sidecar
