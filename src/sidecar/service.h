// SidecarService: an Attachment's streams over gRPC.
//
// Each connection of the unix socket has a service of its own, so that the process of a stream is
// known for certain. gRPC's own name for a peer may refer to a connection that is gone. The service
// never blocks. A stream has at most one write in flight; everything else waits in the Attachment.
#pragma once

#include <atomic>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>

#include <grpcpp/grpcpp.h>

#include "access/access.h"
#include "baton/v1/sidecar.grpc.pb.h"
#include "sidecar/attachment.h"
#include "sidecar/peer_process.h"

namespace baton::sidecar {

/// Who may attach over TCP.
class PortGate {
 public:
  PortGate(std::shared_ptr<const access::Access> access, std::string host)
      : access_(std::move(access)), host_(std::move(host)) {}

  /// Until then nobody may.
  void SetPort(std::uint16_t port) { port_ = port; }
  /// nullopt: this caller may. Otherwise one line that says why not. Any thread.
  std::optional<std::string> Refusal(const std::string& peer) const;

 private:
  const std::shared_ptr<const access::Access> access_;
  const std::string host_;
  std::atomic<std::uint16_t> port_{0};
};

// Raw messages, because gRPC's own parser can't report a malformed message.
class Service final
    : public v1::SidecarService::WithRawCallbackMethod_Attach<v1::SidecarService::Service> {
 public:
  /// REQUIRES: the server that it is registered with ends before `attachment`. `peer`: null if its
  /// death can't be proven. `gate`: null if all who can connect may attach.
  Service(std::shared_ptr<Attachment> attachment, std::shared_ptr<const PeerProcess> peer,
          std::shared_ptr<const PortGate> gate = nullptr)
      : attachment_(std::move(attachment)), peer_(std::move(peer)), gate_(std::move(gate)) {}

  grpc::ServerBidiReactor<grpc::ByteBuffer, grpc::ByteBuffer>* Attach(
      grpc::CallbackServerContext* context) override;

 private:
  const std::shared_ptr<Attachment> attachment_;
  const std::shared_ptr<const PeerProcess> peer_;
  const std::shared_ptr<const PortGate> gate_;
};

}  // namespace baton::sidecar
