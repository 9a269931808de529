// Compares what a real Prometheus stores of real nodes with the events that the nodes log.
#include <csignal>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <map>
#include <set>
#include <sstream>
#include <string>
#include <tuple>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "e2e/cluster.h"
#include "e2e/prometheus.h"

namespace baton::e2e {
namespace {

using testing::HasSubstr;
using testing::IsEmpty;

/// One transition, as a node's log has it.
struct Told {
  std::string node;
  int shard = 0;
  std::string reason;
  std::string from;
  std::string to;
  std::int64_t term = 0;
  double elect = 0;
  double activate = 0;
};

/// The value of `name=` in a log line, without quotes.
std::string FieldOf(const std::string& line, const std::string& name) {
  const auto found = line.find(" " + name + "=");
  if (found == std::string::npos) return {};
  const auto begin = found + name.size() + 2;
  std::string value = line.substr(begin, line.find(' ', begin) - begin);
  std::erase(value, '"');
  return value;
}

std::vector<Told> ToldBy(const NodeProcess& node) {
  std::vector<Told> all;
  std::istringstream log(node.Log());
  for (std::string line; std::getline(log, line);) {
    if (line.find(" transition ") == std::string::npos) continue;
    all.push_back({.node = node.id(),
                   .shard = std::atoi(FieldOf(line, "shard").c_str()),
                   .reason = FieldOf(line, "reason"),
                   .from = FieldOf(line, "from"),
                   .to = FieldOf(line, "to"),
                   .term = std::atoll(FieldOf(line, "term").c_str()),
                   .elect = std::atof(FieldOf(line, "elect_seconds").c_str()),
                   .activate = std::atof(FieldOf(line, "activate_seconds").c_str())});
  }
  return all;
}

/// By node and reason.
using Counts = std::map<std::pair<std::string, std::string>, double>;

class PrometheusTest : public testing::Test {
 protected:
  /// Scrapes these nodes from now on.
  void Scrape(const std::vector<std::string>& ids) {
    std::map<std::string, std::uint16_t> ports;
    for (const std::string& id : ids) ports[id] = cluster_.node(id).http_port();
    prometheus_.Scrape(ports);
    for (const std::string& id : ids) nodes_.insert(id);
  }
  std::vector<Told> History() {
    std::vector<Told> all;
    for (const std::string& id : nodes_) {
      for (Told& told : ToldBy(cluster_.node(id))) all.push_back(std::move(told));
    }
    return all;
  }
  Counts ToldCounts() {
    Counts counts;
    for (const Told& told : History()) ++counts[{told.node, told.reason}];
    return counts;
  }
  Counts StoredCounts(const std::string& selector) {
    Counts counts;
    for (const StoredSeries& series : prometheus_.Stored(selector)) {
      if (series.last() == 0) continue;
      counts[{series.label("instance"), series.label("reason")}] += series.last();
    }
    return counts;
  }
  /// Waits until Prometheus has stored all transitions that the nodes logged. Without that, what a
  /// killed node counted after its last scrape would be lost.
  void AwaitStored() {
    Counts told, stored;
    const bool same = Eventually(kPatience, [&] {
      told = ToldCounts();
      stored = StoredCounts("baton_transitions_total");
      return told == stored;
    });
    if (!same) throw Unmet("not the same counts:\n" + Describe(told) + "\n" + Describe(stored));
  }
  static std::string Describe(const Counts& counts) {
    std::string text;
    for (const auto& [key, count] : counts) {
      text += key.first + " " + key.second + "=" + std::to_string(static_cast<int>(count)) + "; ";
    }
    return text;
  }

