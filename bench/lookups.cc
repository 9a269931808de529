// Part (g): what reading a route costs while routes change 100 times a second. A router follows a
// server in this process. It is compared with the same routes in a std::unordered_map behind a
// shared mutex.
//
// Time is the reading thread's processor time: nanoseconds of one core, whatever else the machine
// does.
#include <grpcpp/grpcpp.h>

#include <atomic>
#include <random>
#include <shared_mutex>
#include <stdexcept>
#include <thread>
#include <unordered_map>

#include "baton/router.h"
#include "baton/sharding.h"
#include "baton/v1/routing.grpc.pb.h"
#include "bench/machine.h"
#include "bench/nodes.h"
#include "bench/parts.h"

namespace baton::bench {
namespace {

constexpr std::uint32_t kShards = 100'000;
constexpr std::uint32_t kNodes = 100;
constexpr std::size_t kLookups = 20'000'000;
constexpr std::size_t kPicks = 1 << 20;  // a power of two, walked in order
constexpr std::size_t kKeys = 1 << 16;
constexpr std::size_t kKeyLength = 16;
constexpr std::chrono::milliseconds kChangeEvery{10};
constexpr double kLeastMillions = 50;
constexpr double kMaxNanoseconds = 50;

std::uint32_t Below(std::uint32_t bound, std::mt19937& random) {
  return static_cast<std::uint32_t>(random() % bound);
}

v1::KeyMapping::Hash ToProto(HashFunction hash) {
  return hash == HashFunction::kMurmur2 ? v1::KeyMapping::HASH_MURMUR2
                                        : v1::KeyMapping::HASH_XXH3_JUMP;
}

/// Serves the routes of a group whose leaders change one by one, for one router.
class Group final : public v1::RoutingService::Service {
 public:
  explicit Group(HashFunction hash) : hash_(hash) {
    grpc::ServerBuilder builder;
    int port = 0;
    builder.AddListeningPort("127.0.0.1:0", grpc::InsecureServerCredentials(), &port);
    builder.RegisterService(this);
    server_ = builder.BuildAndStart();
    if (server_ == nullptr) throw std::runtime_error("can't serve gRPC on loopback");
    address_ = "127.0.0.1:" + std::to_string(port);
  }
  ~Group() override {
    server_->Shutdown(std::chrono::system_clock::now());
    server_->Wait();
  }
  Group(const Group&) = delete;
  Group& operator=(const Group&) = delete;

  const std::string& address() const { return address_; }

 private:
  grpc::Status WatchRoutes(grpc::ServerContext* context, const v1::WatchRoutesRequest*,
                           grpc::ServerWriter<v1::WatchRoutesResponse>* writer) override {
    std::mt19937 random(1);
    std::int64_t revision = 2;
    writer->Write(Snapshot(revision));
    while (!context->IsCancelled()) {
      std::this_thread::sleep_for(kChangeEvery);
      v1::WatchRoutesResponse delta;
      AddRoute(delta, Below(kShards, random), Below(kNodes, random), ++revision);
      delta.set_complete_to(revision);
      writer->Write(delta);
    }
    return grpc::Status::OK;
  }

  static void AddRoute(v1::WatchRoutesResponse& message, std::uint32_t shard, std::uint32_t node,
                       std::int64_t revision) {
    while (message.nodes_size() < static_cast<int>(kNodes)) {
      const std::string number = std::to_string(message.nodes_size());
      v1::RouteNode& named = *message.add_nodes();
      named.set_node("node" + number);
      named.set_address("10.0.0." + number + ":7400");
    }
    v1::Route& route = *message.add_routes();
    route.set_shard(shard);
    route.set_leader(node + 1);
    route.set_term(revision);
    route.set_state(v1::Route::STATE_LED);
    route.set_revision(revision);
  }

  v1::WatchRoutesResponse Snapshot(std::int64_t revision) const {
    v1::WatchRoutesResponse all;
    all.set_group("bench");
    all.mutable_mapping()->set_shards(kShards);
    all.mutable_mapping()->set_hash(ToProto(hash_));
    all.set_cluster(1);
    all.set_server("bench");
    for (std::uint32_t shard = 0; shard < kShards; ++shard) {
      AddRoute(all, shard, shard % kNodes, revision);
    }
    all.set_snapshot_end(true);
    all.set_complete_to(revision);
    return all;
  }

  const HashFunction hash_;
  std::unique_ptr<grpc::Server> server_;
  std::string address_;
};

/// A program without a router would do this: a map, and a thread that changes it as often.
class LockedMap {
 public:
  LockedMap() {
    for (std::uint32_t shard = 0; shard < kShards; ++shard) Put(shard, shard % kNodes, 2);
    writer_ = std::thread([this] {
      std::mt19937 random(1);
      for (std::int64_t term = 3; !over_.load(); ++term) {
        std::this_thread::sleep_for(kChangeEvery);
        const std::unique_lock lock(mutex_);
        Put(Below(kShards, random), Below(kNodes, random), term);
      }
    });
  }
  ~LockedMap() {
    over_.store(true);
    writer_.join();
  }
  LockedMap(const LockedMap&) = delete;
  LockedMap& operator=(const LockedMap&) = delete;

