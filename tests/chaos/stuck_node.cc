// A node whose application has shards that misbehave: of each hundred, one starts slowly, one never
// finishes to start, one stops slowly, one never finishes to stop, and one throws when it starts.
// It writes down the answers of Leads(), as chaos_kv_node does, and each release of a shard that
// never finishes to stop.
//
//   chaos_stuck_node --etcd 127.0.0.1:2379 --node n1 --listen 127.0.0.1:7400 --history FILE
//   chaos_stuck_node ... --misbehave no        the same without any
#include <baton/grpc.h>
#include <baton/node.h>
#include <grpcpp/grpcpp.h>
#include <signal.h>

#include <chrono>
#include <condition_variable>
#include <memory>
#include <mutex>
#include <stdexcept>
#include <string>

#include "flags.h"
#include "history.h"
#include "sampler.h"

namespace baton::chaos {
namespace {

constexpr std::chrono::milliseconds kSampleEvery{25};
constexpr std::chrono::milliseconds kSlow{500};
constexpr std::chrono::hours kForEver{24};

enum class Kind { kGood, kSlowStart, kStuckStart, kSlowStop, kStuckStop, kThrowingStart };

/// stuck.py has the same numbers.
Kind KindOf(ShardId shard) {
  switch (shard.value % 100) {
    case 0: return Kind::kSlowStart;
    case 20: return Kind::kStuckStart;
    case 40: return Kind::kSlowStop;
    case 60: return Kind::kStuckStop;
    case 80: return Kind::kThrowingStart;
    default: return Kind::kGood;
  }
}

class Misbehaving final : public Listener {
 public:
  explicit Misbehaving(const History& history) : history_(history) {}

  void Acquired(ShardId shard, Term) override {
    const Kind kind = KindOf(shard);
    if (kind == Kind::kThrowingStart) throw std::runtime_error("its data can't be read");
    if (kind == Kind::kSlowStart) Wait(kSlow);
    if (kind == Kind::kStuckStart) Wait(kForEver);
  }
  void Releasing(ShardId shard, Term) override {
    const Kind kind = KindOf(shard);
    if (kind == Kind::kSlowStop) Wait(kSlow);
    if (kind != Kind::kStuckStop) return;
    history_.Write("{\"at\":" + std::to_string(history_.Now()) +
                   ",\"event\":\"releasing\",\"shard\":" + std::to_string(shard.value) + "}");
    Wait(kForEver);
  }

  /// Lets every callback return, so that the process can end.
  void End() {
    const std::lock_guard lock(mutex_);
    ending_ = true;
    ended_.notify_all();
  }

 private:
  void Wait(std::chrono::milliseconds bound) {
    std::unique_lock lock(mutex_);
    ended_.wait_for(lock, bound, [this] { return ending_; });
  }

  const History& history_;
  std::mutex mutex_;  // guards ending_
  std::condition_variable ended_;
  bool ending_ = false;
};

NodeOptions OptionsFrom(const kv::Flags& flags) {
  NodeOptions options;
  options.group = flags.find("group")->second;
  options.shards = static_cast<std::uint32_t>(kv::NumberOf(flags, "shards", 1, 100'000));
  options.node = flags.find("node")->second;
  options.etcd.endpoints = kv::ListOf(flags, "etcd");
  options.address = flags.find("listen")->second;
  options.state_dir = flags.find("state-dir")->second;
  options.ttl = std::chrono::seconds(kv::NumberOf(flags, "ttl", 2, 3600));
  options.expect_nodes = static_cast<std::uint32_t>(kv::NumberOf(flags, "expect-nodes", 1, 100));
  options.rebalance_delay = std::chrono::milliseconds(500);
  options.cooldown = std::chrono::milliseconds(1000);
  options.prepare_timeout = options.release_timeout = options.callback_timeout =
      std::chrono::milliseconds(kv::NumberOf(flags, "callback-timeout-ms", 1, 3'600'000));
  options.drain_timeout = std::chrono::seconds(10);
  options.log_level = LogLevel::kWarn;  // each of thousands of transitions is a line of level info
  return options;
}

int Serve(const kv::Flags& flags, const History& history) {
  const NodeOptions options = OptionsFrom(flags);
  const auto misbehaving = std::make_shared<Misbehaving>(history);
  const bool misbehave = flags.find("misbehave")->second == "yes";
  auto started = Node::Start(options, misbehave ? misbehaving : std::make_shared<Listener>());
  if (!started) kv::Fail(started.error().message, 1);
  Node& node = *started.value();
  grpc::ServerBuilder builder;
  builder.AddListeningPort(options.address, grpc::InsecureServerCredentials());
  const auto admin = RegisterAdminService(builder, node, {.allow_remote = true});
  const std::unique_ptr<grpc::Server> server = builder.BuildAndStart();
  if (server == nullptr) kv::Fail("can't listen on " + options.address, 1);
  bool drained = false;
  {
    const Sampler sampler(node, history, options.shards, kSampleEvery);
    sigset_t signals;
    sigemptyset(&signals);
    sigaddset(&signals, SIGTERM);
    int signal = 0;
    sigwait(&signals, &signal);
    drained = node.Drain().ok();
  }
  server->Shutdown(std::chrono::system_clock::now() + std::chrono::seconds(5));
  server->Wait();
  misbehaving->End();
  node.Stop();
  return drained ? 0 : 1;
}

}  // namespace
}  // namespace baton::chaos

int main(int argc, char** argv) {
  // Taken by sigwait, so blocked before any thread starts.
  sigset_t signals;
  sigemptyset(&signals);
  sigaddset(&signals, SIGTERM);
  pthread_sigmask(SIG_BLOCK, &signals, nullptr);
  const kv::Flags flags = kv::ParseFlags(argc, argv,
                                         {{"etcd", "127.0.0.1:2379"},
                                          {"group", "stuck"},
                                          {"shards", "1000"},
                                          {"node", "n1"},
                                          {"listen", "127.0.0.1:7400"},
                                          {"state-dir", ""},
                                          {"ttl", "3"},
                                          {"expect-nodes", "5"},
                                          {"callback-timeout-ms", "2000"},
                                          {"misbehave", "yes"},
                                          {"history", "/dev/null"}});
  const baton::chaos::History history(flags.find("history")->second, 0);
  return baton::chaos::Serve(flags, history);
}
