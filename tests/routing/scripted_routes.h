// A real gRPC server of RoutingService on a free loopback port, whose streams send what a test
// tells it to send. Its Lookup stands for an application's method. Thread-safe.
#pragma once

#include <grpcpp/grpcpp.h>

#include <atomic>
#include <chrono>
#include <condition_variable>
#include <cstdint>
#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "baton/router.h"
#include "baton/v1/routing.grpc.pb.h"
#include "routing/routes_messages.h"

namespace baton::routing {

inline constexpr std::chrono::seconds kPatience{60};

/// Waits until it is done. False: it was not within kPatience.
inline bool Until(const std::function<bool()>& done) {
  const auto give_up = std::chrono::steady_clock::now() + kPatience;
  while (!done() && std::chrono::steady_clock::now() < give_up) std::this_thread::yield();
  return done();
}

using SaidMetadata = std::multimap<std::string, std::string>;

/// Baton's metadata of a request.
inline SaidMetadata SaidIn(const grpc::ServerContext& context) {
  SaidMetadata said;
  for (const auto& [key, value] : context.client_metadata()) {
    if (!key.starts_with("baton-")) continue;
    said.emplace(std::string(key.data(), key.size()), std::string(value.data(), value.size()));
  }
  return said;
}

/// The common name in the caller's certificate. Empty: it showed none.
inline std::string CertifiedAs(const grpc::ServerContext& context) {
  const auto names = context.auth_context()->FindPropertyValues(GRPC_X509_CN_PROPERTY_NAME);
  return names.empty() ? "" : std::string(names.front().data(), names.front().size());
}

/// A channel with the interceptor of a router.
inline std::shared_ptr<grpc::Channel> ChannelOf(const Router& router, const std::string& address) {
  std::vector<std::unique_ptr<grpc::experimental::ClientInterceptorFactoryInterface>> each;
  each.push_back(router.InterceptorFactory());
  return grpc::experimental::CreateCustomChannelWithInterceptors(
      address, grpc::InsecureChannelCredentials(), {}, std::move(each));
}

class ScriptedRoutes final : private v1::RoutingService::Service {
 public:
  using Handler = std::function<grpc::Status(grpc::ServerContext&, const v1::LookupRequest&,
                                             v1::LookupResponse*)>;

  /// `port` 0: picks a free one.
  explicit ScriptedRoutes(int port = 0,
                          const std::shared_ptr<grpc::ServerCredentials>& credentials =
                              grpc::InsecureServerCredentials()) {
    grpc::ServerBuilder builder;
    builder.AddChannelArgument(GRPC_ARG_ALLOW_REUSEPORT, 0);
    builder.AddListeningPort("127.0.0.1:" + std::to_string(port), credentials, &port_);
    builder.RegisterService(this);
    server_ = builder.BuildAndStart();
  }
  ~ScriptedRoutes() { Stop(); }

  bool serves() const { return server_ != nullptr && port_ != 0; }
  int port() const { return port_; }
  std::string address() const { return "127.0.0.1:" + std::to_string(port_); }

  /// Ends all streams and calls at once; idempotent.
  void Stop() {
    {
      const std::lock_guard lock(mutex_);
      stopping_ = true;
      changed_.notify_all();
    }
    if (server_ == nullptr) return;
    server_->Shutdown(std::chrono::system_clock::now());
    server_->Wait();
    server_.reset();
  }

  /// Sets the first message of each stream; streams that are open already wait for it. Unset: they
  /// get nothing.
  void Greet(v1::WatchRoutesResponse first) {
    const std::lock_guard lock(mutex_);
    greeting_ = std::move(first);
    changed_.notify_all();
  }
  /// Sends a message on all streams that are open now.
  void Send(const v1::WatchRoutesResponse& message) {
    const std::lock_guard lock(mutex_);
    for (auto& [number, queue] : open_) queue.push_back(message);
    changed_.notify_all();
  }
  /// Ends all streams that are open now. While `status` is set, refuses new ones.
  void Refuse(std::optional<grpc::Status> status) {
    const std::lock_guard lock(mutex_);
    refusal_ = std::move(status);
    ++ended_;
    changed_.notify_all();
  }
  void Handle(Handler handler) {
    const std::lock_guard lock(mutex_);
    handler_ = std::move(handler);
  }

  /// The metadata of the last stream that was opened.
  SaidMetadata LastStreamSaid() {
    const std::lock_guard lock(mutex_);
    return stream_said_;
  }
  /// CertifiedAs of each stream's caller.
  std::vector<std::string> StreamCallers() {
    const std::lock_guard lock(mutex_);
    return stream_callers_;
  }
  std::vector<v1::WatchRoutesRequest> Requests() {
    const std::lock_guard lock(mutex_);
    return requests_;
  }
  /// Waits for this many streams, counted from the start.
  bool AwaitStreams(std::size_t count) {
    std::unique_lock lock(mutex_);
    return changed_.wait_for(lock, kPatience, [&] { return requests_.size() >= count; });
  }
  /// Waits until exactly this many streams are open.
  bool AwaitOpen(std::size_t count) {
    std::unique_lock lock(mutex_);
    return changed_.wait_for(lock, kPatience, [&] { return open_.size() == count; });
  }

 private:
  grpc::Status WatchRoutes(grpc::ServerContext* context, const v1::WatchRoutesRequest* request,
                           grpc::ServerWriter<v1::WatchRoutesResponse>* writer) override {
    std::unique_lock lock(mutex_);
    const std::size_t number = requests_.size();
    const std::uint64_t ended = ended_;
    requests_.push_back(*request);
    stream_callers_.push_back(CertifiedAs(*context));
    stream_said_ = SaidIn(*context);
    std::deque<v1::WatchRoutesResponse>& queue = open_[number];
    changed_.notify_all();
    bool greeted = false;
    const auto over = [&] { return stopping_ || refusal_ || ended != ended_; };
    while (!over() && !context->IsCancelled()) {
      if (!greeted && greeting_) {
        queue.push_front(*greeting_);
        greeted = true;
      }
      if (!greeted || queue.empty()) {
        // nothing notifies it of a cancellation
        changed_.wait_for(lock, std::chrono::milliseconds(20));
        continue;
      }
      const v1::WatchRoutesResponse message = std::move(queue.front());
      queue.pop_front();
      lock.unlock();
      writer->Write(message);
      lock.lock();
    }
    open_.erase(number);
    changed_.notify_all();
    return refusal_.value_or(grpc::Status::OK);
  }

  grpc::Status Lookup(grpc::ServerContext* context, const v1::LookupRequest* request,
                      v1::LookupResponse* response) override {
    Handler handler;
    {
      const std::lock_guard lock(mutex_);
      handler = handler_;
    }
    if (!handler) return {grpc::StatusCode::UNIMPLEMENTED, "no handler"};
    return handler(*context, *request, response);
  }

  std::mutex mutex_;  // guards what follows
  std::condition_variable changed_;
  std::optional<v1::WatchRoutesResponse> greeting_;
  std::optional<grpc::Status> refusal_;
  std::uint64_t ended_ = 0;
  bool stopping_ = false;
  Handler handler_;
  std::vector<v1::WatchRoutesRequest> requests_;
  std::vector<std::string> stream_callers_;
  SaidMetadata stream_said_;
  std::map<std::size_t, std::deque<v1::WatchRoutesResponse>> open_;  // messages not sent yet
  int port_ = 0;
  std::unique_ptr<grpc::Server> server_;
};

}  // namespace baton::routing
