// etcd's calls and streams in a process whose gRPC is busy with callers.
#include <atomic>
#include <condition_variable>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include <grpcpp/generic/async_generic_service.h>
#include <grpcpp/generic/generic_stub.h>
#include <grpcpp/grpcpp.h>

#include "contract/transport_support.h"

namespace baton::etcd::test {
namespace {

/// A server and its callers in this process. Each caller gives its call up, and the server's
/// handling of that blocks. gRPC (1.51) does that on its executor, which has two threads for each
/// processor, and which also works for connections that two threads use at once.
class BusyExecutor {
 public:
  BusyExecutor() {
    int port = 0;
    grpc::ServerBuilder builder;
    builder.AddListeningPort("127.0.0.1:0", grpc::InsecureServerCredentials(), &port);
    builder.RegisterCallbackGenericService(&service_);
    server_ = builder.BuildAndStart();
    const grpc::Slice nothing("");
    const grpc::ByteBuffer request(&nothing, 1);
    grpc::GenericStub stub(grpc::CreateChannel("127.0.0.1:" + std::to_string(port),
                                               grpc::InsecureChannelCredentials()));
    for (int i = 0; i < kCalls; ++i) {
      contexts_.push_back(std::make_unique<grpc::ClientContext>());
      answers_.emplace_back(std::make_unique<grpc::ByteBuffer>());
      stub.UnaryCall(contexts_.back().get(), "/test/Wait", {}, &request, answers_.back().get(),
                     [this](const grpc::Status&) { Count(&State::over); });
    }
    Await(&State::begun, kCalls);
    for (const auto& context : contexts_) context->TryCancel();
  }
  ~BusyExecutor() {
    {
      const std::lock_guard lock(mutex_);
      released_ = true;
      changed_.notify_all();
    }
    Await(&State::over, kCalls);
    server_->Shutdown();
    server_->Wait();
  }

  /// Whether so many of the executor's threads are blocked.
  bool Blocks(int threads) { return Await(&State::blocked, threads); }

 private:
  static constexpr int kCalls = 64;

  struct State {
    int begun = 0;
    int blocked = 0;
    int over = 0;
  };

  class Held final : public grpc::ServerGenericBidiReactor {
   public:
    explicit Held(BusyExecutor& owner) : owner_(owner) { owner_.Count(&State::begun); }
    void OnCancel() override {
      owner_.Block();
      Finish(grpc::Status::CANCELLED);
    }
    void OnDone() override { delete this; }

   private:
    BusyExecutor& owner_;
  };
  class Service final : public grpc::CallbackGenericService {
   public:
    explicit Service(BusyExecutor& owner) : owner_(owner) {}
    grpc::ServerGenericBidiReactor* CreateReactor(grpc::GenericCallbackServerContext*) override {
      return new Held(owner_);
    }

   private:
    BusyExecutor& owner_;
  };

  void Count(int State::*what) {
    const std::lock_guard lock(mutex_);
    ++(state_.*what);
    changed_.notify_all();
  }
  bool Await(int State::*what, int count) {
    std::unique_lock lock(mutex_);
    return changed_.wait_for(lock, kPatience, [&] { return state_.*what >= count; });
  }
  void Block() {
    std::unique_lock lock(mutex_);
    ++state_.blocked;
    changed_.notify_all();
    changed_.wait(lock, [this] { return released_; });
  }

  std::mutex mutex_;
  std::condition_variable changed_;
  State state_;            // mutex_
  bool released_ = false;  // mutex_
  Service service_{*this};
  std::unique_ptr<grpc::Server> server_;
  std::vector<std::unique_ptr<grpc::ClientContext>> contexts_;
  std::vector<std::unique_ptr<grpc::ByteBuffer>> answers_;
};

constexpr std::size_t kTimes = 300;
constexpr std::chrono::seconds kConnects{3};

/// Commits and keepalives, one after another, from a thread of the test's own, and a watch of them,
/// while threads of gRPC's executor are blocked. Returns what was not answered; empty: all was.
std::string NotAnswered(const lab::PrivateEtcd& etcd) {
  const auto transport = Connect({.endpoints = etcd.endpoints()});
  if (transport == nullptr) return "no transport";
  // On a busy machine the first attempts to connect may fail.
  const TimePoint until = BootClock::now() + kPatience;
  const auto late = [&] { return BootClock::now() > until; };
  while (!TimeToLive(*transport, 7).status.ok()) {
    if (late()) return "no connection";
  }
  KeepAliveLog renewals;
  std::unique_ptr<KeepAliveStream> keepalive;
  while (renewals.answers.Values().empty()) {
    if (late()) return "no keepalives";
    keepalive = transport->OpenKeepAlive(7, "", renewals.Handler());
    keepalive->Send();
    renewals.answers.WaitForCount(1, kConnects);
  }
  const auto first = Put(*transport, "k", "first");
  if (!first.status.ok()) return "no commits";
  WatchLog events;
  std::unique_ptr<WatchStream> watch;
  while (events.responses.Values().empty()) {
    if (late()) return "no watch";
    watch = transport->OpenWatch(WatchFrom("k", first.response.header().revision() + 1), "",
                                 events.Handler());
    events.responses.WaitForCount(1, kConnects);
  }
  BusyExecutor busy;
  if (!busy.Blocks(1)) return "gRPC's executor is not blocked";
  for (std::size_t i = 1; i <= kTimes; ++i) {
    keepalive->Send();
    if (!Put(*transport, "k", std::to_string(i)).status.ok()) return "commit " + std::to_string(i);
    if (renewals.answers.WaitForCount(i + 1, kDeadline).size() != i + 1) {
      return "renewal " + std::to_string(i);
    }
  }
  return events.WaitForEvents(kTimes).size() == kTimes ? "" : "an event";
}

// Plan: all is answered, in one of three rounds. If another thread than that of the answers began a
// call, the rest of its work could be left to the executor: that was so for one of the first twelve
// calls of each round. gRPC's own timers can cause it, too, but rarely.
TEST(TransportBesideBusyCallers, NeedsNoThreadOfGrpcsExecutor) {
  const auto etcd = StartEtcd({.members = 1});
  ASSERT_NE(etcd, nullptr);
  const auto granting = Connect({.endpoints = etcd->endpoints()});
  ASSERT_NE(granting, nullptr);
  const TimePoint until = BootClock::now() + kPatience;
  while (!Grant(*granting, 7, 600).status.ok()) ASSERT_LT(BootClock::now(), until);
  std::string hung;
  for (int round = 0; round < 3; ++round) {
    hung = NotAnswered(*etcd);
    if (hung.empty()) return;
  }
  FAIL() << hung;
}

}  // namespace
}  // namespace baton::etcd::test
