#include "runtime/metrics/shard_metrics.h"

#include <cstddef>
#include <string>
#include <utility>

#include "runtime/metrics/families.h"

namespace baton::runtime {
namespace {

/// A shard that this node's own record is in force for.
struct LedShard {
  std::string name;
  Term term;
  bool leads = false;
  ShardHistory history;
};

std::vector<LedShard> LedShards(const NodeStatus& status, const Control& control,
                                EventMetrics& events) {
  std::vector<LedShard> led;
  if (status.node.empty()) return led;
  for (const ShardStatus& shard : status.shards) {
    if (shard.leader != status.node) continue;
    led.push_back({std::to_string(shard.shard.value), shard.term,
                   control.LeadershipOf(shard.shard).leads,
                   events.History(shard.shard, shard.term)});
  }
  return led;
}

void AddTransitions(FamilyBuilder& out, const LedShard& shard) {
  for (int i = 0; i < kReasonCount; ++i) {
    const std::uint64_t count = shard.history.gained[static_cast<std::size_t>(i)];
    if (count == 0) continue;
    out.Add(static_cast<double>(count),
            {{"shard", shard.name}, {"reason", ToString(static_cast<Reason>(i))}});
  }
}

}  // namespace

ShardMetrics::ShardMetrics(Control& control, std::shared_ptr<StatusSource> source,
                           std::shared_ptr<EventMetrics> events)
    : control_(control), source_(std::move(source)), events_(std::move(events)) {}

std::vector<prometheus::MetricFamily> ShardMetrics::Collect() const {
  const Picture picture = source_->Get();
  if (picture.status == nullptr) return {};
  const std::vector<LedShard> led = LedShards(*picture.status, control_, *events_);

  FamilyBuilder out(picture.status->group);
  out.Gauge("baton_shard_leader", "1 while this node leads the shard, 0 while it is suspended.");
  for (const LedShard& shard : led) out.Add(shard.leads ? 1 : 0, {{"shard", shard.name}});
  out.Gauge("baton_shard_term", "The term (fencing token) of this node's leadership.");
  for (const LedShard& shard : led) {
    out.Add(static_cast<double>(shard.term.value), {{"shard", shard.name}});
  }
  out.Counter("baton_shard_transitions_total", "Times this node gained the shard, by reason.");
  for (const LedShard& shard : led) AddTransitions(out, shard);
  out.Gauge("baton_shard_led_since_timestamp_seconds",
            "When this node's leadership began, in unix seconds.");
  for (const LedShard& shard : led) {
    out.Add(UnixSeconds(shard.history.since), {{"shard", shard.name}});
  }
  return out.Take();
}

}  // namespace baton::runtime