  /// Returns a copy, since the entry may go once the lock is released.
  std::pair<std::string, std::int64_t> Find(std::uint32_t shard) const {
    const std::shared_lock lock(mutex_);
    return routes_.at(shard);
  }

 private:
  void Put(std::uint32_t shard, std::uint32_t node, std::int64_t term) {
    routes_[shard] = {"10.0.0." + std::to_string(node) + ":7400", term};
  }

  mutable std::shared_mutex mutex_;
  std::unordered_map<std::uint32_t, std::pair<std::string, std::int64_t>> routes_;
  std::atomic<bool> over_{false};
  std::thread writer_;
};

/// Nanoseconds of one lookup. The result is used, so that the compiler keeps the call.
template <typename Lookup>
double Nanoseconds(std::size_t count, Lookup look_up) {
  std::int64_t sum = 0;
  const double begun = ThreadSeconds();
  for (std::size_t i = 0; i < count; ++i) sum += look_up(i);
  const double took = ThreadSeconds() - begun;
  if (sum == 0) throw std::runtime_error("the routes were empty");
  return took * 1e9 / static_cast<double>(count);
}

std::vector<ShardId> PickShards() {
  std::mt19937 random(7);
  std::vector<ShardId> picks(kPicks);
  for (ShardId& pick : picks) pick = ShardId{Below(kShards, random)};
  return picks;
}

/// The keys lie one after another in memory, as those of requests do.
std::string PickKeys() {
  std::mt19937 random(9);
  std::string keys(kKeys * kKeyLength, 0);
  for (char& byte : keys) byte = static_cast<char>(random());
  return keys;
}

void MeasureShards(const Router& router, int repeat, Report& report) {
  const std::vector<ShardId> picks = PickShards();
  const LockedMap map;
  Series ours, others, millions;
  for (int i = 0; i < repeat; ++i) {
    ours.Add(Nanoseconds(
        kLookups, [&](std::size_t at) { return router.Owner(picks[at % kPicks]).term.value; }));
    millions.Add(1000 / ours.values().back());
    others.Add(Nanoseconds(
        kLookups / 10, [&](std::size_t at) { return map.Find(picks[at % kPicks].value).second; }));
  }
  report.Add({"g", "Router::Owner(shard), random shards", "ns", ours});
  report.Add({"g", "std::unordered_map behind std::shared_mutex, the same", "ns", others});
  report.Add({"g", "Router::Owner(shard), random shards", "million/s", millions});
  report.Judge(
      {"lookups a second by random shard number, one core, while routes change 100 times a "
       "second",
       ">= 50 million", Short(millions.Median()) + " million",
       millions.Median() >= kLeastMillions});
}

/// Runs both in turns of short slices, so that other load meets both alike.
void MeasureKeys(const Router& router, HashFunction hash, int repeat, Report& report) {
  constexpr std::size_t kSlices = 20;
  const std::string keys = PickKeys();
  const auto key = [&](std::size_t at) {
    return std::string_view(keys).substr(at % kKeys * kKeyLength, kKeyLength);
  };
  Series bare, ours;
  for (int i = 0; i < repeat; ++i) {
    double hashed = 0;
    double looked_up = 0;
    for (std::size_t slice = 0; slice < kSlices; ++slice) {
      hashed += Nanoseconds(kLookups / kSlices, [&](std::size_t at) {
        return std::int64_t{ShardFor(key(at), hash, kShards)->value};
      });
      looked_up += Nanoseconds(kLookups / kSlices,
                               [&](std::size_t at) { return router.Owner(key(at))->term.value; });
    }
    bare.Add(hashed / kSlices);
    ours.Add(looked_up / kSlices);
  }
  const std::string by = std::string(", ") + ToString(hash);
  report.Add({"g", "ShardFor(key) alone, random keys of 16 bytes" + by, "ns", bare});
  report.Add({"g", "Router::Owner(key), the same keys in memory" + by, "ns", ours});
  const double added = ours.Median() - bare.Median();
  report.Judge({"lookup by random 16-byte key, beyond the bare hash's time" + by, "<= 50 ns",
                Short(added) + " ns", added <= kMaxNanoseconds});
}

}  // namespace

void MeasureLookups(const Settings& settings, Report& report) {
  for (const HashFunction hash : {HashFunction::kMurmur2, HashFunction::kXxh3Jump}) {
    const Group group(hash);
    const auto router = Router::Start({.group = "bench", .endpoints = {group.address()}});
    if (!router) throw std::runtime_error(router.error().message);
    if (const Status ready = router.value()->WaitReady(std::chrono::seconds(30)); !ready) {
      throw std::runtime_error(ready.error().message);
    }
    if (hash == HashFunction::kMurmur2) MeasureShards(*router.value(), settings.repeat, report);
    MeasureKeys(*router.value(), hash, settings.repeat, report);
  }
}

}  // namespace baton::bench
