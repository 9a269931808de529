// Part (m): one of three processes is killed, the one that leads most. The time runs from just
// before the SIGKILL, as seen from outside, to the watch event by which the last of its shards has
// another leader. Three contenders, each with a lease of 10 s:
// - daemons with guards, where the lease plays no part;
// - daemons with guards and a timeout for hangs, of which one is stopped (SIGSTOP) instead of
// killed.
//   The figure is the time beyond that timeout;
// - daemons without guards;
// - etcd's own recipe for elections in Go (go_recipe/main.go): processes with one session each,
//   and an election for each shard. The next key in line counts as the leader once the dead one's
//   key is gone, although that process hears of it later. Each process begins its campaigns little
//   by little (100 requests without an answer at most), since etcd 3.4 refuses 10,000 at once, and
//   a refused campaign ends its process. The kill comes when all have begun, so that is no part of
//   the figure.
// A kill comes soon after the processes' start, so most of the lease is left then.
//
// Each kill has a group of its own: a shard whose leaders died soon, twice in a row, has to wait.
#include <signal.h>

#include <algorithm>
#include <cstdio>
#include <filesystem>
#include <functional>
#include <iterator>
#include <map>
#include <stdexcept>
#include <thread>

#include "bench/election_watch.h"
#include "bench/group_watch.h"
#include "bench/nodes.h"
#include "bench/parts.h"
#include "bench/process.h"
#include "runtime/state_file.h"

