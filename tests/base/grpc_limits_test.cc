// The limits of our gRPC servers and channels, on a server of one method.
#include "base/grpc/channel_limits.h"
#include "base/grpc/server_limits.h"

#include <memory>
#include <string>

#include <grpcpp/grpcpp.h>
#include <gtest/gtest.h>

#include "baton/v1/routing.grpc.pb.h"

namespace baton {
namespace {

/// Answers with a megabyte, compressed.
class Compressing final : public v1::RoutingService::Service {
 public:
  grpc::Status Lookup(grpc::ServerContext* context, const v1::LookupRequest*,
                      v1::LookupResponse* response) override {
    context->set_compression_algorithm(GRPC_COMPRESS_GZIP);
    response->set_group(std::string(1 << 20, 'x'));
    return grpc::Status::OK;
  }
};

class GrpcLimits : public testing::Test {
 protected:
  void Serve(bool limited) {
    grpc::ServerBuilder builder;
    builder.AddListeningPort("127.0.0.1:0", grpc::InsecureServerCredentials(), &port_);
    builder.RegisterService(&service_);
    if (limited) SetServerLimits(builder);
    server_ = builder.BuildAndStart();
    ASSERT_NE(server_, nullptr);
  }
  grpc::Status Lookup(const grpc::ChannelArguments& arguments, std::string key,
                      grpc_compression_algorithm compression = GRPC_COMPRESS_NONE) {
    const auto channel = grpc::CreateCustomChannel("127.0.0.1:" + std::to_string(port_),
                                                   grpc::InsecureChannelCredentials(), arguments);
    grpc::ClientContext context;
    context.set_compression_algorithm(compression);
    context.set_deadline(std::chrono::system_clock::now() + std::chrono::seconds(20));
    v1::LookupRequest request;
    request.set_key(std::move(key));
    v1::LookupResponse response;
    return v1::RoutingService::NewStub(channel)->Lookup(&context, request, &response);
  }

 private:
  Compressing service_;
  int port_ = 0;
  std::unique_ptr<grpc::Server> server_;
};

// Plan: the same compressed answer, by a channel without limits and by one with them.
TEST_F(GrpcLimits, AChannelOpensNoCompressedAnswer) {
  Serve(false);
  EXPECT_TRUE(Lookup({}, "order-17").ok());
  grpc::ChannelArguments limited;
  LimitChannel(limited);
  EXPECT_EQ(Lookup(limited, "order-17").error_code(), grpc::StatusCode::UNIMPLEMENTED);
}

TEST_F(GrpcLimits, AServerOpensNoCompressedRequest) {
  Serve(true);
  EXPECT_TRUE(Lookup({}, "order-17").ok());
  const std::string key(10'000, 'x');
  EXPECT_EQ(Lookup({}, key, GRPC_COMPRESS_GZIP).error_code(), grpc::StatusCode::UNIMPLEMENTED);
  EXPECT_EQ(Lookup({}, key, GRPC_COMPRESS_DEFLATE).error_code(), grpc::StatusCode::UNIMPLEMENTED);
}

TEST_F(GrpcLimits, AServerTakesNoLongRequest) {
  Serve(true);
  EXPECT_TRUE(Lookup({}, std::string(60 << 10, 'x')).ok());
  EXPECT_EQ(Lookup({}, std::string(65 << 10, 'x')).error_code(),
            grpc::StatusCode::RESOURCE_EXHAUSTED);
}

}  // namespace
}  // namespace baton
