#include "bench/kv_kill.h"

#include <netinet/in.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <latch>
#include <map>
#include <random>
#include <stdexcept>
#include <thread>
#include <utility>

#include "baton/router.h"
#include "bench/group_watch.h"
#include "bench/loading_node.h"
#include "bench/process.h"
#include "kv.grpc.pb.h"
#include "runtime/state_file.h"

namespace baton::bench {
namespace {

namespace api = examples::kv;

constexpr std::uint32_t kShards = 32;  // kv_server's default
constexpr std::chrono::seconds kTtl{10};
constexpr std::chrono::milliseconds kPause{10};
// The nodes learn of each other's standbys and leaderships at once, but not at the same time.
constexpr std::chrono::milliseconds kCalm{500};
constexpr std::chrono::seconds kRoutesWithin{30};
constexpr std::chrono::seconds kCallDeadline{60};
constexpr std::chrono::seconds kProgramBound{60};
constexpr const char* kNames[] = {"a", "b", "c"};
// Below those that the kernel gives to connections, so that none gets the port of a server that has
// not begun to listen.
constexpr int kFirstPort = 20'000;
constexpr int kLastPort = 29'999;
constexpr int kTriesForAPort = 1'000;

using Addresses = std::map<NodeId, std::string>;
using Keys = std::map<ShardId, std::string>;

bool IsFree(std::uint16_t port) {
  const int descriptor = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
  if (descriptor < 0) throw std::runtime_error("the system gives no socket");
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_port = htons(port);
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  const bool free =
      bind(descriptor, reinterpret_cast<const sockaddr*>(&address), sizeof address) == 0;
  close(descriptor);
  return free;
}

Addresses FreeAddresses() {
  static std::minstd_rand random(std::random_device{}());
  std::uniform_int_distribution<int> ports(kFirstPort, kLastPort);
  std::map<int, NodeId> chosen;
  Addresses addresses;
  for (const char* id : kNames) {
    int port = ports(random);
    for (int tries = 0; !IsFree(static_cast<std::uint16_t>(port)) || chosen.contains(port);
         port = ports(random)) {
      if (++tries == kTriesForAPort) throw std::runtime_error("no port is free");
    }
    chosen[port] = id;
    addresses[id] = "127.0.0.1:" + std::to_string(port);
  }
  return addresses;
}

std::string ProgramBeside(const StandbyScene& scene, const char* name) {
  return std::filesystem::path(scene.settings.batond).replace_filename(name).string();
}

std::string StateOf(const StandbyScene& scene, const NodeId& node) {
  return scene.folder + "/" + node;
}

std::unique_ptr<Subprocess> StartServer(const StandbyScene& scene, const NodeId& node,
                                        const std::string& address) {
  auto started =
      Subprocess::Start({.arguments = {scene.settings.kv_server,
                                       "--etcd",
                                       EndpointOf(scene.etcd),
                                       "--group",
                                       scene.group,
                                       "--shards",
                                       std::to_string(kShards),
                                       "--node",
                                       node,
                                       "--listen",
                                       address,
                                       "--data",
                                       scene.folder + "/data",
                                       "--state-dir",
                                       StateOf(scene, node),
                                       "--ttl",
                                       std::to_string(kTtl.count()),
                                       "--expect-nodes",
                                       std::to_string(std::size(kNames)),
                                       "--load-time-ms",
                                       std::to_string(std::chrono::milliseconds(kLoadTime).count()),
                                       "--guard-program",
                                       ProgramBeside(scene, "baton-guard")},
                         .output_path = scene.folder + "/" + node + ".log",
                         .lifetime = ChildLifetime::kDiesWithStartingThread});
  if (!started) throw std::runtime_error(started.error().message);
  return std::move(started).value();
}

Processes StartServers(const StandbyScene& scene, const Addresses& addresses) {
  std::filesystem::create_directories(scene.folder + "/data");
  Processes servers;
  for (const auto& [node, address] : addresses) {
    servers[node] = StartServer(scene, node, address);
  }
  return servers;
}

// As an operator does it.
void AskForStandbys(const StandbyScene& scene, const std::string& address) {
  const std::string rules = scene.folder + "/rules.yaml";
  std::ofstream(rules) << "rules:\n  - standbys: " << scene.standbys << '\n';
  const auto ended = RunProgram({.arguments = {ProgramBeside(scene, "batonctl"), "--endpoint",
                                               address, "placement", "set", rules},
                                 .output_path = scene.folder + "/batonctl.log"},
                                BootClock::now() + kProgramBound);
  if (!ended) throw std::runtime_error(ended.error().message);
  if (!ended.value().success()) throw std::runtime_error("batonctl: " + ToString(ended.value()));
}

bool GuardsWait(const StandbyScene& scene) {
  return std::all_of(std::begin(kNames), std::end(kNames), [&](const char* id) {
    return LockIsAwaited(runtime::StateFileIn(StateOf(scene, id)));
  });
}

/// A key of each shard.
Keys KeysOf(const Router& router) {
  Keys keys;
  for (std::uint32_t i = 0; keys.size() < kShards; ++i) {
    const std::string key = "key-" + std::to_string(i);
    const auto shard = router.ShardFor(key);
    if (!shard) throw std::runtime_error(shard.error().message);
    keys.emplace(shard.value(), key);
  }
  return keys;
}

void Read(Router& router, const std::string& key) {
  api::GetRequest request;
  request.set_key(key);
  api::GetResponse response;
  const grpc::Status status =
      router.Call(key, &api::Kv::Stub::Get, request, &response, {.deadline = kCallDeadline});
  if (!status.ok()) throw std::runtime_error("a call failed: " + status.error_message());
}

/// A caller for each of the keys. All begin at once.
class Callers {
 public:
  Callers(Router& router, const std::vector<std::string>& keys) : answers_(keys.size()) {
    for (std::size_t i = 0; i < keys.size(); ++i) {
      threads_.emplace_back([this, &router, key = keys[i], &answer = answers_[i]] {
        begin_.wait();
        try {
          Read(router, key);
          answer.at = BootClock::now();
        } catch (const std::runtime_error& failed) {
          answer.failed = failed.what();
        }
      });
    }
  }
  ~Callers() { Begin(); }
  Callers(const Callers&) = delete;
  Callers& operator=(const Callers&) = delete;
  /// The first call counts.
  void Begin() {
    if (!std::exchange(begun_, true)) begin_.count_down();
  }
  /// When each was answered. REQUIRES: Begin was called.
  std::vector<TimePoint> Await() {
    threads_.clear();  // joins
    std::vector<TimePoint> answered;
    for (const Answer& answer : answers_) {
      if (!answer.failed.empty()) throw std::runtime_error(answer.failed);
      answered.push_back(answer.at);
    }
    return answered;
  }