namespace baton::bench {
namespace {

constexpr std::chrono::seconds kTtl{10};
constexpr std::chrono::milliseconds kHangTimeout{1000};
constexpr double kStoppedAim = 50;  // milliseconds beyond kHangTimeout
constexpr std::chrono::milliseconds kPause{2};
// A node that hears of the first leader and of its death at once takes the group for one that
// starts, and waits. etcd may serve a new watch only after 100 ms.
constexpr std::chrono::milliseconds kCalm{500};
constexpr const char* kNames[] = {"a", "b", "c"};
// With more shards the time beyond the timeout for hangs has no aim.
constexpr std::uint32_t kMostWithAim = 1'000;

struct Size {
  std::uint32_t shards = 0;
  int kills = 0;  ///< with guards, in each round
  double aim = 0;
};
constexpr Size kSizes[] = {{1, 20, 25}, {1'000, 4, 30}, {10'000, 2, 90}};

struct Scene {
  const Settings& settings;
  lab::PrivateEtcd& etcd;
  std::uint32_t shards = 0;
  std::string group;
};

struct Death {
  double to_deletion = 0;  ///< milliseconds, to the news that the session has ended
  double to_last_leader = 0;
  std::uint32_t shards = 0;  ///< led by the killed process
};

using Leaders = std::map<std::string, std::uint32_t>;

std::string LeaderOfMost(const Leaders& leaders) {
  const auto most =
      std::max_element(leaders.begin(), leaders.end(),
                       [](const auto& a, const auto& b) { return a.second < b.second; });
  return most->first;
}

std::string ReadyFileOf(const std::string& folder, const char* id) {
  return folder + "/" + id + ".ready";
}

// Nobody is killed before all nodes are ready and their guards wait.
bool Ready(const std::string& folder, const std::string& guard) {
  return std::all_of(std::begin(kNames), std::end(kNames), [&](const char* id) {
    return std::filesystem::exists(ReadyFileOf(folder, id)) &&
           (guard == "off" || LockIsAwaited(runtime::StateFileIn(folder + "/" + id)));
  });
}

// The harm to one of the daemons.
struct Harm {
  std::string guard;
  int signal = SIGKILL;
  std::chrono::milliseconds hang_timeout{0};  ///< of the daemons; 0: none
};

Processes StartDaemons(const Scene& scene, const std::string& folder, const Harm& harm) {
  Processes daemons;
  for (const char* id : kNames) {
    std::vector<std::string> more = {"--ready-file", ReadyFileOf(folder, id)};
    if (harm.hang_timeout.count() > 0) {
      more.insert(more.end(), {"--hang-timeout", std::to_string(harm.hang_timeout.count()) + "ms"});
    }
    daemons[id] = StartDaemon({.program = scene.settings.batond,
                               .endpoint = EndpointOf(scene.etcd),
                               .group = scene.group,
                               .node = id,
                               .shards = scene.shards,
                               .ttl = kTtl,
                               .folder = folder,
                               .guard = harm.guard,
                               .more = std::move(more)});
  }
  return daemons;
}

Death HarmDaemon(const Scene& scene, const Harm& harm) {
  const std::string folder = scene.etcd.folder() + "/" + scene.group;
  std::filesystem::create_directory(folder);
  GroupWatch watch(scene.etcd, scene.group, scene.shards);
  Processes daemons = StartDaemons(scene, folder, harm);
  Await(
      "three daemons share every shard",
      [&] {
        return Ready(folder, harm.guard) &&
               Balanced(watch, std::min<std::size_t>(scene.shards, std::size(kNames)));
      },
      kPause);
  std::this_thread::sleep_for(kCalm);
  const std::string killed = LeaderOfMost(watch.Leaders());
  const std::uint32_t led = watch.Leaders().at(killed);
  const TimePoint at = BootClock::now() + harm.hang_timeout;
  daemons.at(killed)->Signal(harm.signal);
  Await(
      "the others lead its shards",
      [&] {
        return watch.Leaders().at(killed) == 0 &&
               Balanced(watch, std::min<std::size_t>(scene.shards, std::size(kNames) - 1));
      },
      kPause);
  const Death death = {Milliseconds(watch.Left(killed).value() - at),
                       Milliseconds(watch.LastClaim() - at), led};
  daemons.erase(killed);
  StopInOrder(daemons);  // no lease of this kill runs out during the next one
  return death;
}

Processes StartCandidates(const Scene& scene, const std::string& prefix) {
  Processes candidates;
  for (const char* name : kNames) {
    auto started = Subprocess::Start(
        {.arguments = {scene.settings.go_recipe, "--etcd", EndpointOf(scene.etcd), "--prefix",
                       prefix, "--name", name, "--shards", std::to_string(scene.shards), "--ttl",
                       std::to_string(kTtl.count())},
         .lifetime = ChildLifetime::kDiesWithStartingThread});
    if (!started) throw std::runtime_error(started.error().message);
    candidates[name] = std::move(started).value();
  }
  return candidates;
}

Death KillCandidate(const Scene& scene) {
  const std::string prefix = "/" + scene.group;
  ElectionWatch watch(scene.etcd, prefix, scene.shards);
  Processes candidates = StartCandidates(scene, prefix);
  Await(
      "three processes wait in every election",
      [&] { return watch.Candidates() == std::size(kNames) * scene.shards; }, kPause);
  const std::string killed = LeaderOfMost(watch.Leaders());
  const std::uint32_t led = watch.Leaders().at(killed);
  const TimePoint at = BootClock::now();
  candidates.at(killed)->Kill();
  Await(
      "the others lead its shards", [&] { return !watch.Leaders().contains(killed); }, kPause);
  const double took = Milliseconds(watch.LastSuccession() - at);
  candidates.erase(killed);
  StopInOrder(candidates);
  return {took, took, led};
}

struct Contender {
  std::string id;  ///< in the names of its groups
  std::string name;
  int kills = 1;  ///< in each round
  std::function<Death(const Scene&)> kill;
  Series to_deletion = {};
  Series to_last_leader = {};
  Series rounds = {};  ///< the medians of to_last_leader
  Series led = {};
};

std::vector<Contender> ContendersOf(const Settings& settings, const Size& size) {
  std::vector<Contender> contenders;
  const auto harmed = [](Harm harm) {
    return [harm](const Scene& scene) { return HarmDaemon(scene, harm); };
  };
  contenders.push_back({.id = "guarded",
                        .name = "with a guard",
                        .kills = size.kills,
                        .kill = harmed({.guard = "own"})});
  contenders.push_back({.id = "off", .name = "without a guard", .kill = harmed({.guard = "off"})});
  if (std::filesystem::exists(settings.go_recipe)) {
    contenders.push_back({.id = "go", .name = "etcd's Go recipe", .kill = KillCandidate});
  }
  return contenders;
}

Contender Stopped(const Size& size) {
  return {.id = "stopped",
          .name = "SIGSTOP instead, beyond the timeout for hangs (1 s)",
          .kills = std::min(size.kills, 4),
          .kill = [](const Scene& scene) {
            return HarmDaemon(scene,
                              {.guard = "own", .signal = SIGSTOP, .hang_timeout = kHangTimeout});
          }};
}

void RunRound(Scene scene, Contender& contender) {
  Series took;
  for (int kill = 0; kill < contender.kills; ++kill) {
    scene.group = contender.id + std::to_string(scene.shards) + "-" +
                  std::to_string(contender.led.values().size());
    const Death death = contender.kill(scene);
    took.Add(death.to_last_leader);
    contender.to_deletion.Add(death.to_deletion);
    contender.to_last_leader.Add(death.to_last_leader);
    contender.led.Add(death.shards);
  }
  contender.rounds.Add(took.Median());
}

void Tell(const Size& size, const std::vector<Contender>& contenders, Report& report) {
  const bool one = size.shards == 1;
  const std::string what =
      one ? "kill -9 of the leader of 1 shard: "
          : "kill -9 of the busiest of 3 processes, " + Grouped(size.shards) + " shards: ";
  const Contender& guarded = contenders.front();
  for (const Contender& contender : contenders) {
    report.Add({"m", what + contender.name, "ms", contender.to_last_leader,
                std::to_string(contender.to_last_leader.values().size()) + " kills, " +
                    Short(contender.led.Median()) + " led by the killed"});
  }
  report.Add(
      {"m", "  with a guard, to the member key's deletion as watched", "ms", guarded.to_deletion});
  for (std::size_t i = 1; i < contenders.size(); ++i) {
    report.Add({"m", "  " + contenders[i].name + " / with a guard", "x",
                Ratio(contenders[i].rounds, guarded.rounds)});
  }
  const double p99 = Percentile(guarded.to_last_leader.values(), 99);
  const double judged = one ? p99 : guarded.to_last_leader.Median();
  report.Judge({"kill -9 of one of 3 nodes with guards, TTL 10 s: " +
                    (one ? "1 shard led elsewhere, p99"
                         : "a third of " + Grouped(size.shards) + " shards led elsewhere"),
                "< " + Short(size.aim) + " ms", Short(judged) + " ms", judged < size.aim});
}

void TellStopped(const Size& size, const Contender& stopped, Report& report) {
  const Series& beyond = stopped.to_last_leader;
  report.Add({"m", "  " + stopped.name, "ms", beyond,
              std::to_string(beyond.values().size()) + " processes, " +
                  Short(stopped.led.Median()) + " led by the stopped"});
  if (size.shards > kMostWithAim) return;
  report.Judge(
      {"SIGSTOP of one of 3 nodes with guards, TTL 10 s: " +
           (size.shards == 1 ? "1 shard" : "a third of " + Grouped(size.shards) + " shards") +
           " led elsewhere, beyond the timeout for hangs",
       "< " + Short(kStoppedAim) + " ms", Short(beyond.Median()) + " ms",
       beyond.Median() < kStoppedAim});
}

}  // namespace

void MeasureGuarded(const Settings& settings, Report& report) {
  if (!std::filesystem::exists(settings.go_recipe)) {
    std::printf(
        "m  etcd's Go recipe is left out: bench/run.sh builds it if there is a Go compiler\n");
  }
  const auto etcd = StartEtcd();
  for (const Size& size : kSizes) {
    std::vector<Contender> contenders = ContendersOf(settings, size);
    Contender stopped = Stopped(size);
    std::vector<Contender*> order = {&stopped};
    for (Contender& contender : contenders) order.push_back(&contender);
    for (int round = 0; round < settings.repeat; ++round) {
      for (Contender* contender : order) RunRound({settings, *etcd, size.shards, ""}, *contender);
      std::reverse(order.begin(), order.end());
    }
    Tell(size, contenders, report);
    TellStopped(size, stopped, report);
  }
}

}  // namespace baton::bench
