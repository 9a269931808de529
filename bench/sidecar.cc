// Part (h): three daemons; the application of one is a separate process, and is killed. It measures
// the time from right before the kill to the watch event of the last shard that the other two
// claim, and how long the member key took to go. The lease would run out 10 s later.
#include "bench/group_watch.h"
#include "bench/nodes.h"
#include "bench/parts.h"

namespace baton::bench {
namespace {

constexpr std::uint32_t kShards = 1'000;

struct Death {
  double to_deletion = 0;  ///< milliseconds
  double to_last_claim = 0;
};

Death KillTheApplication(const Settings& settings) {
  const std::string group = "sidecar";
  const auto etcd = StartEtcd();
  GroupWatch watch(*etcd, group, kShards);
  const std::string address = "unix:" + etcd->folder() + "/c.sock";
  std::vector<std::unique_ptr<Subprocess>> daemons;
  for (const std::string id : {"a", "b", "c"}) {
    DaemonOptions options{.program = settings.batond,
                          .endpoint = EndpointOf(*etcd),
                          .group = group,
                          .node = id,
                          .shards = kShards,
                          .folder = etcd->folder()};
    if (id == "c") options.more = {"--sidecar", address};
    daemons.push_back(StartDaemon(options));
  }
  auto application = Subprocess::Start({.arguments = {settings.self, "--application", address},
                                        .lifetime = ChildLifetime::kDiesWithStartingThread});
  if (!application) throw std::runtime_error(application.error().message);
  const std::chrono::milliseconds pause(5);
  Await(
      "three daemons share every shard", [&] { return Balanced(watch, 3); }, pause);
  const TimePoint killed = BootClock::now();
  application.value()->Kill();
  Await(
      "two daemons share every shard", [&] { return Balanced(watch, 2); }, pause);
  return {Milliseconds(*watch.Left("c") - killed), Milliseconds(watch.LastClaim() - killed)};
}

}  // namespace

void MeasureSidecar(const Settings& settings, Report& report) {
  Series to_deletion, to_last_claim;
  for (int i = 0; i < settings.repeat; ++i) {
    const Death death = KillTheApplication(settings);
    to_deletion.Add(death.to_deletion);
    to_last_claim.Add(death.to_last_claim);
  }
  const std::string what = "SIGKILL of the application of one of 3 nodes, 1,000 shards, to ";
  report.Add({"h", what + "the deletion as watched", "ms", to_deletion});
  report.Add({"h", what + "the last shard led elsewhere", "ms", to_last_claim});
  report.Judge(
      {"SIGKILL of an application in another process, 1,000 shards, TTL 10 s: the last "
       "shard led elsewhere",
       "< 50 ms", Short(to_last_claim.Median()) + " ms", to_last_claim.Median() < 50});
}

}  // namespace baton::bench
