// gRPC callers that mean harm: what they can make a batond keep in memory has a bound, and
// renewals go on. They speak HTTP/2 by hand if no client library would do what they do.
#include <unistd.h>

#include <fstream>
#include <string>
#include <vector>

#include <gmock/gmock.h>
#include <grpcpp/grpcpp.h>
#include <gtest/gtest.h>

#include "baton/v1/routing.grpc.pb.h"
#include "e2e/bad_input.h"

namespace baton::e2e {
namespace {

using testing::HasSubstr;

/// The most resident memory that the process ever had, in bytes.
std::uint64_t Peak(pid_t pid) {
  std::ifstream file("/proc/" + std::to_string(pid) + "/status");
  for (std::string line; std::getline(file, line);) {
    if (line.starts_with("VmHWM:")) return std::stoull(line.substr(6)) << 10;
  }
  return 0;
}

// A request of 64 MiB, which gzip makes one of 64 kB. gRPC 1.51 looks at the size of a message only
// once it has opened it.
TEST_F(BadInput, ACompressedBombIsRefusedUnopened) {
  Begin();
  const std::uint64_t before = Peak(node_->pid());
  v1::LookupRequest request;
  request.set_key(std::string(64 << 20, 'x'));
  grpc::ClientContext context;
  context.set_compression_algorithm(GRPC_COMPRESS_GZIP);
  v1::LookupResponse response;
  const auto channel = grpc::CreateChannel(node_->endpoint(), grpc::InsecureChannelCredentials());
  const grpc::Status refused =
      v1::RoutingService::NewStub(channel)->Lookup(&context, request, &response);
  EXPECT_EQ(refused.error_code(), grpc::StatusCode::UNIMPLEMENTED) << refused.error_message();
  EXPECT_LT(Peak(node_->pid()), before + (16 << 20)) << "was " << before;
  ExpectUndisturbed();
}

}  // namespace
}  // namespace baton::e2e
