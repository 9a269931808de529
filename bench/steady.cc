// Part (c): what three idle daemons that lead 10,000 shards cost, and what etcd spends on them.
#include <algorithm>
#include <cmath>
#include <optional>
#include <thread>

#include "bench/bare_client.h"
#include "bench/etcd_metrics.h"
#include "bench/group_watch.h"
#include "bench/nodes.h"
#include "bench/parts.h"
#include "bench/process.h"

namespace baton::bench {
namespace {

constexpr std::uint32_t kShards = 10'000;
constexpr std::chrono::seconds kTtl{10};
constexpr double kRenewal = 10.0 / 3;  ///< seconds: a third of the TTL
// By then, sessions and the balancer's role are settled and etcd's own work after a start is over.
constexpr std::chrono::seconds kCalm{5};

using Daemons = std::vector<std::unique_ptr<Subprocess>>;

/// Counters at one moment, or how much they grew between two.
struct Reading {
  double seconds = 0;
  double revisions = 0;
  double proposals = 0;
  double transactions = 0;  ///< confirmations of sessions
  double keepalives = 0;
  double probes = 0;
  double other_calls = 0;
  double received = 0;
  double sent = 0;
  double etcd_cpu = 0;
  double daemon_cpu = 0;  ///< all daemons
};

double Messages(const EtcdMetrics& metrics, const std::string& method) {
  return metrics.Sum("grpc_server_msg_received_total", "grpc_method=\"" + method + "\"");
}

Reading Read(const std::string& endpoint, const Daemons& daemons) {
  const EtcdMetrics metrics(endpoint);
  Reading reading;
  reading.seconds = Seconds(BootClock::now().time_since_epoch());
  reading.proposals = metrics.Sum("etcd_server_proposals_committed_total");
  reading.transactions = Messages(metrics, "Txn");
  reading.keepalives = Messages(metrics, "LeaseKeepAlive");
  reading.probes = Messages(metrics, "Watch");
  reading.other_calls = metrics.Sum("grpc_server_msg_received_total") - reading.transactions -
                        reading.keepalives - reading.probes;
  reading.received = metrics.Sum("etcd_network_client_grpc_received_bytes_total");
  reading.sent = metrics.Sum("etcd_network_client_grpc_sent_bytes_total");
  reading.etcd_cpu = metrics.Sum("process_cpu_seconds_total");
  for (const auto& daemon : daemons) reading.daemon_cpu += CpuSeconds(daemon->pid());
  return reading;
}

Reading Growth(const Reading& from, const Reading& to) {
  Reading grown;
  for (double Reading::*const field :
       {&Reading::seconds, &Reading::proposals, &Reading::transactions, &Reading::keepalives,
        &Reading::probes, &Reading::other_calls, &Reading::received, &Reading::sent,
        &Reading::etcd_cpu, &Reading::daemon_cpu}) {
    grown.*field = to.*field - from.*field;
  }
  return grown;
}

// The bench reads the revision outside of the counted time.
Reading Window(const Settings& settings, BareClient& client, const std::string& endpoint,
               const Daemons& daemons) {
  const Revision before = client.Now();
  const Reading from = Read(endpoint, daemons);
  std::this_thread::sleep_for(std::chrono::seconds(settings.steady_seconds));
  Reading grown = Growth(from, Read(endpoint, daemons));
  grown.revisions = static_cast<double>(client.Now().value - before.value);
  return grown;
}

double MostResident(const Daemons& daemons) {
  double most = 0;
  for (const auto& daemon : daemons) most = std::max(most, ResidentMebibytes(daemon->pid()));
  return most;
}

Series Each(const std::vector<Reading>& windows, double Reading::*field, double scale) {
  Series series;
  for (const Reading& window : windows) series.Add(window.*field / window.seconds * scale);
  return series;
}

// One for each renewal and node: one more than fit may begin within the window.
bool AtMostOneARenewal(const std::vector<Reading>& windows, double Reading::*field) {
  return std::all_of(windows.begin(), windows.end(), [field](const Reading& window) {
    return window.*field <= 3 * (std::floor(window.seconds / kRenewal) + 1);
  });
}

void Tell(const std::vector<Reading>& windows, Report& report) {
  const double per_renewal = kRenewal / 3;
  report.Add({"c", "etcd's revisions", "/s", Each(windows, &Reading::revisions, 1)});
  report.Add({"c", "etcd's raft proposals committed", "/s", Each(windows, &Reading::proposals, 1)});
  report.Add({"c", "keepalives by node and renewal", "",
              Each(windows, &Reading::keepalives, per_renewal)});
  report.Add({"c", "confirmations by node and renewal", "",
              Each(windows, &Reading::transactions, per_renewal)});
  report.Add(
      {"c", "watch probes by node and renewal", "", Each(windows, &Reading::probes, per_renewal)});
  report.Add({"c", "other calls of etcd", "/s", Each(windows, &Reading::other_calls, 1)});
  report.Add({"c", "bytes that etcd received", "B/s", Each(windows, &Reading::received, 1)});
  report.Add({"c", "bytes that etcd sent", "B/s", Each(windows, &Reading::sent, 1)});
  report.Add(
      {"c", "CPU of one batond", "% of a core", Each(windows, &Reading::daemon_cpu, 100.0 / 3)});
  report.Add({"c", "CPU of etcd", "% of a core", Each(windows, &Reading::etcd_cpu, 100)});
}

void Judge(const std::vector<Reading>& windows, double resident, Report& report) {
  const bool no_revision = std::all_of(windows.begin(), windows.end(),
                                       [](const Reading& each) { return each.revisions == 0; });
  report.Judge({"idle: revisions per second", "0",
                Short(Each(windows, &Reading::revisions, 1).Greatest()), no_revision});
  const bool few = AtMostOneARenewal(windows, &Reading::keepalives) &&
                   AtMostOneARenewal(windows, &Reading::transactions) &&
                   AtMostOneARenewal(windows, &Reading::probes);
  const auto median = [&](double Reading::*field) {
    return Short(Each(windows, field, kRenewal / 3).Median());
  };
  report.Judge({"idle: keepalives, confirmations and probes per node and renewal", "<= 1 each",
                median(&Reading::keepalives) + ", " + median(&Reading::transactions) + ", " +
                    median(&Reading::probes),
                few});
  report.Judge({"memory per batond at " + Grouped(kShards) + " shards", "< 50 MiB RSS",
                Short(resident) + " MiB", resident < 50});
}

}  // namespace

void MeasureSteadyState(const Settings& settings, Report& report) {
  const std::string group = "steady";
  const auto etcd = StartEtcd();
  const std::string endpoint = EndpointOf(*etcd);
  std::optional<GroupWatch> watch(std::in_place, *etcd, group, kShards);
  Daemons daemons;
  for (const char* id : {"a", "b", "c"}) {
    daemons.push_back(StartDaemon({.program = settings.batond,
                                   .endpoint = endpoint,
                                   .group = group,
                                   .node = id,
                                   .shards = kShards,
                                   .ttl = kTtl,
                                   .folder = etcd->folder()}));
  }
  Await("three daemons share every shard", [&] { return Balanced(*watch, 3); });
  watch.reset();
  BareClient client(endpoint);
  std::this_thread::sleep_for(kCalm);
  std::vector<Reading> windows;
  Series daemon_memory, etcd_memory;
  for (int i = 0; i < settings.repeat; ++i) {
    windows.push_back(Window(settings, client, endpoint, daemons));
    daemon_memory.Add(MostResident(daemons));
    etcd_memory.Add(EtcdMetrics(endpoint).Sum("process_resident_memory_bytes") / (1 << 20));
  }
  Tell(windows, report);
  report.Add({"c", "memory of the greatest batond", "MiB RSS", daemon_memory,
              Grouped(kShards) + " shards"});
  report.Add({"c", "memory of etcd", "MiB RSS", etcd_memory});
  Judge(windows, daemon_memory.Greatest(), report);
}

}  // namespace baton::bench
