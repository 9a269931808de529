// SidecarService: an Attachment's streams over gRPC.
//
// Each connection has a service of its own, so that the user, and on a unix socket the process, of
// a stream is known for certain. gRPC's own name for a peer may refer to a connection that is gone.
// The client's certificate is known once a stream begins.
// The service never blocks. A stream has at most one write in flight; everything else waits in the
// Attachment.
#pragma once

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
  /// Who is at the other end of the connection.
  struct Peer {
    std::shared_ptr<const PeerProcess> process;  ///< null if its death can't be proven
    access::Caller caller;                       ///< without its certificate
    std::shared_ptr<Complaints> complaints;      ///< null: somebody else logs who may not attach
  };

  /// Lets callers attach who have the role kLead when they say hello. REQUIRES: the server that it
  /// is registered with ends before `attachment`.
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
