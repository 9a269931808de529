// Part (b): three daemons, one of which is killed. The bench revokes its lease, so that its member
// key goes now and not a TTL later. The other two claim its shards. The time runs from sending the
// revoke, which is before the deletion, to the watch event of the last new record. On a busy
// machine the watch event of the deletion may come late; the time from that event is a second
// figure.
#include "bench/group_watch.h"
#include "bench/nodes.h"
#include "bench/parts.h"

namespace baton::bench {
namespace {

constexpr std::uint32_t kJudged = 10'000;

struct Failover {
  double from_revoke = 0;  ///< milliseconds
  double from_deletion = 0;
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
                                   .folder = etcd->folder()}));
  }
  const std::chrono::milliseconds pause(5);
  Await(
      "three daemons share every shard", [&] { return Balanced(watch, 3); }, pause);
  daemons.back()->Kill();
  const TimePoint revoked = watch.Revoke("c");
  Await(
      "the killed daemon's member key goes", [&] { return watch.Left("c").has_value(); }, pause);
  Await(
      "two daemons share every shard", [&] { return Balanced(watch, 2); }, pause);
  const TimePoint last = watch.LastClaim();
  return {Milliseconds(last - revoked), Milliseconds(last - *watch.Left("c"))};
}

}  // namespace

void MeasureFailover(const Settings& settings, Report& report) {
  for (const std::uint32_t shards : settings.sizes()) {
    Series from_revoke, from_deletion;
    for (int i = 0; i < settings.repeat; ++i) {
      const Failover failover = KillOne(settings, shards);
      from_revoke.Add(failover.from_revoke);
      from_deletion.Add(failover.from_deletion);
    }
    const std::string what = Grouped(shards) + " shards led again, balanced, from the ";
    report.Add({"b", what + "revoke", "ms", from_revoke});
    report.Add({"b", what + "deletion as watched", "ms", from_deletion});
    if (shards != kJudged) continue;
    report.Judge({"kill -9 of one of 3 nodes, " + Grouped(shards) +
                      " shards: all led again, balanced, from before the member key's deletion",
                  "< 100 ms", Short(from_revoke.Median()) + " ms", from_revoke.Median() < 100});
  }
}

}  // namespace baton::bench
