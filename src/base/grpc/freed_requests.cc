#include "base/grpc/freed_requests.h"

#include <grpcpp/server_context.h>

namespace baton {
namespace {

namespace ex = grpc::experimental;

/// Of one unary call.
class Freeing final : public ex::Interceptor {
 public:
  explicit Freeing(grpc::CallbackServerContext& context) : context_(context) {}

  // A method without such an allocator has a state that frees nothing.
  void Intercept(ex::InterceptorBatchMethods* methods) override {
    const bool answers =
        methods->QueryInterceptionHookPoint(ex::InterceptionHookPoints::PRE_SEND_STATUS);
    if (answers) {
      if (grpc::RpcAllocatorState* const state = context_.GetRpcAllocatorState()) {
        state->FreeRequest();
      }
    }
    methods->Proceed();
  }

 private:
  grpc::CallbackServerContext& context_;  // outlives the call's interceptors
};

class FreeingFactory final : public ex::ServerInterceptorFactoryInterface {
 public:
  ex::Interceptor* CreateServerInterceptor(ex::ServerRpcInfo* info) override {
    if (info->type() != ex::ServerRpcInfo::Type::UNARY) return nullptr;
    auto* const context = dynamic_cast<grpc::CallbackServerContext*>(info->server_context());
    return context == nullptr ? nullptr : new Freeing(*context);
  }
};

}  // namespace

std::unique_ptr<ex::ServerInterceptorFactoryInterface> FreeRequests() {
  return std::make_unique<FreeingFactory>();
}

}  // namespace baton
