// SidecarService: the streams of an Attachment, over gRPC.
//
// A service is made for each connection of the unix socket, so that a stream's other end is known
// for certain: what gRPC says of a peer could name a connection that is gone. It never blocks; a
// stream has at most one write under way, and what waits for it lies in the Attachment.
#pragma once

#include <memory>

#include <grpcpp/grpcpp.h>

#include "baton/v1/sidecar.grpc.pb.h"
#include "sidecar/attachment.h"
#include "sidecar/peer_process.h"

namespace baton::sidecar {

// Raw messages: gRPC's own parser can't say that a message is malformed.
class Service final
    : public v1::SidecarService::WithRawCallbackMethod_Attach<v1::SidecarService::Service> {
 public:
  /// `attachment` outlives the server that it is registered with. `peer`: null where its death
  /// can't be proven.
  Service(std::shared_ptr<Attachment> attachment, std::shared_ptr<const PeerProcess> peer)
      : attachment_(std::move(attachment)), peer_(std::move(peer)) {}

  grpc::ServerBidiReactor<grpc::ByteBuffer, grpc::ByteBuffer>* Attach(
      grpc::CallbackServerContext* context) override;

 private:
  const std::shared_ptr<Attachment> attachment_;
  const std::shared_ptr<const PeerProcess> peer_;
};

}  // namespace baton::sidecar
