// Part (n): one of three processes is killed, the one that leads most, with guards and a lease of
// 10 s. Each process embeds a node whose application takes 2 s to load a shard. With a standby for
// each shard, ready before the kill; and without standbys.
//
// The time runs from just before the SIGKILL to the end of a shard's Acquired in another process,
// when the shard is loaded there and led: from then on it is served. All processes read one clock.
//
// The same with the servers of examples/kv, as their callers see it (kv_kill.h).
//
// Each kill has a group of its own, as in part (m).
#include <algorithm>
#include <cstdio>
#include <filesystem>
#include <iterator>
#include <stdexcept>
#include <thread>

#include "bench/group_watch.h"
#include "bench/kv_kill.h"
#include "bench/loading_node.h"
#include "bench/nodes.h"
#include "bench/parts.h"
#include "bench/process.h"
#include "runtime/state_file.h"

namespace baton::bench {
namespace {

constexpr std::uint32_t kShards = 120;
constexpr std::chrono::milliseconds kPause{10};
// The nodes learn of each other's standbys and leaderships at once, but not at the same time.
constexpr std::chrono::milliseconds kCalm{500};
constexpr const char* kNames[] = {"a", "b", "c"};
constexpr double kAim = 50;  // milliseconds

Processes StartAll(const StandbyScene& scene) {
  const auto guard = std::filesystem::path(scene.settings.batond).replace_filename("baton-guard");
  Processes nodes;
  for (const char* id : kNames) {
    std::vector<std::string> line = {scene.settings.self, "--loading-node"};
    const auto words = WordsOf({.endpoint = EndpointOf(scene.etcd),
                                .group = scene.group,
                                .node = id,
                                .shards = kShards,
                                .standbys = scene.standbys,
                                .folder = scene.folder,
                                .guard = guard.string()});
    line.insert(line.end(), words.begin(), words.end());
    auto started = Subprocess::Start({.arguments = line,
                                      .output_path = scene.folder + "/" + id + ".log",
                                      .lifetime = ChildLifetime::kDiesWithStartingThread});
    if (!started) throw std::runtime_error(started.error().message);
    nodes[id] = std::move(started).value();
  }
  return nodes;
}

// Nobody is killed before every shard is served, has its ready standbys, and every guard waits.
bool Ready(const StandbyScene& scene, const GroupWatch& watch) {
  std::size_t served = 0;
  for (const char* id : kNames) {
    if (!LockIsAwaited(runtime::StateFileIn(scene.folder + "/" + id))) return false;
    served += ServedBy(scene.folder, id).size();
  }
  return served >= kShards && watch.ReadyStandbys() == scene.standbys * kShards &&
         Balanced(watch, std::size(kNames));
}

// When the processes that live serve the shards. Some may be missing.
std::vector<TimePoint> ServedSince(const StandbyScene& scene, const std::vector<ShardId>& shards,
                                   TimePoint killed) {
  std::vector<TimePoint> served;
  std::map<ShardId, TimePoint> all;
  for (const char* id : kNames) {
    for (const auto& [shard, at] : ServedBy(scene.folder, id))
      all[shard] = std::max(all[shard], at);
  }
  for (const ShardId shard : shards) {
    if (all[shard] > killed) served.push_back(all[shard]);
  }
  return served;
}

// Returns the milliseconds after which each of the killed process's shards was served again.
std::vector<double> KillOne(const StandbyScene& scene) {
  std::filesystem::create_directory(scene.folder);
  GroupWatch watch(scene.etcd, scene.group, kShards);
  Processes nodes = StartAll(scene);
  Await(
      "three nodes serve every shard, and their standbys are ready",
      [&] { return Ready(scene, watch); }, kPause);
  std::this_thread::sleep_for(kCalm);
  const auto leaders = watch.Leaders();
  const auto most =
      std::max_element(leaders.begin(), leaders.end(),
                       [](const auto& a, const auto& b) { return a.second < b.second; });
  const std::string victim = most->first;
  const std::vector<ShardId> shards = watch.LedBy(victim);
  const TimePoint killed = BootClock::now();
  nodes.at(victim)->Kill();
  std::vector<TimePoint> served;
  Await(
      "the others serve its shards",
      [&] {
        served = ServedSince(scene, shards, killed);
        return served.size() == shards.size();
      },
      kPause);
  nodes.erase(victim);
  StopInOrder(nodes);  // no guard acts during the next kill
  std::vector<double> took;
  for (const TimePoint at : served) took.push_back(Milliseconds(at - killed));
  return took;
}

struct Contender {
  std::string id;  ///< in the names of its groups
  std::string name;
  std::vector<double> (*kill)(const StandbyScene& scene) = nullptr;
  std::uint32_t standbys = 0;
  int kills = 1;  ///< in each round
  Series each = {};
  Series all = {};
  Series rounds = {};  ///< the medians of `all`
};

void RunRound(StandbyScene scene, Contender& contender) {
  scene.standbys = contender.standbys;
  Series took;
  for (int kill = 0; kill < contender.kills; ++kill) {
    scene.group = contender.id + std::to_string(contender.standbys) + "-" +
                  std::to_string(contender.all.values().size());
    scene.folder = scene.etcd.folder() + "/" + scene.group;
    const std::vector<double> served = contender.kill(scene);
    for (const double one : served) contender.each.Add(one);
    took.Add(*std::max_element(served.begin(), served.end()));
    contender.all.Add(took.values().back());
  }
  contender.rounds.Add(took.Median());
}

std::string NoteOf(const Series& series, const char* of) {
  return "p99 " + Short(Percentile(series.values(), 99)) + " ms of " +
         Grouped(series.values().size()) + of;
}

/// With standbys and without.
struct Pair {
  std::string what;    ///< in the rows
  std::string demand;  ///< on shards with standbys
  Contender with;
  Contender without;
};

void Tell(const Pair& pair, Report& report) {
  for (const Contender* contender : {&pair.with, &pair.without}) {
    report.Add({"n", pair.what + ", 1 shard, " + contender->name, "ms", contender->each,
                NoteOf(contender->each, " shards")});
    report.Add({"n", pair.what + ", all shards, " + contender->name, "ms", contender->all,
                NoteOf(contender->all, " kills")});
  }
  report.Add({"n", "  without standbys / with, all shards", "x",
              Ratio(pair.without.rounds, pair.with.rounds)});
  const double p99 = Percentile(pair.with.each.values(), 99);
  report.Judge({pair.demand, "< " + Short(kAim) + " ms", Short(p99) + " ms", p99 < kAim});
}

void Measure(const Settings& settings, lab::PrivateEtcd& etcd, Pair& pair) {
  std::vector<Contender*> order = {&pair.with, &pair.without};
  for (int round = 0; round < settings.repeat; ++round) {
    for (Contender* contender : order) {
      RunRound({.settings = settings, .etcd = etcd, .group = {}, .folder = {}}, *contender);
    }
    std::reverse(order.begin(), order.end());
  }
}

Pair PairOf(const std::string& id, std::vector<double> (*kill)(const StandbyScene& scene)) {
  return {.what = {},
          .demand = {},
          .with = {.id = id, .name = "with standbys", .kill = kill, .standbys = 1, .kills = 4},
          .without = {.id = id, .name = "without", .kill = kill, .standbys = 0, .kills = 2}};
}

}  // namespace

void MeasureStandbys(const Settings& settings, Report& report) {
  const auto etcd = StartEtcd();
  Pair nodes = PairOf("standbys", KillOne);
  nodes.what = "kill -9, 2 s to load: served again";
  nodes.demand =
      "kill -9 of one of 3 nodes with guards and ready standbys, shards that take 2 s to load: a "
      "shard served again, p99";
  Measure(settings, *etcd, nodes);
  Tell(nodes, report);
  if (!HasKvServer(settings)) {
    std::printf("n  examples/kv is left out: kv_server is not built\n");
    return;
  }
  Pair kv = PairOf("kv", KillKvServer);
  kv.what = "examples/kv, kill -9, 2 s to load: callers answered again";
  kv.demand =
      "kill -9 of one of 3 servers of examples/kv with guards and ready standbys, shards that take "
      "2 s to load: a caller answered again, p99";
  Measure(settings, *etcd, kv);
  Tell(kv, report);
}

}  // namespace baton::bench
