#include "routing/client/intercepted_calls.h"

#include <utility>

#include "routing/refusals.h"

namespace baton::routing {
namespace {

using grpc::experimental::ClientRpcInfo;
using grpc::experimental::InterceptionHookPoints;
using grpc::experimental::InterceptorBatchMethods;

/// The interceptor of one call. gRPC destroys it with the call's context.
class Intercepting final : public grpc::experimental::Interceptor {
 public:
  explicit Intercepting(std::shared_ptr<InterceptedCalls> calls) : calls_(std::move(calls)) {}

  void Intercept(InterceptorBatchMethods* methods) override {
    if (methods->QueryInterceptionHookPoint(InterceptionHookPoints::PRE_SEND_INITIAL_METADATA)) {
      shard_ = calls_->Begin(*methods->GetSendInitialMetadata());
    }
    if (methods->QueryInterceptionHookPoint(InterceptionHookPoints::POST_RECV_STATUS)) {
      if (const auto shard = shard_.load()) calls_->End(*shard, *methods->GetRecvStatus());
    }
    methods->Proceed();
  }

 private:
  const std::shared_ptr<InterceptedCalls> calls_;
  // Atomic: a stream may delay its metadata until its first message, and its status may arrive
  // then.
  std::atomic<std::optional<ShardId>> shard_{std::nullopt};
};

class InterceptingFactory final : public grpc::experimental::ClientInterceptorFactoryInterface {
 public:
  explicit InterceptingFactory(std::shared_ptr<InterceptedCalls> calls)
      : calls_(std::move(calls)) {}
  grpc::experimental::Interceptor* CreateClientInterceptor(ClientRpcInfo*) override {
    return new Intercepting(calls_);
  }

 private:
  const std::shared_ptr<InterceptedCalls> calls_;
};

}  // namespace

std::optional<ShardId> InterceptedCalls::Begin(std::multimap<std::string, std::string>& metadata) {
  const Result<RequestMetadata> read = ReadMetadata(metadata);
  if (!read || !read.value().shard) return std::nullopt;
  const RequestMetadata& said = read.value();
  if (said.group && *said.group != group_) return std::nullopt;
  const std::optional<Term> term = FindTerm(*said.shard);
  if (!term) return std::nullopt;
  RequestMetadata added;
  if (!said.group) added.group = group_;
  if (!said.term && term->value > 0) added.term = term;
  if (said.request_id.empty()) added.request_id = ids_->Next();
  if (said.attempt == 0) added.attempt = 1;
  WriteMetadata(added,
                [&](const char* key, const std::string& value) { metadata.emplace(key, value); });
  calls_.fetch_add(1, std::memory_order_relaxed);
  return said.shard;
}

void InterceptedCalls::End(ShardId shard, const grpc::Status& status) {
  if (!IsMisroute(status, DetailsOf(status), group_, shard)) return;
  misroutes_.fetch_add(1, std::memory_order_relaxed);
}

void InterceptedCalls::Leave() {
  const std::lock_guard lock(mutex_);
  store_ = nullptr;
}

// Not from the published table: each thread that reads a table keeps it in memory, and gRPC may
// call on many threads.
std::optional<Term> InterceptedCalls::FindTerm(ShardId shard) const {
  const std::lock_guard lock(mutex_);
  return store_ == nullptr ? Term{} : store_->FindTerm(shard);
}

std::unique_ptr<grpc::experimental::ClientInterceptorFactoryInterface> InterceptorFactoryOf(
    std::shared_ptr<InterceptedCalls> calls) {
  return std::make_unique<InterceptingFactory>(std::move(calls));
}

}  // namespace baton::routing
