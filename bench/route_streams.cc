#include "bench/route_streams.h"

#include <grpcpp/grpcpp.h>

#include <algorithm>
#include <condition_variable>
#include <mutex>
#include <stdexcept>
#include <thread>

#include "baton/v1/routing.grpc.pb.h"

namespace baton::bench {
namespace {

constexpr std::chrono::seconds kBound{60};

std::int64_t GreatestTerm(const v1::WatchRoutesResponse& message) {
  std::int64_t greatest = 0;
  for (const v1::Route& route : message.routes()) greatest = std::max(greatest, route.term());
  return greatest;
}

}  // namespace

struct RouteStreams::Impl {
  struct Stream {
    explicit Stream(const std::string& address) : stub(Connect(address)) {}

    static std::unique_ptr<v1::RoutingService::Stub> Connect(const std::string& address) {
      grpc::ChannelArguments arguments;
      arguments.SetInt(GRPC_ARG_USE_LOCAL_SUBCHANNEL_POOL, 1);
      return v1::RoutingService::NewStub(
          grpc::CreateCustomChannel(address, grpc::InsecureChannelCredentials(), arguments));
    }

    const std::unique_ptr<v1::RoutingService::Stub> stub;
    grpc::ClientContext context;
    std::unique_ptr<grpc::ClientAsyncReader<v1::WatchRoutesResponse>> reader;
    v1::WatchRoutesResponse message;
    TimePoint told{};  ///< when the expected route came; the clock's zero before that
  };

  void Run() {
    void* tag = nullptr;
    for (bool ok = false; queue.Next(&tag, &ok);) {
      const TimePoint now = BootClock::now();
      auto* const stream = static_cast<Stream*>(tag);
      const std::lock_guard lock(mutex);
      if (!ok) {
        ++ended;
        changed.notify_all();
        continue;
      }
      Take(*stream, now);
      stream->reader->Read(&stream->message, stream);
    }
  }

  // Also called for the beginning of a stream, with an empty message.
  void Take(Stream& stream, TimePoint now) {
    if (stream.message.snapshot_end() && ++complete == streams.size()) changed.notify_all();
    if (stream.message.routes_size() == 0) return;
    if (stream.told == TimePoint{} && GreatestTerm(stream.message) >= expected.value) {
      stream.told = now;
      if (++told == streams.size()) changed.notify_all();
    }
    last = stream.message;
  }

  template <typename Condition>
  void Wait(const char* what, Condition condition) {
    std::unique_lock lock(mutex);
    const bool met = changed.wait_for(lock, kBound, [&] { return ended > 0 || condition(); });
    if (!met || ended > 0) throw std::runtime_error(std::string("in vain: ") + what);
  }

  void Stop() {
    for (const auto& stream : streams) stream->context.TryCancel();
    {
      std::unique_lock lock(mutex);
      changed.wait_for(lock, kBound, [&] { return ended == streams.size(); });
    }
    queue.Shutdown();
    thread.join();
  }

  grpc::CompletionQueue queue;
  std::mutex mutex;  // guards the members below, except the streams' readers
  std::condition_variable changed;
  std::vector<std::unique_ptr<Stream>> streams;
  std::size_t complete = 0;
  std::size_t ended = 0;
  std::size_t told = 0;
  Term expected;
  v1::WatchRoutesResponse last;
  std::thread thread;
};

RouteStreams::RouteStreams(const std::string& address, std::size_t count)
    : impl_(std::make_unique<Impl>()) {
  for (std::size_t i = 0; i < count; ++i) {
    impl_->streams.push_back(std::make_unique<Impl::Stream>(address));
  }
  impl_->thread = std::thread([this] { impl_->Run(); });
  for (const auto& stream : impl_->streams) {
    stream->context.set_wait_for_ready(true);
    stream->reader = stream->stub->PrepareAsyncWatchRoutes(&stream->context, {}, &impl_->queue);
    stream->reader->StartCall(stream.get());
  }
  try {
    impl_->Wait("every stream has its snapshot",
                [this] { return impl_->complete == impl_->streams.size(); });
  } catch (...) {
    impl_->Stop();
    throw;
  }
}

RouteStreams::~RouteStreams() { impl_->Stop(); }

void RouteStreams::Expect(Term term) {
  const std::lock_guard lock(impl_->mutex);
  impl_->expected = term;
  impl_->told = 0;
  for (const auto& stream : impl_->streams) stream->told = {};
}

std::vector<double> RouteStreams::Await(TimePoint begun) {
  impl_->Wait("every stream has received a change",
              [this] { return impl_->told == impl_->streams.size(); });
  const std::lock_guard lock(impl_->mutex);
  std::vector<double> delays;
  for (const auto& stream : impl_->streams) {
    delays.push_back(std::chrono::duration<double, std::milli>(stream->told - begun).count());
  }
  return delays;
}

std::string RouteStreams::Retold(Term term) const {
  const std::lock_guard lock(impl_->mutex);
  v1::WatchRoutesResponse message = impl_->last;
  for (v1::Route& route : *message.mutable_routes()) {
    route.set_term(term.value);
    route.set_revision(term.value);
  }
  message.set_complete_to(term.value);
  return message.SerializeAsString();
}

}  // namespace baton::bench
