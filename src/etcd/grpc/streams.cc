#include "etcd/grpc/streams.h"

#include <atomic>
#include <optional>
#include <utility>

#include "base/check.h"
#include "etcd/grpc/stream.h"

namespace baton::etcd {
namespace {

using etcdserverpb::LeaseKeepAliveRequest;
using etcdserverpb::LeaseKeepAliveResponse;
using etcdserverpb::WatchCreateRequest;
using etcdserverpb::WatchRequest;
using etcdserverpb::WatchResponse;

class KeepAliveCall final
    : public StreamCall<LeaseKeepAliveRequest, LeaseKeepAliveResponse, KeepAliveHandler> {
 public:
  KeepAliveCall(GrpcCore& core, std::size_t endpoint, std::int64_t lease, KeepAliveHandler handler)
      : StreamCall(core, Use::kKeepAlive, endpoint, std::move(handler)), lease_(lease) {}

  void Renew() {
    BATON_CHECK(!unanswered_.exchange(true) || over());
    LeaseKeepAliveRequest request;
    request.set_id(lease_);
    Send(std::move(request));
  }

 protected:
  grpc::CompletionQueue& Queue() override { return core().keepalive_queue(); }
  Stream Prepare(EndpointStubs& stubs, grpc::ClientContext& context) override {
    return stubs.keepalive->PrepareAsyncLeaseKeepAlive(&context, &Queue());
  }
  void Received(LeaseKeepAliveResponse& response) override {
    unanswered_ = false;
    Tell([&](const KeepAliveHandler& handler) { handler.answered(response); });
  }

 private:
  const std::int64_t lease_;
  std::atomic<bool> unanswered_{false};
};

// etcd gives the reason of a cancelled watch only as text.
grpc::Status StatusOf(const WatchResponse& cancelled) {
  const std::string& reason = cancelled.cancel_reason();
  const auto says = [&reason](const char* words) {
    return reason.find(words) != std::string::npos;
  };
  if (cancelled.compact_revision() > 0) {
    return {grpc::StatusCode::OUT_OF_RANGE,
            "compacted up to revision " + std::to_string(cancelled.compact_revision())};
  }
  if (says("permission denied")) return {grpc::StatusCode::PERMISSION_DENIED, reason};
  if (says("auth token")) return {grpc::StatusCode::UNAUTHENTICATED, reason};
  return {grpc::StatusCode::UNKNOWN, "watch cancelled by etcd: " + reason};
}

class WatchCall final : public StreamCall<WatchRequest, WatchResponse, WatchHandler> {
 public:
  WatchCall(GrpcCore& core, std::size_t endpoint, WatchHandler handler)
      : StreamCall(core, Use::kWatch, endpoint, std::move(handler)) {}

  void Create(const WatchCreateRequest& create) {
    WatchRequest request;
    *request.mutable_create_request() = create;
    // One watch per stream: the server numbers it.
    request.mutable_create_request()->set_watch_id(0);
    Send(std::move(request));
  }
  void RequestProgress() {
    WatchRequest request;
    request.mutable_progress_request();
    Send(std::move(request));
  }

 protected:
  grpc::CompletionQueue& Queue() override { return core().queue(); }
  Stream Prepare(EndpointStubs& stubs, grpc::ClientContext& context) override {
    return stubs.watch->PrepareAsyncWatch(&context, &Queue());
  }

  void Received(WatchResponse& response) override {
    if (joined_) {
      // Takes the last fragment's header and the events of all.
      response.mutable_events()->Swap(joined_->mutable_events());
      response.mutable_events()->MergeFrom(joined_->events());
      joined_.reset();
    }
    if (response.fragment()) {
      joined_.emplace().Swap(&response);
      return;
    }
    if (response.canceled()) cancelled_by_etcd_ = StatusOf(response);
    Tell([&](const WatchHandler& handler) { handler.response(response); });
    // etcd leaves the stream open, but nothing more would ever come.
    if (cancelled_by_etcd_) Cancel();
  }

  CallStatus FinalStatus(const grpc::Status& status) override {
    return Judge(cancelled_by_etcd_.value_or(status));
  }

 private:
  // Only the steps use these.
  std::optional<WatchResponse> joined_;
  std::optional<grpc::Status> cancelled_by_etcd_;
};

class KeepAliveHandle final : public KeepAliveStream {
 public:
  explicit KeepAliveHandle(std::shared_ptr<KeepAliveCall> call) : call_(std::move(call)) {}
  ~KeepAliveHandle() override { call_->Detach(); }
  void Send() override { call_->Renew(); }
  std::string endpoint() const override { return call_->address(); }

 private:
  const std::shared_ptr<KeepAliveCall> call_;
};

class WatchHandle final : public WatchStream {
 public:
  explicit WatchHandle(std::shared_ptr<WatchCall> call) : call_(std::move(call)) {}
  ~WatchHandle() override { call_->Detach(); }
  void RequestProgress() override { call_->RequestProgress(); }
  std::string endpoint() const override { return call_->address(); }

 private:
  const std::shared_ptr<WatchCall> call_;
};

}  // namespace

std::unique_ptr<KeepAliveStream> OpenKeepAliveStream(GrpcCore& core, std::int64_t lease,
                                                     const std::string& avoid,
                                                     KeepAliveHandler handler) {
  auto call = std::make_shared<KeepAliveCall>(core, core.EndpointOtherThan(avoid), lease,
                                              std::move(handler));
  call->Open();
  return std::make_unique<KeepAliveHandle>(std::move(call));
}

std::unique_ptr<WatchStream> OpenWatchStream(GrpcCore& core, const WatchCreateRequest& request,
                                             const std::string& avoid, WatchHandler handler) {
  auto call = std::make_shared<WatchCall>(core, core.EndpointOtherThan(avoid), std::move(handler));
  call->Create(request);
  call->Open();
  return std::make_unique<WatchHandle>(std::move(call));
}

}  // namespace baton::etcd
