#include "bench/loading_node.h"

#include <signal.h>

#include <algorithm>
#include <condition_variable>
#include <cstdio>
#include <cstdlib>
#include <deque>
#include <fstream>
#include <future>
#include <memory>
#include <mutex>
#include <thread>
#include <utility>

#include "baton/node.h"
#include "runtime/control.h"

namespace baton::bench {
namespace {

constexpr std::chrono::seconds kTtl{10};
constexpr std::uint32_t kNodes = 3;
constexpr std::chrono::minutes kSettle{10};
constexpr std::chrono::seconds kPatience{60};
constexpr std::chrono::milliseconds kAgain{50};

std::string ServedFileOf(const std::string& folder, const NodeId& node) {
  return folder + "/" + node + ".served";
}

/// Loads shards: standbys in the background, others when they are acquired.
class Loading final : public Listener {
 public:
  explicit Loading(const std::string& file) : served_(file) {}

  /// The node must outlive this process's use of it: the process ends with both.
  void BeginStandbys(Node& node) {
    std::thread([this, &node] { LoadStandbys(node); }).detach();
  }

  void Standby(ShardId shard) override {
    const std::lock_guard lock(mutex_);
    standbys_.emplace_back(BeginLoad(shard), shard);
    changed_.notify_all();
  }
  void StandbyEnded(ShardId shard) override { Drop(shard); }
  void Acquired(ShardId shard, Term) override {
    std::unique_lock lock(mutex_);
    const TimePoint loaded_at = BeginLoad(shard);
    lock.unlock();
    std::this_thread::sleep_for(loaded_at - BootClock::now());
    lock.lock();
    served_ << shard.value << ' ' << BootClock::now().time_since_epoch().count() << '\n'
            << std::flush;
  }
  void Lost(ShardId shard, Term, Reason) override { Drop(shard); }

 private:
  // Returns when the load is over. REQUIRES: the mutex is held.
  TimePoint BeginLoad(ShardId shard) {
    return loaded_at_.emplace(shard, BootClock::now() + kLoadTime).first->second;
  }
  void Drop(ShardId shard) {
    const std::lock_guard lock(mutex_);
    loaded_at_.erase(shard);
  }
  // The first to begin are the first to be loaded.
  void LoadStandbys(Node& node) {
    std::unique_lock lock(mutex_);
    while (true) {
      changed_.wait(lock, [this] { return !standbys_.empty(); });
      const auto [at, shard] = standbys_.front();
      if (at > BootClock::now()) {
        changed_.wait_for(lock, at - BootClock::now());
        continue;
      }
      standbys_.pop_front();
      const auto loading = loaded_at_.find(shard);
      if (loading != loaded_at_.end() && loading->second == at) node.SetStandbyReady(shard, true);
    }
  }

  std::mutex mutex_;  // guards what follows
  std::condition_variable changed_;
  std::map<ShardId, TimePoint> loaded_at_;  ///< of each load that has begun
  std::deque<std::pair<TimePoint, ShardId>> standbys_;
  std::ofstream served_;
};

void SetStandbys(Node& node, std::uint32_t standbys) {
  PlacementRule rule;
  rule.standbys = standbys;
  runtime::GroupChangeRequest request;
  request.placement = Placement{rule};
  request.actor = "baton_bench";
  while (true) {
    auto answered = std::make_shared<std::promise<bool>>();
    node.control().Request(request,
                           [answered](const Status& status) { answered->set_value(status.ok()); });
    if (answered->get_future().get()) return;
    std::this_thread::sleep_for(kAgain);
  }
}

[[noreturn]] void EndBadly(const Error& why) {
  std::fprintf(stderr, "%s\n", why.message.c_str());
  std::_Exit(1);
}

LoadingNode NodeOf(const std::vector<std::string>& words) {
  return {.endpoint = words.at(0),
          .group = words.at(1),
          .node = words.at(2),
          .shards = static_cast<std::uint32_t>(std::stoul(words.at(3))),
          .standbys = static_cast<std::uint32_t>(std::stoul(words.at(4))),
          .folder = words.at(5),
          .guard = words.at(6)};
}

}  // namespace

std::vector<std::string> WordsOf(const LoadingNode& node) {
  return {node.endpoint,
          node.group,
          node.node,
          std::to_string(node.shards),
          std::to_string(node.standbys),
          node.folder,
          node.guard};
}

void BeLoadingNode(const std::vector<std::string>& words) {
  sigset_t signals;
  sigemptyset(&signals);
  sigaddset(&signals, SIGTERM);
  pthread_sigmask(SIG_BLOCK, &signals, nullptr);
  const LoadingNode given = NodeOf(words);
  NodeOptions options;
  options.group = given.group;
  options.node = given.node;
  options.shards = given.shards;
  options.etcd.endpoints = {given.endpoint};
  options.ttl = kTtl;
  options.expect_nodes = kNodes;
  options.settle = kSettle;  // never reached: the expected number of nodes ends the cold start
  options.state_dir = given.folder + "/" + given.node;
  options.guard = GuardMode::kOwn;
  options.guard_program = given.guard;
  options.log_level = LogLevel::kWarn;
  const auto loading = std::make_shared<Loading>(ServedFileOf(given.folder, given.node));
  auto started = Node::Start(options, loading);
  if (!started) EndBadly(started.error());
  Node& node = *started.value();
  loading->BeginStandbys(node);
  if (given.standbys > 0) {
    if (const Status ready = node.WaitReady(kPatience); !ready) EndBadly(ready.error());
    SetStandbys(node, given.standbys);
  }
  int signal = 0;
  sigwait(&signals, &signal);
  node.Stop();
  std::_Exit(0);
}

std::map<ShardId, TimePoint> ServedBy(const std::string& folder, const NodeId& node) {
  std::map<ShardId, TimePoint> served;
  std::ifstream file(ServedFileOf(folder, node));
  std::uint32_t shard = 0;
  Duration::rep at = 0;
  while (file >> shard >> at) served[ShardId{shard}] = TimePoint(Duration(at));
  return served;
}

}  // namespace baton::bench
