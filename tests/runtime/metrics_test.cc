// Metrics: the text that Prometheus reads, and when series appear and disappear.
#include "runtime/metrics/metrics.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <prometheus/text_serializer.h>

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <ctime>
#include <memory>
#include <optional>
#include <sstream>
#include <string>
#include <utility>
#include <vector>

#include "http/fake_control.h"
#include "runtime/metrics/process_metrics.h"
#include "runtime/metrics/server_calls.h"
#include "runtime/metrics/status_source.h"
#include "runtime/metrics/text.h"
#include "runtime/status_assignment.h"

namespace baton::runtime {
namespace {

using http::FakeControl;
using std::chrono::milliseconds;
using testing::HasSubstr;
using testing::Not;

MemberStatus Member(const std::string& node, bool live) {
  MemberStatus member;
  member.fact.node = node;
  member.fact.present = live;
  member.fact.lease = member.fact.session = SessionId{7};
  return member;
}

/// n1 leads shard 0 of three; n2 is gone.
NodeStatus Picture() {
  NodeStatus status;
  status.group = "orders";
  status.node = "n1";
  status.version = "0.1.0";
  status.shard_count = 3;
  status.ready = true;
  status.revision = Revision{960};
  status.ttl = milliseconds(10'000);
  status.balancer = "n1";
  status.leaderless = 2;
  status.members = {Member("n1", true), Member("n2", false), Member("n3", true)};
  status.members[0].led = 1;
  status.shards.resize(3);
  SharedBlocks<core::ShardOfAssignment> assigned;
  assigned.resize(3);
  for (int s = 0; s < 3; ++s) assigned[s].takes_part = true;
  assigned[0].shard.leader = 0;
  status.assignment =
      std::make_shared<const StatusAssignment>(std::vector<core::AssignmentMember>{{"n1"}, {"n3"}},
                                               std::vector<core::AssignmentPool>(), assigned);
  for (std::uint32_t i = 0; i < 3; ++i) status.shards[i].shard = ShardId{i};
  status.shards[0].leader = "n1";
  status.shards[0].term = Term{815};
  status.counters.transitions[Reason::kStartup] = 1;
  status.counters.moves["done"] = 4;
  status.counters.renewals_failed = 2;
  status.counters.watch_resyncs = 1;
  status.counters.activation_failures = 17;
  status.failing = 1;
  status.untried = 7;
  status.stopping = 8;
  status.waiting_by_settings = 3;
  status.nobody_may_lead = 2;
  status.led_against_rules = 1;
  status.placement.resize(2);
  status.placement[0].standbys = 2;
  status.placement[0].spread = "zone";
  status.shards[1].nobody_may_lead = status.shards[2].nobody_may_lead = true;
  status.shards[1].rule = status.shards[2].rule = 2;
  status.shards[0].led_against_rule = true;
  status.shards[0].rule = 1;
  status.shards[0].without_ready_standby = true;
  status.shards[0].standbys = std::make_shared<const std::vector<StandbyStatus>>(
      std::vector<StandbyStatus>{{"n3", "", false}});
  status.standing_by = 6;
  status.ready_here = 5;
  return status;
}

Transition Gain(std::uint32_t shard, std::int64_t term, Reason reason) {
  Transition transition;
  transition.shard = ShardId{shard};
  transition.reason = reason;
  transition.to = "n1";
  transition.term = Term{term};
  transition.elect = milliseconds(300);
  transition.activate = milliseconds(20);
  return transition;
}

std::string Text(const prometheus::Collectable& collectable) {
  return prometheus::TextSerializer().Serialize(collectable.Collect());
}

/// The lines of `text` that contain `part`.
std::string Lines(const std::string& text, const std::string& part) {
  std::istringstream in(text);
  std::string found;
  for (std::string line; std::getline(in, line);) {
    if (line.find(part) != std::string::npos) found += line + "\n";
  }
  return found;
}

double UnixNow() {
  return std::chrono::duration<double>(std::chrono::system_clock::now().time_since_epoch()).count();
}

class MetricsTest : public testing::Test {
 protected:
  MetricsTest() : metrics_(control_) { control_.SetStatus(Picture()); }
  Observer& observer() { return *control_.observers.at(0); }

  FakeControl control_;
  Metrics metrics_;
};

TEST_F(MetricsTest, GaugesAndCountersOfANode) {
  // Plan: the golden text of one status. The tests below check histograms.
  std::istringstream all(Text(*metrics_.node()));
  std::string text;
  for (std::string line; std::getline(all, line);) {
    if (line.starts_with("#") || line.find("_seconds_") != std::string::npos) continue;
    text += line + "\n";
  }
  EXPECT_EQ(text, R"(baton_build_info{group="orders",version="0.1.0"} 1
baton_shards{group="orders"} 3
baton_shards_led{group="orders"} 1
baton_shards_suspended{group="orders"} 0
baton_shards_target{group="orders"} 2
baton_shards_leaderless{group="orders"} 2
baton_shards_waiting_after_deaths{group="orders"} 0
baton_shards_waiting_by_settings{group="orders"} 3
baton_shards_nobody_may_lead{group="orders",rule="1"} 0
baton_shards_nobody_may_lead{group="orders",rule="2"} 2
baton_shards_led_against_rules{group="orders",rule="1"} 1
baton_shards_led_against_rules{group="orders",rule="2"} 0
baton_shards_without_ready_standby{group="orders",rule="1"} 1
baton_shards_without_ready_standby{group="orders",rule="2"} 0
baton_shards_with_fewer_standbys{group="orders",rule="1"} 1
baton_shards_with_fewer_standbys{group="orders",rule="2"} 0
baton_shards_not_apart{group="orders",rule="1"} 1
baton_shards_not_apart{group="orders",rule="2"} 0
baton_standbys{group="orders"} 6
baton_standbys_ready{group="orders"} 5
baton_nodes{group="orders"} 2
baton_expected_nodes{group="orders"} 0
baton_node_ready{group="orders"} 1
baton_succession_braking{group="orders"} 0
baton_is_balancer{group="orders"} 1
baton_paused{group="orders"} 0
baton_transitions_total{group="orders",reason="startup"} 1
baton_transitions_total{group="orders",reason="lease_expired"} 0
baton_transitions_total{group="orders",reason="process_died"} 0
baton_transitions_total{group="orders",reason="rebalance"} 0
baton_transitions_total{group="orders",reason="drain"} 0
baton_transitions_total{group="orders",reason="shutdown"} 0
baton_transitions_total{group="orders",reason="operator"} 0
baton_transitions_total{group="orders",reason="callback_timeout"} 0
baton_transitions_total{group="orders",reason="suspended"} 0
baton_transitions_total{group="orders",reason="resumed"} 0
baton_moves_total{group="orders",result="done"} 4
baton_moves_total{group="orders",result="refused"} 0
baton_moves_total{group="orders",result="timed_out"} 0
baton_moves_total{group="orders",result="void"} 0
baton_moves_in_flight{group="orders"} 0
baton_callback_failures_total{group="orders",kind="timed_out"} 0
baton_callback_failures_total{group="orders",kind="failed"} 0
baton_activation_failures_total{group="orders"} 17
baton_shards_failing{group="orders"} 1
baton_shards_untried{group="orders"} 7
baton_shards_stopping{group="orders"} 8
baton_lease_ttl_seconds{group="orders"} 10
baton_lease_renewals_total{group="orders",result="confirmed"} 0
baton_lease_renewals_total{group="orders",result="failed"} 2
baton_watch_resyncs_total{group="orders"} 1
baton_watch_stale_events_total{group="orders"} 0
baton_view_age_seconds{group="orders"} 0
baton_watch_revision{group="orders"} 960
baton_records_quarantined_total{group="orders"} 0
baton_requests_refused_total{group="orders"} 0
baton_log_records_dropped_total{group="orders"} 0
)");
}

TEST_F(MetricsTest, EachFamilyHasHelpAndType) {
  for (const auto& collectable : {metrics_.node(), metrics_.shards()}) {
    for (const prometheus::MetricFamily& family : collectable->Collect()) {
      EXPECT_TRUE(family.name.starts_with("baton_")) << family.name;
      EXPECT_TRUE(family.help.ends_with(".") || family.help.ends_with(";")) << family.name;
      EXPECT_EQ(family.type == prometheus::MetricType::Counter, family.name.ends_with("_total"))
          << family.name;
    }
  }
}

TEST_F(MetricsTest, NothingIsSaidBeforeTheNodesFirstAnswer) {
  control_.Hold();
  EXPECT_EQ(Text(*metrics_.node()), "");
  EXPECT_EQ(Text(*metrics_.shards()), "");
  control_.Release();
  EXPECT_THAT(Text(*metrics_.node()), HasSubstr("baton_shards{"));
}

TEST_F(MetricsTest, AStuckLoopLeavesTheLastPicture) {
  // Plan: a scrape; then the loop is stuck while things change. The next scrape is late, and shows
  // the old status.
  EXPECT_THAT(Text(*metrics_.node()), HasSubstr("baton_watch_revision{group=\"orders\"} 960"));
  control_.Hold();
  const auto start = std::chrono::steady_clock::now();
  EXPECT_THAT(Text(*metrics_.node()), HasSubstr("baton_watch_revision{group=\"orders\"} 960"));
  const auto took = std::chrono::steady_clock::now() - start;
  EXPECT_GE(took, kStatusPatience);
  EXPECT_LT(took, 10 * kStatusPatience);
  control_.Release();
}

TEST_F(MetricsTest, TheRenewalsTimeIsWhenItWasSent) {
  // Plan: first no renewal was ever confirmed, so there is no time; then one was sent 4 s ago.
  EXPECT_THAT(Text(*metrics_.node()), Not(HasSubstr("baton_lease_renewed_timestamp_seconds")));
  NodeStatus status = Picture();
  status.counters.renewals_confirmed = 1;
  status.renewal_age = std::chrono::seconds(4);
  control_.SetStatus(status);
  control_.renewed_at = BootClock::now() - std::chrono::seconds(4);
  const std::string line =
      Lines(Text(*metrics_.node()), "baton_lease_renewed_timestamp_seconds{group=\"orders\"} ");
  ASSERT_FALSE(line.empty());
  EXPECT_NEAR(std::stod(line.substr(line.rfind(' '))), UnixNow() - 4, 2);
}

TEST_F(MetricsTest, GapsAreCountedByReasonAndPhase) {
  // Plan: two gains after deaths, one of them proven, a loss without successor, and a suspension.
  // Only the gains end a gap.
  Transition gain = Gain(0, 815, Reason::kLeaseExpired);
  gain.detect_at_most = milliseconds(12'500);
  observer().OnTransition(gain);
  Transition proven = Gain(1, 816, Reason::kProcessDied);
  proven.detect = milliseconds(250);
  observer().OnTransition(proven);
  Transition loss = Gain(0, 815, Reason::kShutdown);
  loss.from = std::exchange(loss.to, "");
  observer().OnTransition(loss);
  observer().OnTransition(Gain(0, 815, Reason::kSuspended));
  const std::string text = Text(*metrics_.node());
  EXPECT_EQ(Lines(text, "leaderless_seconds_sum{group=\"orders\",reason=\"lease_expired\""),
            "baton_leaderless_seconds_sum{group=\"orders\",reason=\"lease_expired\","
            "phase=\"activate\"} 0.02\n"
            "baton_leaderless_seconds_sum{group=\"orders\",reason=\"lease_expired\","
            "phase=\"detect_at_most\"} 12.5\n"
            "baton_leaderless_seconds_sum{group=\"orders\",reason=\"lease_expired\","
            "phase=\"elect\"} 0.3\n");
  EXPECT_EQ(Lines(text, "leaderless_seconds_sum{group=\"orders\",reason=\"process_died\""),
            "baton_leaderless_seconds_sum{group=\"orders\",reason=\"process_died\","
            "phase=\"activate\"} 0.02\n"
            "baton_leaderless_seconds_sum{group=\"orders\",reason=\"process_died\","
            "phase=\"detect\"} 0.25\n"
            "baton_leaderless_seconds_sum{group=\"orders\",reason=\"process_died\","
            "phase=\"elect\"} 0.3\n");
  EXPECT_THAT(text, HasSubstr("phase=\"elect\",le=\"0.5\"} 1\n"));
  EXPECT_THAT(Lines(text, "leaderless_seconds_count{group=\"orders\",reason=\"shutdown\""),
              Not(HasSubstr("} 1")));
}

TEST_F(MetricsTest, HandoffsAreCountedByPhase) {
  observer().OnHandoffPhase("transfer", milliseconds(2));
  const std::string text = Text(*metrics_.node());
  EXPECT_EQ(Lines(text, "baton_handoff_seconds_count"),
            "baton_handoff_seconds_count{group=\"orders\",phase=\"prepare\"} 0\n"
            "baton_handoff_seconds_count{group=\"orders\",phase=\"release\"} 0\n"
            "baton_handoff_seconds_count{group=\"orders\",phase=\"transfer\"} 1\n");
}

// Plan: a status that costs much is shared, and is 9 s old. Since then the node has renewed its
// lease again. Then it has stopped: the status tells of no renewal.
TEST_F(MetricsTest, TheTimeOfARenewalIsNotAsOldAsTheStatus) {
  NodeStatus status = Picture();
  status.at = BootClock::now() - std::chrono::seconds(9);
  status.counters.renewals_confirmed = 1;
  status.renewal_age = std::chrono::seconds(3);
  control_.SetStatus(status);
  control_.renewed_at = BootClock::now() - std::chrono::seconds(1);
  const double renewed = UnixNow() - 1;
  const std::string line = Lines(Text(*metrics_.node()), "baton_lease_renewed_timestamp_seconds{");
  EXPECT_NEAR(std::stod(line.substr(line.rfind(' '))), renewed, 2);
  status.renewal_age = {};
  control_.SetStatus(status);
  EXPECT_THAT(Text(*metrics_.node()), Not(HasSubstr("baton_lease_renewed_timestamp_seconds")));
}

TEST_F(MetricsTest, EtcdCallsAreCumulativeHistograms) {
  Control::CallStats stats;
  stats.count = 3;
  stats.sum = 9.5;
  stats.buckets[0] = 1;
  stats.buckets[2] = 1;
  stats.buckets[std::size(Control::CallStats::kBounds)] = 1;
  control_.calls[{"Txn", "OK"}] = stats;
  const std::string text = Lines(Text(*metrics_.node()), "baton_etcd_request_seconds_");
  EXPECT_THAT(text, HasSubstr("_count{group=\"orders\",method=\"Txn\",code=\"OK\"} 3\n"));
  EXPECT_THAT(text, HasSubstr("_sum{group=\"orders\",method=\"Txn\",code=\"OK\"} 9.5\n"));
  EXPECT_THAT(text, HasSubstr("code=\"OK\",le=\"0.001\"} 1\n"));
  EXPECT_THAT(text, HasSubstr("code=\"OK\",le=\"0.0025\"} 2\n"));
  EXPECT_THAT(text, HasSubstr("code=\"OK\",le=\"2.5\"} 2\n"));
  EXPECT_THAT(text, HasSubstr("code=\"OK\",le=\"+Inf\"} 3\n"));
}

// Plan: the status is some seconds old. The node has lost the shard since then, and gained it
// again.
TEST_F(MetricsTest, NoShardIsLedInATermThatIsOver) {
  control_.Lead({.shard = ShardId{0}, .term = Term{816}, .leads = true, .activated = true});
  const std::string text = Text(*metrics_.shards());
  EXPECT_THAT(text, HasSubstr("baton_shard_term{group=\"orders\",shard=\"0\"} 815\n"));
  EXPECT_THAT(text, HasSubstr("baton_shard_leader{group=\"orders\",shard=\"0\"} 0\n"));
}

TEST_F(MetricsTest, ShardSeriesExistForLedShardsOnlyAndVanishWithThem) {
  // Plan: shard 0 is led, then suspended, then lost. When it is gained again, its counters
  // continue.
  observer().OnTransition(Gain(0, 815, Reason::kStartup));
  control_.Lead({.shard = ShardId{0}, .term = Term{815}, .leads = true, .activated = true});
  std::string text = Text(*metrics_.shards());
  EXPECT_EQ(Lines(text, "{").substr(0, text.find("baton_shard_led_since")), Lines(text, "{"));
  EXPECT_THAT(text, HasSubstr("baton_shard_leader{group=\"orders\",shard=\"0\"} 1\n"));
  EXPECT_THAT(text, HasSubstr("baton_shard_term{group=\"orders\",shard=\"0\"} 815\n"));
  EXPECT_THAT(text, HasSubstr("baton_shard_transitions_total{group=\"orders\",shard=\"0\","
                              "reason=\"startup\"} 1\n"));
  const std::string since = Lines(text, "baton_shard_led_since_timestamp_seconds{");
  EXPECT_NEAR(std::stod(since.substr(since.rfind(' '))), UnixNow(), 5);
  EXPECT_THAT(text, Not(HasSubstr("shard=\"1\"")));

  control_.Lead({.shard = ShardId{0}, .term = Term{815}, .leads = false, .activated = true});
  EXPECT_THAT(Text(*metrics_.shards()),
              HasSubstr("baton_shard_leader{group=\"orders\",shard=\"0\"} 0\n"));

  NodeStatus status = Picture();
  status.shards[0].leader = "n3";
  control_.SetStatus(status);
  EXPECT_EQ(Lines(Text(*metrics_.shards()), "shard=\""), "");

  status.shards[0].leader = "n1";
  status.shards[0].term = Term{900};
  control_.SetStatus(status);
  observer().OnTransition(Gain(0, 900, Reason::kStartup));
  EXPECT_THAT(Text(*metrics_.shards()), HasSubstr("reason=\"startup\"} 2\n"));
}

/// Compares the series from a serializer with the hand-written text. Numbers are compared as
/// numbers.
void ExpectTheSame(const std::string& serialized, const std::string& written) {
  std::istringstream left(serialized), right(written);
  std::string ours;
  for (std::string line; std::getline(left, line);) {
    ASSERT_TRUE(std::getline(right, ours)) << "only serialized: " << line;
    if (line.starts_with('#')) {
      EXPECT_EQ(ours, line);
      continue;
    }
    EXPECT_EQ(ours.substr(0, ours.rfind(' ')), line.substr(0, line.rfind(' ')));
    EXPECT_DOUBLE_EQ(std::stod(ours.substr(ours.rfind(' '))),
                     std::stod(line.substr(line.rfind(' '))));
  }
  EXPECT_FALSE(std::getline(right, ours)) << "only written: " << ours;
}

TEST_F(MetricsTest, TheTextOfShardsIsWhatASerializerMakes) {
  // Plan: two led shards, one of them suspended, in a group whose name needs escapes; then none.
  NodeStatus status = Picture();
  status.group = "a\"b\\c\nd";
  status.shards[2].leader = "n1";
  status.shards[2].term = Term{900};
  control_.SetStatus(status);
  control_.Lead({.shard = ShardId{0}, .term = Term{815}, .leads = true, .activated = true});
  observer().OnTransition(Gain(0, 815, Reason::kStartup));
  observer().OnTransition(Gain(0, 815, Reason::kResumed));
  observer().OnTransition(Gain(2, 900, Reason::kDrain));
  const auto& text = dynamic_cast<const TextCollectable&>(*metrics_.shards());
  std::string written = "kept\n";
  text.AppendText(written);
  ASSERT_TRUE(written.starts_with("kept\n"));
  ExpectTheSame(Text(text), written.substr(5));
  status.shards.clear();
  control_.SetStatus(status);
  written.clear();
  text.AppendText(written);
  ExpectTheSame(Text(text), written);
}

TEST_F(MetricsTest, SeriesOfShardsHaveABoundAndWhatIsCutIsCounted) {
  // Plan: three shards with four series each, and a limit of nine. Two whole shards are shown.
  FakeControl control;
  Metrics metrics(control, {.shard_series = 9});
  NodeStatus status = Picture();
  for (std::uint32_t i = 0; i < 3; ++i) {
    status.shards[i].leader = "n1";
    status.shards[i].term = Term{815};
    control.observers.at(0)->OnTransition(Gain(i, 815, Reason::kStartup));
  }
  control.SetStatus(status);
  const std::string text = Text(*metrics.shards());
  EXPECT_EQ(Lines(text, "baton_shard_series_cut{"), "baton_shard_series_cut{group=\"orders\"} 4\n");
  EXPECT_EQ(Lines(text, "shard=\"1\"").empty(), false);
  EXPECT_EQ(Lines(text, "shard=\"2\""), "");
}

TEST_F(MetricsTest, AShardThatFailsHasASeriesUntilItIsActive) {
  // Plan: shard 0 fails; its series counts towards the limit, so shard 2 is cut; then it is active.
  FakeControl control;
  Metrics metrics(control, {.shard_series = 8});
  NodeStatus status = Picture();
  for (const std::uint32_t i : {0u, 2u}) {
    status.shards[i].leader = "n1";
    status.shards[i].term = Term{815};
    control.observers.at(0)->OnTransition(Gain(i, 815, Reason::kStartup));
  }
  status.shards[0].failing =
      FailingActivation{.attempts = 12, .lasted = milliseconds(3000), .last_error = "disk"};
  control.SetStatus(status);
  const auto& shards = dynamic_cast<const TextCollectable&>(*metrics.shards());
  std::string text;
  shards.AppendText(text);
  ExpectTheSame(Text(shards), text);
  EXPECT_EQ(Lines(text, "baton_shard_failed_activations{"),
            "baton_shard_failed_activations{group=\"orders\",shard=\"0\"} 12\n");
  EXPECT_EQ(Lines(text, "shard=\"2\""), "");
  EXPECT_EQ(Lines(text, "baton_shard_series_cut{"), "baton_shard_series_cut{group=\"orders\"} 4\n");
  status.shards[0].failing.reset();
  control.SetStatus(status);
  text.clear();
  shards.AppendText(text);
  EXPECT_EQ(Lines(text, "baton_shard_failed_activations{"), "");
  EXPECT_NE(Lines(text, "shard=\"2\""), "");
}

// Plan: two shards fail. The error of the worst one has two lines, a character that turns the
// direction of text, and more than 120 bytes; the cut would be within a character. Then none fails,
// and rules are gone.
TEST_F(MetricsTest, OneSeriesHasTheWorstFailingShardAndItsError) {
  NodeStatus status = Picture();
  std::string many, kept;
  for (int i = 0; i < 80; ++i) many += "é";
  for (int i = 0; i < 49; ++i) kept += "é";
  for (const std::uint32_t shard : {2u, 0u}) {
    ShardStatus& worst = status.worst_failing.emplace_back(status.shards[shard]);
    worst.failing = FailingActivation{.attempts = 10 + shard,
                                      .lasted = milliseconds(3000),
                                      .last_error = "lines\nnext \xE2\x80\xAE" + many};
  }
  control_.SetStatus(status);
  const auto series = [&] {
    for (const prometheus::MetricFamily& family : metrics_.node()->Collect()) {
      if (family.name == "baton_worst_failing_shard") return family.metric;
    }
    return std::vector<prometheus::ClientMetric>(7);
  };
  const std::vector<prometheus::ClientMetric> found = series();
  ASSERT_EQ(found.size(), 1u);
  EXPECT_EQ(found[0].gauge.value, 12);
  ASSERT_EQ(found[0].label.size(), 3u);
  EXPECT_EQ(found[0].label[1], (prometheus::ClientMetric::Label{"shard", "2"}));
  EXPECT_EQ(found[0].label[2].name, "error");
  EXPECT_EQ(found[0].label[2].value, "lines\\nnext \\u202e" + kept + "...");
  status.worst_failing.clear();
  status.placement.clear();
  control_.SetStatus(status);
  EXPECT_EQ(series().size(), 0u);
  const std::string text = Text(*metrics_.node());
  EXPECT_THAT(text, HasSubstr("baton_shards_with_fewer_standbys{group=\"orders\"} 0\n"));
  EXPECT_THAT(text, HasSubstr("baton_shards_not_apart{group=\"orders\"} 0\n"));
}

TEST(ServerCallsTest, AreCountedByMethodAndCode) {
  // Plan: a method that was expected, with one call answered, one given up, and one still running.
  ServerCalls calls("orders");
  const char* const path = "/baton.v1.AdminService/Status";
  calls.Expect("unary", path);
  EXPECT_THAT(Text(calls),
              HasSubstr("grpc_server_started_total{group=\"orders\",grpc_type=\"unary\","
                        "grpc_service=\"baton.v1.AdminService\",grpc_method=\"Status\"} 0"));
  for (int i = 0; i < 3; ++i) calls.Started("unary", path);
  calls.Handled("unary", path, 0, milliseconds(3));
  calls.Handled("unary", path, 1, milliseconds(7));
  const std::string text = Text(calls);
  EXPECT_THAT(text, HasSubstr("grpc_method=\"Status\"} 3"));
  EXPECT_THAT(text, HasSubstr("grpc_method=\"Status\",grpc_code=\"OK\"} 1"));
  EXPECT_THAT(text, HasSubstr("grpc_method=\"Status\",grpc_code=\"Canceled\"} 1"));
  EXPECT_THAT(Lines(text, "grpc_server_handling_seconds_count"), HasSubstr("} 2\n"));
  EXPECT_THAT(text, HasSubstr("le=\"0.005\"} 1"));
}

TEST(ServerCallsTest, NamesThatCallersMakeUpHaveABound) {
  ServerCalls calls("orders");
  for (int i = 0; i < 1000; ++i) calls.Started("unary", "/made.up/M" + std::to_string(i));
  const std::string started = Lines(Text(calls), "grpc_server_started_total{");
  EXPECT_EQ(std::count(started.begin(), started.end(), '\n'), ServerCalls::kMaxMethods + 1);
  EXPECT_THAT(started, HasSubstr("grpc_service=\"other\",grpc_method=\"other\"} 936\n"));
}

TEST(ProcessMetricsTest, TellWhatThisProcessCosts) {
  const std::string text = Text(ProcessMetrics("orders"));
  const auto value = [&](const std::string& name) {
    const std::string line = Lines(text, name + "{group=\"orders\"} ");
    return line.empty() ? -1 : std::stod(line.substr(line.rfind(' ')));
  };
  EXPECT_GT(value("process_cpu_seconds_total"), 0);
  EXPECT_GT(value("process_resident_memory_bytes"), 1e6);
  EXPECT_GE(value("process_virtual_memory_bytes"), value("process_resident_memory_bytes"));
  EXPECT_GE(value("process_threads"), 1);
  EXPECT_GE(value("process_open_fds"), 3);
  EXPECT_GE(value("process_max_fds"), value("process_open_fds"));
  // The kernel keeps the boot time in whole seconds.
  EXPECT_LT(value("process_start_time_seconds"), UnixNow() + 2);
  EXPECT_GT(value("process_start_time_seconds"), UnixNow() - 600);
}

TEST_F(MetricsTest, LedSinceStaysThroughASuspension) {
  observer().OnTransition(Gain(0, 815, Reason::kStartup));
  const std::string before = Lines(Text(*metrics_.shards()), "led_since_timestamp_seconds{");
  observer().OnTransition(Gain(0, 815, Reason::kResumed));
  EXPECT_EQ(Lines(Text(*metrics_.shards()), "led_since_timestamp_seconds{"), before);
}

TEST_F(MetricsTest, TenThousandShardsCostLittle) {
  // Plan: all shards are led here. The cost is printed but not checked, as it depends on the
  // machine.
  constexpr std::uint32_t kShards = 10'000;
  NodeStatus status = Picture();
  status.shard_count = kShards;
  status.shards.resize(kShards);
  for (std::uint32_t i = 0; i < kShards; ++i) {
    status.shards[i].shard = ShardId{i};
    status.shards[i].leader = "n1";
    status.shards[i].term = Term{1000 + i};
    observer().OnTransition(Gain(i, 1000 + i, Reason::kStartup));
  }
  control_.SetStatus(status);
  const auto& shards = dynamic_cast<const TextCollectable&>(*metrics_.shards());
  std::string text;
  shards.AppendText(text);
  const std::clock_t start = std::clock();
  text.clear();
  shards.AppendText(text);
  const double spent = static_cast<double>(std::clock() - start) * 1000 / CLOCKS_PER_SEC;
  const auto series = std::count(text.begin(), text.end(), '{');
  EXPECT_EQ(series, 4 * kShards + 1);
  std::printf("%u shards: %.1f ms of CPU and %zu kB a scrape\n", kShards, spent,
              text.size() / 1000);
  RecordProperty("cpu_ms", static_cast<int>(spent));
}

// Plan: a node that shall have no guard exports nothing of one, so nobody is alerted. For one whose
// guard can't act there is a 0.
TEST(Metrics, TellAGuardThatIsMissingFromNone) {
  struct Guarded : FakeControl {
    std::optional<GuardCounters> Guard() const override { return guard; }
    std::optional<GuardCounters> guard;
  };
  Guarded control;
  control.SetStatus(Picture());
  const Metrics metrics(control);
  const auto lines = [&] { return Lines(Text(*metrics.node()), "baton_guard_running{"); };
  EXPECT_EQ(lines(), "");
  control.guard = GuardCounters{.cannot_act = "there is no program"};
  EXPECT_EQ(lines(), "baton_guard_running{group=\"orders\"} 0\n");
  control.guard = GuardCounters{.running = true, .starts = 1};
  EXPECT_EQ(lines(), "baton_guard_running{group=\"orders\"} 1\n");
}

}  // namespace
}  // namespace baton::runtime