  Cluster cluster_{SharedEtcd(), {.shards = 12, .ttl = kShortLease, .flags = kNoGuard}};
  Prometheus prometheus_{cluster_.folder()};
  std::set<std::string> nodes_;
};

// Each transition is logged by one node, once; a shard's terms only grow.
void ExpectToldOnce(const std::vector<Told>& history) {
  std::map<std::tuple<int, std::int64_t, std::string>, int> times;
  for (const Told& told : history) ++times[{told.shard, told.term, told.reason}];
  for (const auto& [what, count] : times) {
    EXPECT_EQ(count, 1) << "shard " << std::get<0>(what) << ", term " << std::get<1>(what) << ", "
                        << std::get<2>(what);
  }
}

// Plan: nodes join, give up a shard for an operator, die by SIGKILL, start again at once, are
// drained and end by SIGTERM, while Prometheus scrapes. Before each death it has stored all that
// was logged. In the end its counters, summed over all processes of a node, equal the logged
// transitions: by node and reason, in the number of gaps, and in their length.
TEST_F(PrometheusTest, StoresWhatTheNodesTell) {
  cluster_.StartAll({"n1", "n2"});
  Scrape({"n1", "n2"});
  cluster_.AwaitBalanced({"n1", "n2"});
  cluster_.Start("n3");
  Scrape({"n1", "n2", "n3"});
  const Table three = cluster_.AwaitBalanced({"n1", "n2", "n3"});
  const std::string shard = std::to_string(*LedBy(three, "n1").begin());
  ASSERT_EQ(cluster_.Ctl("n1", {"shards", "transfer", shard, "--to", "n2"}).exit, 0);
  cluster_.AwaitBalanced({"n1", "n2", "n3"});
  AwaitStored();

  cluster_.node("n3").Kill();
  Scrape({"n1", "n2"});
  cluster_.AwaitBalanced({"n1", "n2"});
  AwaitStored();

  cluster_.node("n2").Kill();
  cluster_.Start("n2");
  Scrape({"n1", "n2"});
  cluster_.AwaitBalanced({"n1", "n2"});
  AwaitStored();

  ASSERT_EQ(cluster_.Ctl("n1", {"nodes", "drain", "n2"}).exit, 0);
  cluster_.AwaitBalanced({"n1"});
  ASSERT_EQ(cluster_.Ctl("n1", {"nodes", "undrain", "n2"}).exit, 0);
  cluster_.AwaitBalanced({"n1", "n2"});
  AwaitStored();
  cluster_.node("n1").Signal(SIGTERM);
  cluster_.AwaitBalanced({"n2"});
  ASSERT_TRUE(cluster_.node("n1").WaitExit());
  Scrape({"n2"});
  AwaitStored();

  SCOPED_TRACE(Describe(ToldCounts()));
  const std::vector<Told> history = History();
  ExpectToldOnce(history);
  Counts gains, elect, activate;
  std::map<std::string, int> reasons;
  for (const Told& told : history) {
    ++reasons[told.reason];
    if (told.to.empty()) continue;
    const std::pair key(told.node, told.reason);
    ++gains[key];
    elect[key] += told.elect;
    activate[key] += told.activate;
  }
  for (const char* reason :
       {"startup", "rebalance", "operator", "lease_expired", "process_died", "drain", "shutdown"}) {
    EXPECT_GT(reasons[reason], 0) << reason;
  }
  const std::string gaps = "baton_leaderless_seconds";
  EXPECT_EQ(StoredCounts(gaps + "_count{phase=\"elect\"}"), gains);
  EXPECT_EQ(StoredCounts(gaps + "_count{phase=\"activate\"}"), gains);
  for (const auto& [phase, expected] :
       {std::pair("elect", elect), std::pair("activate", activate)}) {
    const Counts stored = StoredCounts(gaps + "_sum{phase=\"" + phase + "\"}");
    for (const auto& [key, sum] : expected) {
      const auto found = stored.find(key);
      // The log has microseconds.
      EXPECT_NEAR(found == stored.end() ? 0 : found->second, sum, 1e-6 * gains[key])
          << phase << " " << key.first << " " << key.second;
    }
  }
}

// Plan: n2 is killed after it renewed for a while. The metrics have an upper bound of the time
// until that was noticed. The test knows when it killed n2, and finds the bound true.
TEST_F(PrometheusTest, TheTimeUntilADeathIsNoticedHasAnUpperBound) {
  cluster_.StartAll({"n1", "n2"});
  Scrape({"n1", "n2"});
  cluster_.AwaitBalanced({"n1", "n2"});
  // There are three renewals in a lease; the bound needs those of a lease and a few seconds.
  cluster_.Await("n1 has renewed long enough", [&] {
    return cluster_.Metric("n1", "baton_lease_renewals_total{result=\"confirmed\"}") > 12;
  });
  AwaitStored();
  const TimePoint killed = BootClock::now();
  cluster_.node("n2").Kill();
  TimePoint noticed;
  cluster_.Await("n1 leads all", [&] {
    noticed = BootClock::now();
    return cluster_.Metric("n1", "baton_shards_led") == 12;
  });
  AwaitStored();
  const std::string series =
      "baton_leaderless_seconds_%{instance=\"n1\",reason=\"lease_expired\",phase=\"detect_at_"
      "most\"}";
  const auto value = [&](const char* part) {
    std::string name = series;
    return prometheus_.Value(name.replace(name.find('%'), 1, part));
  };
  ASSERT_EQ(value("count"), 6);
  const double bound = value("sum") / 6;
  const double elect = prometheus_.Value(
                           "baton_leaderless_seconds_sum{instance=\"n1\",reason=\"lease_expired\","
                           "phase=\"elect\"}") /
                       6;
  // From the kill to the end of the election; the test sees that up to a poll later.
  const double since = std::chrono::duration<double>(noticed - killed).count();
  EXPECT_GE(bound + elect, since - 1);
  EXPECT_LE(bound, since + 2 * std::chrono::duration<double>(cluster_.ttl()).count());
}

// Plan: a shard moves. At the next scrape only the new leader has its series, and each shard has
// one leader in Prometheus.
TEST_F(PrometheusTest, SeriesOfAShardEndWithItsLeadership) {
  cluster_.StartAll({"n1", "n2"});
  Scrape({"n1", "n2"});
  const Table before = cluster_.AwaitBalanced({"n1", "n2"});
  const auto eventually = [&](const std::string& what, const std::string& expression,
                              double value) {
    EXPECT_TRUE(Eventually(kPatience, [&] { return prometheus_.Value(expression) == value; }))
        << what;
  };
  eventually("all led", "count(sum by (shard) (baton_shard_leader) == 1)", 12);
  ASSERT_EQ(cluster_.Ctl("n1", {"pause"}).exit, 0);  // or balance would move one back
  const std::string shard = std::to_string(*LedBy(before, "n1").begin());
  ASSERT_EQ(cluster_.Ctl("n1", {"shards", "transfer", shard, "--to", "n2"}).exit, 0);
  const std::string labels = "{shard=\"" + shard + "\"}";
  for (const char* name :
       {"baton_shard_leader", "baton_shard_term", "baton_shard_led_since_timestamp_seconds"}) {
    eventually(name,
               "count(" + (name + labels) + ") * count(" + name + "{instance=\"n2\",shard=\"" +
                   shard + "\"})",
               1);
  }
  eventually("one leader each", "count(sum by (shard) (baton_shard_leader) == 1)", 12);
  EXPECT_EQ(prometheus_.Value("sum(baton_shard_series_cut)"), 0);
}

// Plan: one node leads 10,000 shards and both its paths are scraped without a pause, for at least
// four renewals. Every scrape shows it as the leader of all, and no renewal fails. The cost of a
// scrape is printed and not checked: it depends on the machine.
TEST(Scrapes, OfTenThousandShardsDelayNoRenewal) {
  Cluster cluster(SharedEtcd(), {.shards = 10'000, .ttl = std::chrono::seconds(10)});
  cluster.Start("n1");
  cluster.AwaitBalanced({"n1"});
  const std::string confirmed = "baton_lease_renewals_total{result=\"confirmed\"}";
  const auto spent = [&] { return cluster.Metric("n1", "process_cpu_seconds_total"); };
  const double enough = cluster.Metric("n1", confirmed) + 2;
  const double before = spent();
  int scrapes = 0;
  while (scrapes < 40 || cluster.Metric("n1", confirmed) < enough) {
    ++scrapes;
    const std::string text = cluster.HttpBody("n1", "/metrics/shards");
    std::size_t led = 0;
    for (std::size_t at = 0; (at = text.find("\"} 1\n", at)) != std::string::npos; ++at) ++led;
    // One line says that it leads, one that it gained the shard once.
    ASSERT_EQ(led, 20'000U) << "scrape " << scrapes;
    ASSERT_EQ(cluster.Metric("n1", "baton_shards_led"), 10'000) << "scrape " << scrapes;
  }
  EXPECT_EQ(cluster.Metric("n1", "baton_transitions_total{reason=\"suspended\"}"), 0);
  const double each = (spent() - before) * 1000 / scrapes;
  std::printf("10000 shards: %.1f ms of CPU a round of /metrics/shards and two of /metrics\n",
              each);
  RecordProperty("cpu_ms", static_cast<int>(each));
}

// Plan: Prometheus' own checker of names, types and help texts reads what real nodes answer.
TEST_F(PrometheusTest, PromtoolFindsNothingToMend) {
  cluster_.StartAll({"n1", "n2"});
  cluster_.AwaitBalanced({"n1", "n2"});
  EXPECT_EQ(cluster_.Ctl("n1", {"status"}).exit, 0);
  for (const char* target : {"/metrics", "/metrics/shards"}) {
    const std::string text = cluster_.HttpBody("n1", target);
    EXPECT_THAT(text, HasSubstr("# HELP ")) << target;
    const app::Ran ran = app::RunProcess(
        {.arguments = {"promtool", "check", "metrics"}, .input = text, .watch = {}});
    EXPECT_EQ(ran.exit, 0) << target;
    EXPECT_THAT(ran.out + ran.err, IsEmpty()) << target;
  }
  // batonctl's calls and the process's own costs are among them.
  EXPECT_GE(cluster_.Metric("n1", "process_resident_memory_bytes"), 1e6);
  const std::string body = cluster_.HttpBody("n1", "/metrics");
  EXPECT_THAT(body, HasSubstr("grpc_server_handled_total{group=\"" + cluster_.group() +
                              "\",grpc_type=\"unary\",grpc_service=\"baton.v1.AdminService\","
                              "grpc_method=\"GetStatus\",grpc_code=\"OK\"} 1\n"));
}

}  // namespace
}  // namespace baton::e2e
