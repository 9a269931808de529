#include "app/daemon/open_calls.h"

#include <string>
#include <utility>

#include <grpcpp/server_context.h>

namespace baton::app {
namespace {

namespace ex = grpc::experimental;

/// Counts one call for as long as it lives. gRPC destroys it when the call is over.
class OpenCall final : public ex::Interceptor {
 public:
  OpenCall(std::shared_ptr<OpenCalls> calls, std::shared_ptr<ReceiveBudget> budget,
           const std::string& peer)
      : calls_(std::move(calls)),
        budget_(std::move(budget)),
        served_(budget_->Served(peer)),
        count_(peer.starts_with("unix") ? calls_->at_admin_socket : calls_->at_port) {
    ++count_;
  }
  ~OpenCall() override {
    --count_;
    ReceiveBudget::Over(served_);
  }
  void Intercept(ex::InterceptorBatchMethods* methods) override { methods->Proceed(); }

 private:
  const std::shared_ptr<OpenCalls> calls_;
  const std::shared_ptr<ReceiveBudget> budget_;
  const std::shared_ptr<ReceiveBudget::Calls> served_;
  std::atomic<std::int64_t>& count_;  // in calls_
};

class OpenCallFactory final : public ex::ServerInterceptorFactoryInterface {
 public:
  OpenCallFactory(std::shared_ptr<OpenCalls> calls, std::shared_ptr<ReceiveBudget> budget)
      : calls_(std::move(calls)), budget_(std::move(budget)) {}
  ex::Interceptor* CreateServerInterceptor(ex::ServerRpcInfo* info) override {
    return new OpenCall(calls_, budget_, info->server_context()->peer());
  }

 private:
  const std::shared_ptr<OpenCalls> calls_;
  const std::shared_ptr<ReceiveBudget> budget_;
};

}  // namespace

std::unique_ptr<ex::ServerInterceptorFactoryInterface> CountOpenCalls(
    std::shared_ptr<OpenCalls> calls, std::shared_ptr<ReceiveBudget> budget) {
  return std::make_unique<OpenCallFactory>(std::move(calls), std::move(budget));
}

}  // namespace baton::app
