// SidecarService: an Attachment's streams over gRPC.
//
// Each connection of the unix socket has a service of its own, so that the process of a stream is
// known for certain. gRPC's own name for a peer may refer to a connection that is gone. The service
// never blocks. A stream has at most one write in flight; everything else waits in the Attachment.
#pragma once

#include <memory>

#include <grpcpp/grpcpp.h>

#include "baton/v1/sidecar.grpc.pb.h"
#include "sidecar/attachment.h"
#include "sidecar/peer_process.h"

namespace baton::sidecar {

// Raw messages, because gRPC's own parser can't report a malformed message.
class Service final
    : public v1::SidecarService::WithRawCallbackMethod_Attach<v1::SidecarService::Service> {
 public:
  /// REQUIRES: the server that it is registered with ends before `attachment`. `peer`: null if its
  /// death can't be proven.
  Service(std::shared_ptr<Attachment> attachment, std::shared_ptr<const PeerProcess> peer)
      : attachment_(std::move(attachment)), peer_(std::move(peer)) {}

  grpc::ServerBidiReactor<grpc::ByteBuffer, grpc::ByteBuffer>* Attach(
      grpc::CallbackServerContext* context) override;

 private:
  const std::shared_ptr<Attachment> attachment_;
  const std::shared_ptr<const PeerProcess> peer_;
};

}  // namespace baton::sidecar
