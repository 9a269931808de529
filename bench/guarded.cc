// Part (m): three daemons with guards, one of which is killed. The time runs from just before the
// SIGKILL, as seen from outside, to the watch event of the last new record. The lease of 10 s plays
// no part. Without a guard it does: one kill of that kind shows it.
//
// Each kill has a group of its own: a shard whose leaders died soon, twice in a row, has to wait.
#include <filesystem>
#include <iterator>
#include <map>

#include "bench/group_watch.h"
#include "bench/nodes.h"
#include "bench/parts.h"

namespace baton::bench {
namespace {

constexpr std::uint32_t kSizes[] = {1, 1'000, 10'000};
constexpr int kKillsOfOneShard = 100;
constexpr int kKillsOfOneShardQuick = 10;

/// The node that leads most.
NodeId Leader(const GroupWatch& watch) {
  NodeId leader;
  std::uint32_t most = 0;
  for (const auto& [node, count] : watch.Leaders()) {
    if (count <= most) continue;
    most = count;
    leader = node;
  }
  return leader;
}

struct Kill {
  lab::PrivateEtcd& etcd;
  std::string batond;
  std::string group;
  std::uint32_t shards = 0;
  std::string guard;
};

/// Milliseconds from the kill to the last record's new name.
double KillOne(const Kill& kill) {
  GroupWatch watch(kill.etcd, kill.group, kill.shards);
  std::map<NodeId, std::unique_ptr<Subprocess>> daemons;
  for (const char* id : {"a", "b", "c"}) {
    daemons[id] = StartDaemon({.program = kill.batond,
                               .endpoint = EndpointOf(kill.etcd),
                               .group = kill.group,
                               .node = id,
                               .shards = kill.shards,
                               .folder = kill.etcd.folder() + "/" + kill.group,
                               .guard = kill.guard});
  }
  const std::chrono::milliseconds pause(2);
  const std::size_t leaders = kill.shards == 1 ? 1 : 3;
  Await(
      "three daemons share every shard",
      [&] {
        const bool all = watch.Joined("a") && watch.Joined("b") && watch.Joined("c");
        return all && Balanced(watch, leaders);
      },
      pause);
  const NodeId killed = Leader(watch);
  const TimePoint at = BootClock::now();
  daemons[killed]->Kill();
  Await(
      "the others lead its shards",
      [&] { return watch.Leaders()[killed] == 0 && Balanced(watch, kill.shards == 1 ? 1 : 2); },
      pause);
  return Milliseconds(watch.LastClaim() - at);
}

Series Kills(const Settings& settings, lab::PrivateEtcd& etcd, std::uint32_t shards, int count,
             const std::string& guard) {
  Series took;
  for (int i = 0; i < count; ++i) {
    const std::string group = "guarded-" + guard + std::to_string(shards) + "-" + std::to_string(i);
    std::filesystem::create_directory(etcd.folder() + "/" + group);
    took.Add(KillOne({etcd, settings.batond, group, shards, guard}));
  }
  return took;
}

}  // namespace

void MeasureGuarded(const Settings& settings, Report& report) {
  const auto etcd = StartEtcd();
  const double bounds[] = {25, 30, 90};
  for (std::size_t i = 0; i < std::size(kSizes); ++i) {
    const std::uint32_t shards = kSizes[i];
    const bool one = shards == 1;
    const int count = !one             ? settings.repeat
                      : settings.quick ? kKillsOfOneShardQuick
                                       : kKillsOfOneShard;
    const Series took = Kills(settings, *etcd, shards, count, "own");
    const std::string what = one ? "the leader of 1 shard" : "a third of " + Grouped(shards);
    report.Add({"m", what + " led elsewhere after kill -9, with a guard", "ms", took});
    const double judged = one ? Percentile(took.values(), 99) : took.Median();
    report.Judge({"kill -9 with a guard, TTL 10 s: " + what + " led elsewhere, " +
                      (one ? "99th percentile" : "median"),
                  "< " + Short(bounds[i]) + " ms", Short(judged) + " ms", judged < bounds[i]});
  }
  report.Add({"m", "a third of 1,000 led elsewhere after kill -9, without a guard", "ms",
              Kills(settings, *etcd, 1'000, settings.quick ? 1 : 3, "off")});
}

}  // namespace baton::bench
