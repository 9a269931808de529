#include "runtime/metrics/shard_metrics.h"

#include <algorithm>
#include <charconv>
#include <cstddef>
#include <string_view>
#include <utility>

#include <fmt/format.h>

#include "runtime/metrics/families.h"

namespace baton::runtime {
namespace {

/// A family's name, type and help, used by both output formats.
struct Heading {
  const char* name;
  const char* type;
  const char* help;
};
constexpr Heading kLeader = {"baton_shard_leader", "gauge",
                             "1 while this node leads the shard, 0 while it is suspended."};
constexpr Heading kTerm = {"baton_shard_term", "gauge",
                           "The term (fencing token) of this node's leadership."};
constexpr Heading kTransitions = {"baton_shard_transitions_total", "counter",
                                  "Times this node gained the shard, by reason."};
constexpr Heading kSince = {"baton_shard_led_since_timestamp_seconds", "gauge",
                            "When this node's leadership began, in unix seconds."};
constexpr Heading kFailed = {
    "baton_shard_failed_activations", "gauge",
    "Attempts to activate the shard that failed since this node gained it; "
    "only while it fails."};
constexpr Heading kCut = {"baton_shard_series_cut", "gauge",
                          "Series of shards left out of this scrape, because of the limit."};

constexpr std::size_t kGauges = 3;  // for each shard, besides the counters and failures

std::size_t Gained(const ShardHistory& history) {
  return static_cast<std::size_t>(std::count_if(history.gained.begin(), history.gained.end(),
                                                [](std::uint64_t count) { return count > 0; }));
}

template <typename Number>
void AppendNumber(std::string& out, Number number) {
  char digits[24];
  const auto end = std::to_chars(digits, digits + sizeof digits, number).ptr;
  out.append(digits, end);
}

/// Appends seconds since 1970, with milliseconds.
void AppendSeconds(std::string& out, std::chrono::system_clock::time_point time) {
  const auto all = std::chrono::floor<std::chrono::milliseconds>(time.time_since_epoch()).count();
  AppendNumber(out, all / 1000);
  const auto rest = static_cast<int>(all % 1000);
  const char digits[] = {'.', static_cast<char>('0' + rest / 100),
                         static_cast<char>('0' + rest / 10 % 10),
                         static_cast<char>('0' + rest % 10)};
  out.append(digits, sizeof digits);
}

std::string Escaped(const std::string& label) {
  std::string out;
  for (const char c : label) {
    if (c == '\\' || c == '"') out += '\\';
    out += c == '\n' ? "\\n" : std::string(1, c);
  }
  return out;
}

/// One family as text: its heading, then its series.
class FamilyText {
 public:
  FamilyText(const Heading& heading, const std::string& group, std::string& out) : out_(out) {
    const std::string name = heading.name;
    out_ += fmt::format("# HELP {} {}\n# TYPE {} {}\n", name, heading.help, name, heading.type);
    begin_ = name + "{group=\"" + group + "\"";
  }
  /// Begins a series without a shard.
  std::string& Begin() { return (out_ += begin_) += "} "; }
  std::string& Begin(const std::string& shard) { return Labels(shard) += "\"} "; }
  std::string& Begin(const std::string& shard, const char* reason) {
    return ((Labels(shard) += "\",reason=\"") += reason) += "\"} ";
  }

 private:
  std::string& Labels(const std::string& shard) {
    return ((out_ += begin_) += ",shard=\"") += shard;
  }

