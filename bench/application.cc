#include "bench/application.h"

#include <grpcpp/grpcpp.h>
#include <unistd.h>

#include "baton/v1/sidecar.grpc.pb.h"

namespace baton::bench {
namespace {

void AttachOnce(v1::SidecarService::Stub& stub) {
  grpc::ClientContext context;
  context.set_wait_for_ready(true);
  const auto stream = stub.Attach(&context);
  v1::AttachRequest request;
  request.mutable_hello()->set_protocol(1);
  request.mutable_hello()->set_client("baton_bench");
  request.mutable_hello()->set_pid(getpid());
  v1::AttachResponse response;
  while (stream->Write(request) && stream->Read(&response)) {
    request.Clear();
    for (const v1::AttachEvent& event : response.events()) {
      if (event.operation() == 0) continue;
      v1::AttachAnswer* const answer = request.add_answers();
      answer->set_operation(event.operation());
      answer->set_ok(true);
    }
  }
  stream->Finish();
}

}  // namespace

void BeApplication(const std::string& address) {
  const auto stub =
      v1::SidecarService::NewStub(grpc::CreateChannel(address, grpc::InsecureChannelCredentials()));
  while (true) AttachOnce(*stub);
}

}  // namespace baton::bench
