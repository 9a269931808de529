#include "runtime/metrics/node_metrics.h"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <iterator>
#include <limits>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "base/escape.h"
#include "runtime/metrics/families.h"
#include "runtime/rules_not_kept.h"

namespace baton::runtime {
namespace {

/// In bytes. Each other text of an error is another series.
constexpr std::size_t kLongestErrorLabel = 120;

double Count(std::uint64_t count) { return static_cast<double>(count); }

/// A series for each placement rule: for how many of its shards it has this gap. Without rules one
/// series, of 0.
void AddByRule(FamilyBuilder& out, const Placement& placement, const RulesNotKept& rules,
               std::uint32_t RuleGaps::*gap) {
  if (placement.empty()) out.Add(0);
  for (std::uint32_t number = 1; number <= placement.size(); ++number) {
    const auto found = rules.find(number);
    out.Add(found == rules.end() ? 0 : Count(found->second.*gap),
            {{"rule", std::to_string(number)}});
  }
}

void AddPlacement(FamilyBuilder& out, const NodeStatus& status) {
  const RulesNotKept rules = FindRulesNotKept(status);
  const auto add = [&](const char* name, const char* help, std::uint32_t RuleGaps::*gap) {
    AddByRule(out.Gauge(name, help), status.placement, rules, gap);
  };
  add("baton_shards_nobody_may_lead",
      "Shards without a leader that no live node may lead, by the number of the placement rule, as "
      "the view has it.",
      &RuleGaps::nobody_may_lead);
  add("baton_shards_led_against_rules",
      "Shards whose leaders could not begin to lead them, by the number of the placement rule, as "
      "the view has it.",
      &RuleGaps::led_against_rule);
  add("baton_shards_without_ready_standby",
      "Shards whose placement rule asks for standbys, and that have no ready one, by the number of "
      "the rule, as the view has it.",
      &RuleGaps::without_ready_standby);
  add("baton_shards_with_fewer_standbys",
      "Shards that are led, and have fewer standbys than their placement rule asks for, ready or "
      "not, by the number of the rule, as the view has it.",
      &RuleGaps::fewer_standbys);
  add("baton_shards_not_apart",
      "Shards whose leader and standbys share a value of the label of spread, by the number of the "
      "placement rule, as the view has it.",
      &RuleGaps::not_apart);
}

void AddGroup(FamilyBuilder& out, const NodeStatus& status) {
  MemberStatus self;
  for (const MemberStatus& member : status.members) {
    if (member.fact.node == status.node) self = member;
  }
  const auto live = std::count_if(status.members.begin(), status.members.end(),
                                  [](const MemberStatus& member) { return member.fact.Live(); });
  out.Gauge("baton_build_info", "The node's software version; always 1.")
      .Add(1, {{"version", status.version}});
  out.Gauge("baton_shards", "Shards of the group.").Add(status.shard_count);
  out.Gauge("baton_shards_led", "Shards that this node leads, also those on which it is suspended.")
      .Add(self.led);
  out.Gauge("baton_shards_suspended",
            "Shards on which this node has stopped until a renewal is confirmed.")
      .Add(self.suspended);
  out.Gauge("baton_shards_target", "Shards that this node should lead by the current assignment.")
      .Add(status.TargetOf(self));
  out.Gauge("baton_shards_leaderless", "Shards that nobody leads, in this node's view; use max.")
      .Add(status.leaderless);
  out.Gauge("baton_shards_waiting_after_deaths",
            "Shards that nobody leads and nobody may claim yet, because several leaders in a row "
            "died soon, in this node's view; use max.")
      .Add(status.waiting);
  out.Gauge("baton_shards_waiting_by_settings",
            "Shards that nobody leads and that wait by the group's failover settings alone: for "
            "one node, or for the lock delay. In this node's view; use max.")
      .Add(status.waiting_by_settings);
  AddPlacement(out, status);
  out.Gauge("baton_standbys", "Shards for which this node stands by.").Add(status.standing_by);
  out.Gauge(
         "baton_standbys_ready",
         "Of the shards for which this node stands by, those for which its application is ready.")
      .Add(status.ready_here);
  out.Gauge("baton_nodes", "Live members of the group, in this node's view; use max.")
      .Add(static_cast<double>(live));
  out.Gauge("baton_expected_nodes",
            "Live members that the group should have, as an operator has set it; 0: not set. In "
            "this node's view; use max.")
      .Add(status.expected_nodes);
  out.Gauge("baton_node_ready", "1 while the session is live and the view complete.")
      .Add(status.ready ? 1 : 0);
  out.Gauge("baton_succession_braking",
            "1 while this node takes over nothing, because many members vanished at once.")
      .Add(status.braking ? 1 : 0);
  out.Gauge("baton_is_balancer", "1 on the node that plans moves.")
      .Add(status.balancer == status.node && !status.node.empty() ? 1 : 0);
  out.Gauge("baton_paused", "1 while operators have paused balance, in this node's view; use max.")
      .Add(status.paused ? 1 : 0);
}

void AddTransitions(FamilyBuilder& out, const NodeStatus& status, const EventMetrics& events) {
  const NodeCounters& counters = status.counters;
  out.Counter("baton_transitions_total",
              "Changes of leadership, counted once: by the node that gained the shard, or by the "
              "balancer if nobody may take it over.");
  for (int i = 0; i < kReasonCount; ++i) {
    const auto reason = static_cast<Reason>(i);
    const auto found = counters.transitions.find(reason);
    out.Add(found == counters.transitions.end() ? 0 : Count(found->second),
            {{"reason", ToString(reason)}});
  }
  out.Histogram("baton_leaderless_seconds",
                "Gaps that this node ended: from knowing that nobody led to leading (elect), and "
                "from there to the end of the acquired callback (activate). After an expired lease "
                "also an upper bound of the time until the death was known (detect_at_most), after "
                "a proven death how long a guard had known of it when it told etcd (detect). A "
                "death of which this node knows neither is counted in the other phases only.");
  for (prometheus::ClientMetric& series : events.Leaderless()) out.Add(std::move(series));
  out.Histogram("baton_handoff_seconds",
                "Phases of planned moves, each measured by the node that carries it out.");
  for (prometheus::ClientMetric& series : events.Handoffs()) out.Add(std::move(series));

  std::map<std::string, std::uint64_t> moves = {
      {"done", 0}, {"void", 0}, {"refused", 0}, {"timed_out", 0}};
  for (const auto& [result, count] : counters.moves) moves[result] = count;
  out.Counter("baton_moves_total", "Planned moves that ended, by result.");
  for (const auto& [result, count] : moves) out.Add(Count(count), {{"result", result}});
  const auto moving = std::count_if(status.shards.begin(), status.shards.end(),
                                    [](const ShardStatus& shard) { return shard.move != nullptr; });
  out.Gauge("baton_moves_in_flight", "Planned moves in flight, in this node's view; use max.")
      .Add(static_cast<double>(moving));
  out.Counter("baton_callback_failures_total",
              "Application callbacks that exceeded their bound or threw.");
  out.Add(Count(counters.callbacks_timed_out), {{"kind", "timed_out"}});
  out.Add(Count(counters.callbacks_failed), {{"kind", "failed"}});
}

void AddActivations(FamilyBuilder& out, const NodeStatus& status) {
  out.Counter(
         "baton_activation_failures_total",
         "Attempts to activate a shard that failed: the acquired callback threw, or exceeded its "
         "bound.")
      .Add(Count(status.counters.activation_failures));
  out.Gauge("baton_shards_failing",
            "Shards that this node leads and fails to activate; it tries again and again.")
      .Add(status.failing);
  out.Gauge("baton_shards_untried",
            "Shards that this node leads and has not tried to activate yet, because activations "
            "fail here.")
      .Add(status.untried);
  out.Gauge(
         "baton_shards_stopping",
         "Shards that this node gave up, whose callbacks have run on for longer than the callback "
         "timeout.")
      .Add(status.stopping);
  out.Gauge("baton_worst_failing_shard",
            "Failed attempts to activate the worst of the shards that fail on this node, and its "
            "last error; only while a shard fails.");
  if (status.worst_failing.empty()) return;
  const ShardStatus& worst = status.worst_failing.front();
  out.Add(worst.failing->attempts,
          {{"shard", std::to_string(worst.shard.value)},
           {"error", OneLineWithin(worst.failing->last_error, kLongestErrorLabel)}});
}

void AddLease(FamilyBuilder& out, const NodeStatus& status, const Control& control) {
  out.Gauge("baton_lease_ttl_seconds", "The lease's time to live, as etcd granted it.")
      .Add(std::chrono::duration<double>(status.ttl).count());
  // The status of a stopped node has no age. A shared one may be older than a TTL, so the time
  // itself is not from the status.
  const std::optional<TimePoint> renewed = control.RenewedAt();
  if (renewed && status.counters.renewals_confirmed > 0 && status.renewal_age > Duration{0}) {
    const auto age = std::chrono::duration_cast<std::chrono::system_clock::duration>(
        BootClock::now() - *renewed);
    out.Gauge("baton_lease_renewed_timestamp_seconds",
              "When the last confirmed renewal was sent, in unix seconds.")
        .Add(UnixSeconds(std::chrono::system_clock::now() - age));
  }
  out.Counter("baton_lease_renewals_total", "Lease renewals by result.")
      .Add(Count(status.counters.renewals_confirmed), {{"result", "confirmed"}})
      .Add(Count(status.counters.renewals_failed), {{"result", "failed"}});
}

prometheus::ClientMetric CallSeries(const std::string& method, const std::string& code,
                                    const Control::CallStats& stats) {
  constexpr auto& kBounds = Control::CallStats::kBounds;
  prometheus::ClientMetric series;
  series.label = {{"method", method}, {"code", code}};
  series.histogram.sample_count = stats.count;
  series.histogram.sample_sum = stats.sum;
  std::uint64_t cumulative = 0;
  for (std::size_t i = 0; i <= std::size(kBounds); ++i) {
    cumulative += stats.buckets[i];
    series.histogram.bucket.push_back({cumulative, i < std::size(kBounds)
                                                       ? kBounds[i]
                                                       : std::numeric_limits<double>::infinity()});
  }
  return series;
}

void AddEtcd(FamilyBuilder& out, const NodeStatus& status, const Control& control) {
  out.Histogram("baton_etcd_request_seconds", "Calls to etcd by method and gRPC code.");
  for (const auto& [key, stats] : control.EtcdCalls()) {
    out.Add(CallSeries(key.first, key.second, stats));
  }
  out.Counter("baton_watch_resyncs_total", "Times the view was read again because the watch broke.")
      .Add(Count(status.counters.watch_resyncs));
  out.Counter("baton_watch_stale_events_total",
              "Watch events that went back in time and were dropped.")
      .Add(Count(status.counters.watch_stale_events));
  out.Gauge("baton_view_age_seconds", "Time since this node's view was proven current.")
      .Add(std::chrono::duration<double>(status.view_age).count());
  out.Gauge("baton_watch_revision", "The etcd revision up to which this node's view is complete.")
      .Add(static_cast<double>(status.revision.value));
  out.Counter("baton_records_quarantined_total",
              "Records that could not be read, in whole or in part.")
      .Add(Count(status.counters.records_quarantined));
}

void AddGuard(FamilyBuilder& out, const Control& control) {
  const auto guard = control.Guard();
  if (!guard) return;
  out.Gauge("baton_guard_running",
            "1 while the node's own guard runs; 0: it does not run, or no guard can act.")
      .Add(guard->running ? 1 : 0);
  out.Counter("baton_guard_starts_total", "Starts of the node's own guard; 1 if it never ended.")
      .Add(Count(guard->starts));
}

void AddBounds(FamilyBuilder& out, const NodeStatus& status) {
  out.Counter("baton_requests_refused_total",
              "Operators' changes refused because too many waited for etcd.")
      .Add(Count(status.counters.requests_refused));
  out.Counter(
         "baton_log_records_dropped_total",
         "Log records of this node lost because stderr or its log sink is too slow. Nodes of one "
         "process without a sink count together what stderr lost.")
      .Add(Count(status.counters.log_records_dropped));
}

}  // namespace

NodeMetrics::NodeMetrics(Control& control, std::shared_ptr<StatusSource> source,
                         std::shared_ptr<EventMetrics> events)
    : control_(control), source_(std::move(source)), events_(std::move(events)) {}

std::vector<prometheus::MetricFamily> NodeMetrics::Collect() const {
  const LatestStatus latest = source_->Get();
  if (latest.status == nullptr) return {};
  FamilyBuilder out(latest.status->group);
  AddGroup(out, *latest.status);
  AddTransitions(out, *latest.status, *events_);
  AddActivations(out, *latest.status);
  AddLease(out, *latest.status, control_);
  AddEtcd(out, *latest.status, control_);
  AddGuard(out, control_);
  AddBounds(out, *latest.status);
  return out.Take();
}

}  // namespace baton::runtime