  std::string& out_;
  std::string begin_;
};

}  // namespace

ShardMetrics::ShardMetrics(Control& control, std::shared_ptr<StatusSource> source,
                           std::shared_ptr<EventMetrics> events, MetricsLimits limits)
    : control_(control), source_(std::move(source)), events_(std::move(events)), limits_(limits) {}

bool ShardMetrics::Look(Snapshot* snapshot) const {
  const LatestStatus latest = source_->Get();
  if (latest.status == nullptr) return false;
  const NodeStatus& status = *latest.status;
  snapshot->group = status.group;
  if (status.node.empty()) return true;
  std::vector<std::pair<ShardId, Term>> led;
  std::vector<std::uint32_t> failed;  // attempts, of the same shards
  for (const ShardStatus& shard : status.shards) {
    if (shard.leader != status.node) continue;
    led.emplace_back(shard.shard, shard.term);
    failed.push_back(shard.failing ? shard.failing->attempts : 0);
  }
  std::vector<ShardHistory> histories = events_->Histories(led);
  std::size_t shown = 0;
  for (std::size_t i = 0; i < led.size(); ++i) {
    const std::size_t series = kGauges + Gained(histories[i]) + (failed[i] > 0 ? 1 : 0);
    // After the first shard that does not fit, all others are cut, too. So each scrape shows the
    // same.
    if (snapshot->cut > 0 || shown + series > limits_.shard_series) {
      snapshot->cut += series;
      continue;
    }
    shown += series;
    const auto [shard, term] = led[i];
    // The status may be some seconds old, and be of an earlier leadership.
    const baton::Leadership now = control_.LeadershipOf(shard);
    snapshot->led.push_back({std::to_string(shard.value), term, now.leads && now.term == term,
                             failed[i], std::move(histories[i])});
  }
  return true;
}

std::vector<prometheus::MetricFamily> ShardMetrics::Collect() const {
  Snapshot snapshot;
  if (!Look(&snapshot)) return {};
  const auto label = [](const LedShard& shard) { return Labels{{"shard", shard.name}}; };
  FamilyBuilder out(snapshot.group);
  out.Gauge(kLeader.name, kLeader.help);
  for (const LedShard& shard : snapshot.led) out.Add(shard.leads ? 1 : 0, label(shard));
  out.Gauge(kTerm.name, kTerm.help);
  for (const LedShard& shard : snapshot.led) {
    out.Add(static_cast<double>(shard.term.value), label(shard));
  }
  out.Counter(kTransitions.name, kTransitions.help);
  for (const LedShard& shard : snapshot.led) {
    for (int i = 0; i < kReasonCount; ++i) {
      const std::uint64_t count = shard.history.gained[static_cast<std::size_t>(i)];
      if (count == 0) continue;
      out.Add(static_cast<double>(count),
              {{"shard", shard.name}, {"reason", ToString(static_cast<Reason>(i))}});
    }
  }
  out.Gauge(kSince.name, kSince.help);
  for (const LedShard& shard : snapshot.led)
    out.Add(UnixSeconds(shard.history.since), label(shard));
  out.Gauge(kFailed.name, kFailed.help);
  for (const LedShard& shard : snapshot.led) {
    if (shard.failed > 0) out.Add(shard.failed, label(shard));
  }
  out.Gauge(kCut.name, kCut.help).Add(static_cast<double>(snapshot.cut));
  return out.Take();
}

void ShardMetrics::AppendText(std::string& out) const {
  Snapshot snapshot;
  if (!Look(&snapshot)) return;
  const std::string group = Escaped(snapshot.group);
  out.reserve(out.size() + 1024 + snapshot.led.size() * (260 + 4 * group.size()));
  FamilyText leader(kLeader, group, out);
  for (const LedShard& shard : snapshot.led)
    leader.Begin(shard.name) += shard.leads ? "1\n" : "0\n";
  FamilyText term(kTerm, group, out);
  for (const LedShard& shard : snapshot.led) {
    AppendNumber(term.Begin(shard.name), shard.term.value);
    out += '\n';
  }
  FamilyText transitions(kTransitions, group, out);
  for (const LedShard& shard : snapshot.led) {
    for (int i = 0; i < kReasonCount; ++i) {
      const std::uint64_t count = shard.history.gained[static_cast<std::size_t>(i)];
      if (count == 0) continue;
      AppendNumber(transitions.Begin(shard.name, ToString(static_cast<Reason>(i))), count);
      out += '\n';
    }
  }
  FamilyText since(kSince, group, out);
  for (const LedShard& shard : snapshot.led) {
    AppendSeconds(since.Begin(shard.name), shard.history.since);
    out += '\n';
  }
  FamilyText failed(kFailed, group, out);
  for (const LedShard& shard : snapshot.led) {
    if (shard.failed == 0) continue;
    AppendNumber(failed.Begin(shard.name), shard.failed);
    out += '\n';
  }
  AppendNumber(FamilyText(kCut, group, out).Begin(), snapshot.cut);
  out += '\n';
}

}  // namespace baton::runtime