 private:
  struct Answer {
    TimePoint at{};
    std::string failed;
  };
  bool begun_ = false;
  std::latch begin_{1};
  std::vector<Answer> answers_;
  std::vector<std::jthread> threads_;
};

// Nobody is killed before each shard is led, has its ready standbys, and every guard waits.
void AwaitReady(const StandbyScene& scene, const GroupWatch& watch, const Addresses& addresses) {
  Await(
      "three kv_servers share the shards",
      [&] { return Balanced(watch, std::size(kNames)) && GuardsWait(scene); }, kPause);
  if (scene.standbys > 0) AskForStandbys(scene, addresses.begin()->second);
  Await(
      "the standbys are ready",
      [&] {
        return watch.ReadyStandbys() == scene.standbys * kShards &&
               Balanced(watch, std::size(kNames));
      },
      kPause);
}

// A drain would wait for loads. So each guard ends its node's session at once, before the next
// kill.
void KillAll(const Processes& servers, const GroupWatch& watch) {
  for (const auto& [node, server] : servers) server->Kill();
  Await(
      "the sessions have ended",
      [&] {
        return std::all_of(servers.begin(), servers.end(), [&](const auto& server) {
          return watch.Left(server.first).has_value();
        });
      },
      kPause);
}

}  // namespace

bool HasKvServer(const Settings& settings) { return std::filesystem::exists(settings.kv_server); }

std::vector<double> KillKvServer(const StandbyScene& scene) {
  GroupWatch watch(scene.etcd, scene.group, kShards);
  const Addresses addresses = FreeAddresses();
  Processes servers = StartServers(scene, addresses);
  AwaitReady(scene, watch, addresses);
  const auto leaders = watch.Leaders();
  const NodeId victim =
      std::max_element(leaders.begin(), leaders.end(), [](const auto& a, const auto& b) {
        return a.second < b.second;
      })->first;
  RouterOptions options;
  options.group = scene.group;
  for (const auto& [node, address] : addresses) {
    if (node != victim) options.endpoints.push_back(address);
  }
  const auto router = Router::Start(options);
  if (!router) throw std::runtime_error(router.error().message);
  const Status routed = router.value()->WaitReady(kRoutesWithin);
  if (!routed) throw std::runtime_error(routed.error().message);
  const Keys keys = KeysOf(*router.value());
  for (const auto& [shard, key] : keys) Read(*router.value(), key);  // connects, and is loaded
  std::this_thread::sleep_for(kCalm);
  std::vector<std::string> asked;
  for (const ShardId shard : watch.LedBy(victim)) asked.push_back(keys.at(shard));
  Callers callers(*router.value(), asked);
  const TimePoint killed = BootClock::now();
  servers.at(victim)->Kill();
  callers.Begin();
  std::vector<double> took;
  for (const TimePoint at : callers.Await()) took.push_back(Milliseconds(at - killed));
  servers.erase(victim);
  KillAll(servers, watch);
  return took;
}

}  // namespace baton::bench
