// FreeRequests and FreeableRequests: a server frees a unary call's request before it sends the
// answer.
//
// gRPC keeps both messages of a call until the call is over. A call is over only when its answer
// has left, so the caller decides how long a call lasts. A parsed request of 64 KiB can take 3 MiB
// of memory. So callers that don't read their answers could make the process grow, without
// exceeding a limit of calls or bytes.
//
// A server needs both: FreeableRequests for each unary method of a service, and the interceptor of
// FreeRequests. The interceptor also frees requests that could not be parsed.
//
// Any thread.
#pragma once

#include <memory>
#include <optional>

#include <grpcpp/support/message_allocator.h>
#include <grpcpp/support/server_interceptor.h>

namespace baton {

/// Allocates the messages of a method's calls, so that gRPC can free the request alone. Has no
/// state.
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

/// Gives each unary method in `setters` a FreeableRequest. `setters`: for each method, the member
/// SetMessageAllocatorFor_... of the service's class. REQUIRES (not checked): no server has the
/// service yet. No method uses its request after it has called Finish.
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

/// Returns the interceptor's factory, for ServerBuilder::experimental().SetInterceptorCreators. The
/// interceptor changes nothing for methods without a FreeableRequest.
std::unique_ptr<grpc::experimental::ServerInterceptorFactoryInterface> FreeRequests();

}  // namespace baton
