// Part (b): three daemons, one killed. Its lease runs out, etcd deletes its member key, and the two
// others claim what it led. Counted from the watch's word of the deletion to its word of the last
// new record, both by one observer's clock.
#include "bench/group_watch.h"
#include "bench/nodes.h"
#include "bench/parts.h"

namespace baton::bench {
namespace {

constexpr std::uint32_t kJudged = 10'000;
constexpr std::chrono::seconds kTtl{2};

struct Failover {
  double from_deletion = 0;  ///< milliseconds
  double from_kill = 0;
};

Failover KillOne(const Settings& settings, std::uint32_t shards) {
  const std::string group = "failover";
  const auto etcd = StartEtcd();
  GroupWatch watch(*etcd, group, shards);
  std::vector<std::unique_ptr<Subprocess>> daemons;
  for (const char* id : {"a", "b", "c"}) {
    daemons.push_back(StartDaemon({.program = settings.batond,
                                   .endpoint = EndpointOf(*etcd),
                                   .group = group,
                                   .node = id,
                                   .shards = shards,
                                   .ttl = kTtl,
                                   .folder = etcd->folder()}));
  }
  const std::chrono::milliseconds pause(5);
  Await(
      "three daemons share every shard", [&] { return Balanced(watch, 3); }, pause);
  const TimePoint killed = BootClock::now();
  daemons.back()->Kill();
  Await(
      "the killed daemon's member key goes", [&] { return watch.Left("c").has_value(); }, pause);
  Await(
      "two daemons share every shard", [&] { return Balanced(watch, 2); }, pause);
  const TimePoint last = watch.LastClaim();
  return {Milliseconds(last - *watch.Left("c")), Milliseconds(last - killed)};
}

}  // namespace

void MeasureFailover(const Settings& settings, Report& report) {
  for (const std::uint32_t shards : settings.sizes()) {
    Series from_deletion, from_kill;
    for (int i = 0; i < settings.repeat; ++i) {
      const Failover failover = KillOne(settings, shards);
      from_deletion.Add(failover.from_deletion);
      from_kill.Add(failover.from_kill);
    }
    const std::string what = Grouped(shards) + " shards led again and balanced, from the ";
    report.Add({"b", what + "deletion", "ms", from_deletion});
    report.Add({"b", what + "kill", "ms", from_kill, "TTL " + std::to_string(kTtl.count()) + " s"});
    if (shards != kJudged) continue;
    report.Judge({"kill -9 of one of 3 nodes, " + Grouped(shards) +
                      " shards: all led again, balanced, from the member key's deletion",
                  "< 100 ms", Short(from_deletion.Median()) + " ms", from_deletion.Median() < 100});
  }
}

}  // namespace baton::bench
