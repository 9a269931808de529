#include "bench/bare_streams.h"

#include <grpcpp/grpcpp.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <mutex>
#include <set>
#include <stdexcept>

#include "baton/v1/routing.grpc.pb.h"
#include "etcd/grpc/callback_ticker.h"

namespace baton::bench {
namespace {

using Methods = v1::RoutingService::WithCallbackMethod_Lookup<
    v1::RoutingService::WithRawCallbackMethod_WatchRoutes<v1::RoutingService::Service>>;

class Service final : public Methods {
 public:
  grpc::ServerUnaryReactor* Lookup(grpc::CallbackServerContext* context,
                                   const v1::LookupRequest* request, v1::LookupResponse*) override {
    const grpc::Slice slice(request->key());  // one copy, which all streams share
    const grpc::ByteBuffer message(&slice, 1);
    {
      const std::lock_guard lock(mutex_);
      for (Stream* stream : streams_) stream->Send(message);
    }
    grpc::ServerUnaryReactor* const reactor = context->DefaultReactor();
    reactor->Finish(grpc::Status::OK);
    return reactor;
  }

  grpc::ServerWriteReactor<grpc::ByteBuffer>* WatchRoutes(grpc::CallbackServerContext*,
                                                          const grpc::ByteBuffer*) override {
    auto* const stream = new Stream(*this);
    v1::WatchRoutesResponse opening;
    opening.set_snapshot_end(true);
    const grpc::Slice slice(opening.SerializeAsString());
    const std::lock_guard lock(mutex_);
    streams_.insert(stream);
    stream->Send({&slice, 1});
    return stream;
  }

 private:
  /// Lives until OnDone. All but its reactions run under the service's mutex.
  class Stream final : public grpc::ServerWriteReactor<grpc::ByteBuffer> {
   public:
    explicit Stream(Service& service) : service_(service) {}

    /// If several messages come while one is being written, only the last of them is written next.
    void Send(const grpc::ByteBuffer& message) {
      if (over_) return;
      if (writing_) {
        next_ = message;
        return;
      }
      writing_ = true;
      message_ = message;
      StartWrite(&message_);
    }

    void OnWriteDone(bool sent) override {
      const std::lock_guard lock(service_.mutex_);
      writing_ = false;
      if (!sent) return End();
      if (next_.Valid()) Send(std::exchange(next_, {}));
    }
    void OnCancel() override {
      const std::lock_guard lock(service_.mutex_);
      End();
    }
    void OnDone() override {
      {
        const std::lock_guard lock(service_.mutex_);
        service_.streams_.erase(this);
      }
      delete this;
    }

   private:
    void End() {
      if (!std::exchange(over_, true)) Finish(grpc::Status::CANCELLED);
    }

    Service& service_;
    bool writing_ = false;
    bool over_ = false;
    grpc::ByteBuffer message_;  // being written
    grpc::ByteBuffer next_;
  };

  std::mutex mutex_;  // guards the members below, and those of the streams
  std::set<Stream*> streams_;
};

}  // namespace

void BeBareStreams(const std::string& file) {
  const etcd::CallbackTicker ticker;  // as a relay has one
  Service service;
  grpc::ServerBuilder builder;
  int port = 0;
  builder.AddListeningPort("127.0.0.1:0", grpc::InsecureServerCredentials(), &port);
  builder.RegisterService(&service);
  const auto server = builder.BuildAndStart();
  if (server == nullptr) throw std::runtime_error("can't serve gRPC on loopback");
  const std::string unfinished = file + ".new";
  std::ofstream(unfinished) << "127.0.0.1:" << port;
  std::filesystem::rename(unfinished, file);
  while (true) pause();
}

}  // namespace baton::bench
