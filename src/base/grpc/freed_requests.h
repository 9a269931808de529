// FreeRequests and FreeableRequests: a server drops the request of a unary call before it sends the
// answer.
//
// gRPC keeps both messages of a call until the call is over. The caller decides when that is,
// because a call is over only once its answer has left. A request of 64 KiB can take 3 MiB once it
// is parsed, because an empty element of a list costs some 50 times its bytes. So callers that take
// no answers would make the process grow, and exceed no limit of calls or bytes.
//
// A server needs both: FreeableRequests for each unary method of a service, and the interceptor
// FreeRequests. The interceptor also frees a request that could not be parsed, which no method
// sees.
//
// Any thread.
#pragma once

#include <memory>
#include <optional>

#include <grpcpp/support/message_allocator.h>
#include <grpcpp/support/server_interceptor.h>

namespace baton {

/// Allocates the messages of a method's calls in a way that lets gRPC's FreeRequest free the
/// request. It has no state.
template <typename Request, typename Response>
class FreeableRequest final : public grpc::MessageAllocator<Request, Response> {
 public:
  grpc::MessageHolder<Request, Response>* AllocateMessages() override { return new Messages; }

 private:
  class Messages final : public grpc::MessageHolder<Request, Response> {
   public:
    Messages() {
      this->set_request(&request_.emplace());
      this->set_response(&response_);
    }
    void FreeRequest() override {
      this->set_request(nullptr);
      request_.reset();
    }
    void Release() override { delete this; }

   private:
    std::optional<Request> request_;
    Response response_;
  };
};

/// Gives methods of `service` a FreeableRequest each. `setters`: the members
/// SetMessageAllocatorFor_... of its class, one for each unary method. REQUIRES (not checked): no
/// server has the service yet, and the methods don't use their request after they have called
/// Finish.
template <typename Service, typename... Base, typename... Request, typename... Response>
void FreeableRequests(Service& service,
                      void (Base::*... setters)(grpc::MessageAllocator<Request, Response>*)) {
  const auto set = [&service]<typename Of, typename In, typename Out>(
                       void (Of::*setter)(grpc::MessageAllocator<In, Out>*)) {
    static FreeableRequest<In, Out> allocator;
    (service.*setter)(&allocator);
  };
  (set(setters), ...);
}

/// For ServerBuilder::experimental().SetInterceptorCreators. Changes nothing for methods without a
/// FreeableRequest.
std::unique_ptr<grpc::experimental::ServerInterceptorFactoryInterface> FreeRequests();

}  // namespace baton
