#include "runtime/metrics/server_interceptor.h"

#include <fmt/format.h>
#include <google/protobuf/descriptor.h>

#include <chrono>
#include <utility>

namespace baton::runtime {
namespace {

using grpc::experimental::InterceptionHookPoints;
using grpc::experimental::InterceptorBatchMethods;
using grpc::experimental::ServerRpcInfo;

const char* TypeName(bool client_streams, bool server_streams) {
  if (client_streams) return server_streams ? "bidi_stream" : "client_stream";
  return server_streams ? "server_stream" : "unary";
}

const char* TypeName(ServerRpcInfo::Type type) {
  using Type = ServerRpcInfo::Type;
  return TypeName(type == Type::CLIENT_STREAMING || type == Type::BIDI_STREAMING,
                  type == Type::SERVER_STREAMING || type == Type::BIDI_STREAMING);
}

/// Counts one call. gRPC destroys it when the call is over.
class Counting final : public grpc::experimental::Interceptor {
 public:
  Counting(std::shared_ptr<ServerCalls> calls, const ServerRpcInfo& info)
      : calls_(std::move(calls)), type_(TypeName(info.type())), path_(info.method()) {
    calls_->Started(type_, path_);
  }
  // The server did not answer: the caller gave the call up.
  ~Counting() override {
    if (!answered_) Answered(grpc::StatusCode::CANCELLED);
  }

  void Intercept(InterceptorBatchMethods* methods) override {
    if (methods->QueryInterceptionHookPoint(InterceptionHookPoints::PRE_SEND_STATUS)) {
      Answered(methods->GetSendStatus().error_code());
    }
    methods->Proceed();
  }

 private:
  void Answered(int code) {
    if (std::exchange(answered_, true)) return;
    calls_->Handled(type_, path_, code, std::chrono::steady_clock::now() - began_);
  }

  const std::shared_ptr<ServerCalls> calls_;
  const char* const type_;
  const std::string path_;
  const std::chrono::steady_clock::time_point began_ = std::chrono::steady_clock::now();
  bool answered_ = false;
};

class CountingFactory final : public grpc::experimental::ServerInterceptorFactoryInterface {
 public:
  explicit CountingFactory(std::shared_ptr<ServerCalls> calls) : calls_(std::move(calls)) {}
  grpc::experimental::Interceptor* CreateServerInterceptor(ServerRpcInfo* info) override {
    return new Counting(calls_, *info);
  }

 private:
  const std::shared_ptr<ServerCalls> calls_;
};

}  // namespace

std::unique_ptr<grpc::experimental::ServerInterceptorFactoryInterface> CountCalls(
    std::shared_ptr<ServerCalls> calls) {
  return std::make_unique<CountingFactory>(std::move(calls));
}

void ExpectService(ServerCalls& calls, const std::string& service) {
  const auto* found =
      google::protobuf::DescriptorPool::generated_pool()->FindServiceByName(service);
  if (found == nullptr) return;
  for (int i = 0; i < found->method_count(); ++i) {
    const auto& method = *found->method(i);
    calls.Expect(TypeName(method.client_streaming(), method.server_streaming()),
                 fmt::format("/{}/{}", service, method.name()));
  }
}

}  // namespace baton::runtime
