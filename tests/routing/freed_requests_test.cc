// The requests of Baton's services are freed before the answers are sent.
#include "base/grpc/freed_requests.h"

#include <functional>
#include <future>
#include <memory>
#include <string>
#include <typeinfo>
#include <utility>
#include <vector>

#include <google/protobuf/descriptor.h>
#include <grpcpp/generic/generic_stub.h>
#include <grpcpp/grpcpp.h>
#include <gtest/gtest.h>

#include "access/access.h"
#include "baton/v1/admin.grpc.pb.h"
#include "baton/v1/routing.grpc.pb.h"
#include "routing/server/routing_service.h"
#include "runtime/admin/admin_service.h"
#include "runtime/fake_control.h"

namespace baton {
namespace {

namespace ex = grpc::experimental;

/// Calls `look` with what the messages of each unary call are kept in, when the answer is sent.
class Looking final : public ex::ServerInterceptorFactoryInterface {
 public:
  using Look = std::function<void(grpc::RpcAllocatorState&)>;
  explicit Looking(Look look) : look_(std::move(look)) {}
  ex::Interceptor* CreateServerInterceptor(ex::ServerRpcInfo* info) override {
    return new Interceptor(look_, *info);
  }

 private:
  struct Interceptor final : ex::Interceptor {
    Interceptor(Look& look_with, ex::ServerRpcInfo& info_of) : look(look_with), info(info_of) {}
    void Intercept(ex::InterceptorBatchMethods* methods) override {
      if (methods->QueryInterceptionHookPoint(ex::InterceptionHookPoints::PRE_SEND_STATUS)) {
        look(*dynamic_cast<grpc::CallbackServerContext&>(*info.server_context())
                  .GetRpcAllocatorState());
      }
      methods->Proceed();
    }
    Look& look;
    ex::ServerRpcInfo& info;
  };
  Look look_;
};

/// Both services of a fake node.
class FreedRequests : public testing::Test {
 protected:
  /// `look` runs before or after requests are freed, or both.
  void Serve(const Looking::Look& look) {
    grpc::ServerBuilder builder;
    int port = 0;
    builder.AddListeningPort("127.0.0.1:0", grpc::InsecureServerCredentials(), &port);
    const access::Gate gate = runtime::GateOf({});
    admin_ = runtime::RegisterAdminService(builder, control_, gate);
    routing_ =
        routing::RegisterRoutingService(builder, routing::RouteServer::Start(control_), gate);
    std::vector<std::unique_ptr<ex::ServerInterceptorFactoryInterface>> interceptors;
    interceptors.push_back(std::make_unique<Looking>(look));
    interceptors.push_back(FreeRequests());
    interceptors.push_back(std::make_unique<Looking>(look));
    builder.experimental().SetInterceptorCreators(std::move(interceptors));
    server_ = builder.BuildAndStart();
    stub_ = std::make_unique<grpc::GenericStub>(grpc::CreateChannel(
        "127.0.0.1:" + std::to_string(port), grpc::InsecureChannelCredentials()));
  }
  ~FreedRequests() override {
    routing_->Shutdown();
    server_->Shutdown(std::chrono::system_clock::now() + std::chrono::seconds(5));
    server_->Wait();
  }

  grpc::Status Call(const std::string& path, const std::string& request = "") {
    grpc::ClientContext context;
    const grpc::Slice slice(request);
    const grpc::ByteBuffer bytes(&slice, 1);
    grpc::ByteBuffer response;
    std::promise<grpc::Status> ended;
    stub_->UnaryCall(&context, path, {}, &bytes, &response,
                     [&](grpc::Status status) { ended.set_value(std::move(status)); });
    return ended.get_future().get();
  }

 private:
  runtime::FakeControl control_{{"n1"}, 4};
  std::unique_ptr<AdminService> admin_;
  std::unique_ptr<RoutingService> routing_;
  std::unique_ptr<grpc::Server> server_;
  std::unique_ptr<grpc::GenericStub> stub_;
};

// Plan: each unary method of both services is called; none has gRPC's own holder of messages, which
// frees nothing.
TEST_F(FreedRequests, EachUnaryMethodCanFreeThem) {
  std::atomic<bool> can_free{false};
  Serve([&](grpc::RpcAllocatorState& state) {
    can_free = std::string(typeid(state).name()).find("FreeableRequest") != std::string::npos;
  });
  int methods = 0;
  for (const char* service : {"baton.v1.AdminService", "baton.v1.RoutingService"}) {
    const auto* found =
        google::protobuf::DescriptorPool::generated_pool()->FindServiceByName(service);
    ASSERT_NE(found, nullptr);
    for (int i = 0; i < found->method_count(); ++i) {
      if (found->method(i)->server_streaming()) continue;
      can_free = false;
      Call("/" + std::string(service) + "/" + found->method(i)->name());
      EXPECT_TRUE(can_free) << found->method(i)->full_name();
      ++methods;
    }
  }
  EXPECT_GE(methods, 20);
}

// Plan: one request is answered, one is refused by the method, and one can't be parsed.
TEST_F(FreedRequests, AreGoneWhenTheAnswerIsSent) {
  using Messages = grpc::MessageHolder<v1::LookupRequest, v1::LookupResponse>;
  std::atomic<int> gone{0}, there{0};
  Serve([&](grpc::RpcAllocatorState& state) {
    ++(dynamic_cast<Messages&>(state).request() == nullptr ? gone : there);
  });
  const std::string lookup = "/baton.v1.RoutingService/Lookup";
  const std::string shard_0("\x10\0", 2);
  for (const std::string& request : {shard_0, std::string(), std::string("\xff")}) {
    gone = there = 0;
    Call(lookup, request);
    EXPECT_EQ(gone, 1) << request.size();
    EXPECT_EQ(there, 1) << request.size();
  }
}

}  // namespace
}  // namespace baton
