// The admin service of a fake node, served by a real gRPC server on a free loopback port.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include <grpcpp/grpcpp.h>

#include "runtime/admin/admin_service.h"
#include "runtime/admin/event_stream.h"
#include "runtime/fake_control.h"

namespace baton::runtime {

struct AdminServer {
  explicit AdminServer(const std::vector<NodeId>& nodes, std::uint32_t shards,
                       AdminOptions options = {}, const std::string& host = "127.0.0.1",
                       CallerPings pings = {})
      : control(nodes, shards) {
    grpc::ServerBuilder builder;
    PingCallers(builder, pings);
    builder.AddListeningPort(host + ":0", grpc::InsecureServerCredentials(), &port);
    service = RegisterAdminService(builder, control, GateOf(options));
    server = builder.BuildAndStart();
    endpoint = host + ":" + std::to_string(port);
  }
  ~AdminServer() {
    server->Shutdown(std::chrono::system_clock::now() + std::chrono::seconds(5));
    server->Wait();
  }

  FakeControl control;
  std::unique_ptr<AdminService> service;
  std::unique_ptr<grpc::Server> server;
  std::string endpoint;
  int port = 0;
};

}  // namespace baton::runtime
