#include "sim/summary.h"

#include <algorithm>
#include <cstdio>
#include <numeric>

namespace baton::sim {
namespace {

template <typename T>
T Median(std::vector<T> values) {
  if (values.empty()) return T{};
  std::nth_element(values.begin(), values.begin() + static_cast<std::ptrdiff_t>(values.size() / 2),
                   values.end());
  return values[values.size() / 2];
}

std::string Line(const char* name, std::uint64_t value) {
  char text[96];
  std::snprintf(text, sizeof text, "  %-26s %llu\n", name, static_cast<unsigned long long>(value));
  return text;
}

std::uint64_t Millis(Duration duration) {
  return static_cast<std::uint64_t>(duration / milliseconds(1));
}

// The least that the median run must have; applies from this many runs on.
constexpr std::uint64_t kRunsForMedians = 50;
constexpr std::uint64_t kMedianNodes = 4;
constexpr std::uint64_t kMedianShards = 24;
constexpr std::uint64_t kMedianChanges = 3;
constexpr std::uint64_t kMedianSeconds = 60;
constexpr std::uint64_t kHitsOfEachCell = 100;
// If none of so many occasions was judged, a rule's check is void. (Of 11 deaths under `require`
// some two were judged: at the others some shard waited, as its leaders had died soon.)
constexpr std::uint64_t kOccasions = 50;

}  // namespace

void Summary::Add(const RunResult& result) {
  ++runs_;
  if (!result.invalid.empty()) {
    ++invalid_;
    last_invalid_ = "seed " + std::to_string(result.seed) + ": " + result.invalid;
  }
  for (std::size_t i = 0; i < kFaultCount; ++i) faults_[i] += result.faults[i];
  fault_table_.Add(result.fault_table);
  observed_.leader_changes += result.observed.leader_changes;
  observed_.revisions += result.observed.revisions;
  observed_.handoffs += result.observed.handoffs;
  observed_.writes_accepted += result.observed.writes_accepted;
  observed_.writes_fenced_off += result.observed.writes_fenced_off;
  observed_.overlaps += result.observed.overlaps;
  observed_.crashes += result.observed.crashes;
  observed_.crashed_leaderships += result.observed.crashed_leaderships;
  observed_.plans_at_limit += result.observed.plans_at_limit;
  observed_.plans_at_ordered_limit += result.observed.plans_at_ordered_limit;
  observed_.takeovers += result.observed.takeovers;
  observed_.placed += result.observed.placed;
  observed_.outran_a_label += result.observed.outran_a_label;
  observed_.placed_at_rest += result.observed.placed_at_rest;
  observed_.claims_by_standbys += result.observed.claims_by_standbys;
  observed_.claims_judged += result.observed.claims_judged;
  observed_.groups_with_standbys += result.observed.groups_with_standbys;
  observed_.held_judged += result.observed.held_judged;
  for (std::size_t i = 0; i < kHeirRules; ++i) {
    observed_.heir_deaths[i] += result.observed.heir_deaths[i];
    observed_.heirs_judged[i] += result.observed.heirs_judged[i];
  }
  for (std::size_t i = 0; i < kStorms; ++i) observed_.storms[i] += result.observed.storms[i];
  observed_.leaderships += result.observed.leaderships;
  observed_.leaderships_under_never += result.observed.leaderships_under_never;
  observed_.foreign_leaderships += result.observed.foreign_leaderships;
  observed_.proven_deaths += result.observed.proven_deaths;
  observed_.false_takeovers += result.observed.false_takeovers;
  storms_ = storms_ || result.storms;
  observed_.longest_overlap = std::max(observed_.longest_overlap, result.observed.longest_overlap);
  observed_.longest_unaware = std::max(observed_.longest_unaware, result.observed.longest_unaware);
  observed_.longest_vacancy = std::max(observed_.longest_vacancy, result.observed.longest_vacancy);
  observed_.longest_step = std::max(observed_.longest_step, result.observed.longest_step);
  virtual_time_ += result.virtual_time;
  events_ += result.events;
  hash_ = Mixed(hash_, result.trace_hash);
  if (!result.violations.empty()) failed_.push_back(result);
  nodes_.push_back(result.nodes);
  shards_.push_back(result.shards);
  changes_.push_back(result.observed.leader_changes);
  lengths_.push_back(Millis(result.virtual_time) / 1000);
}

// The things that runs about standbys never judged, although they had the occasion again and again.
std::vector<std::string> Summary::UnjudgedStandbys() const {
  std::vector<std::string> lacks;
  const auto wants = [&](std::uint64_t occasions, std::uint64_t judged, const std::string& what) {
    if (occasions < kOccasions || judged * kOccasions >= occasions) return;
    lacks.push_back(judged == 0 ? "no " + what + " was judged"
                                : "hardly any " + what + " was judged");
  };
  wants(observed_.groups_with_standbys, observed_.claims_judged, "claim in a group with standbys");
  std::uint64_t deaths = 0;
  for (std::size_t i = 0; i < kHeirRules; ++i) {
    deaths += observed_.heir_deaths[i];
    wants(observed_.heir_deaths[i], observed_.heirs_judged[i],
          std::string("heir of a rule of the kind ") + ToString(HeirRule(i)));
  }
  wants(deaths, observed_.held_judged, "node that could hold too much after a death");
  return lacks;
}

std::vector<std::string> Summary::Shortfalls() const {
  std::vector<std::string> lacks = HitThoughImpossible(fault_table_);
  for (std::string& lack : UnjudgedStandbys()) lacks.push_back(std::move(lack));
  if (runs_ < kRunsForMedians) return lacks;
  if (storms_) {
    for (std::size_t i = 0; i < kStorms; ++i) {
      if (observed_.storms[i] == 0) lacks.push_back(std::string("no storm: ") + ToString(Storm(i)));
    }
    if (observed_.proven_deaths == 0) lacks.push_back("no death was proven");
    return lacks;
  }
  const auto wants = [&](const char* what, std::uint64_t median, std::uint64_t least) {
    if (median >= least) return;
    lacks.push_back("the median run has " + std::to_string(median) + " " + what + ", fewer than " +
                    std::to_string(least));
  };
  wants("nodes", static_cast<std::uint64_t>(Median(nodes_)), kMedianNodes);
  wants("shards", Median(shards_), kMedianShards);
  wants("leader changes", Median(changes_), kMedianChanges);
  wants("virtual seconds", Median(lengths_), kMedianSeconds);
  return lacks;
}

std::string Summary::StormText() const {
  const auto storms =
      std::accumulate(observed_.storms.begin(), observed_.storms.end(), std::uint64_t{0});
  std::string text = Line("storms", storms);
  for (std::size_t i = 0; storms > 0 && i < kStorms; ++i) {
    text += Line((std::string("  ") + ToString(Storm(i))).c_str(), observed_.storms[i]);
  }
  return text + Line("deaths proven", observed_.proven_deaths) +
         Line("false takeovers", observed_.false_takeovers) +
         Line("leaderships begun", observed_.leaderships) +
         Line("claimed under never", observed_.leaderships_under_never) +
         Line("by others, not released", observed_.foreign_leaderships);
}

std::string Summary::StandbyText() const {
  std::string text = Line("  judged", observed_.claims_judged) +
                     Line("nodes that could hold more", observed_.held_judged);
  for (std::size_t i = 0; i < kHeirRules; ++i) {
    const std::string rule = ToString(HeirRule(i));
    text += Line(("deaths by " + rule).c_str(), observed_.heir_deaths[i]) +
            Line("  heirs judged", observed_.heirs_judged[i]);
  }
  return text;
}

std::string Summary::Text() const {
  std::string text = Line("runs", runs_) + Line("invalid", invalid_);
  if (invalid_ > 0) text += "    the last: " + last_invalid_ + "\n";
  text +=
      Line("median nodes", static_cast<std::uint64_t>(Median(nodes_))) +
      Line("median shards", Median(shards_)) + Line("median leader changes", Median(changes_)) +
      Line("median virtual seconds", Median(lengths_)) +
      Line("leader changes", observed_.leader_changes) + Line("handoffs", observed_.handoffs) +
      Line("revisions", observed_.revisions) + Line("resource writes", observed_.writes_accepted) +
      Line("fenced off", observed_.writes_fenced_off) +
      Line("excused overlaps", observed_.overlaps) +
      Line("longest of them, ms", Millis(observed_.longest_overlap)) +
      Line("longest unaware, ms", Millis(observed_.longest_unaware)) +
      Line("longest vacancy, ms", Millis(observed_.longest_vacancy)) +
      Line("longest step of a move, ms", Millis(observed_.longest_step)) +
      Line("moves up to the limit", observed_.plans_at_limit) +
      Line("  that was ordered", observed_.plans_at_ordered_limit) +
      Line("crashes under never", observed_.crashes) +
      Line("leaderships lost in them", observed_.crashed_leaderships) +
      Line("takeovers before a release", observed_.takeovers) +
      Line("leaderships by a rule", observed_.placed) +
      Line("  that outran a label", observed_.outran_a_label) +
      Line("shards at rest under a rule", observed_.placed_at_rest) +
      Line("claims by ready standbys", observed_.claims_by_standbys) + StandbyText() + StormText() +
      Line("events", events_) + Line("virtual seconds", Millis(virtual_time_) / 1000) +
      Line("faults", std::accumulate(faults_.begin(), faults_.end(), std::uint64_t{0}));
  for (std::size_t i = 0; i < kFaultCount; ++i) {
    text += Line((std::string("  ") + ToString(Fault(i))).c_str(), faults_[i]);
  }
  const auto seldom = HitTooSeldom(fault_table_, kHitsOfEachCell);
  text += Line("cells hit too seldom", seldom.size());
  if (took > std::chrono::nanoseconds{0}) {
    const std::uint64_t real = std::max<std::uint64_t>(1, Millis(took));
    text += Line("real ms", real) + Line("virtual/real", Millis(virtual_time_) / real) +
            Line("runs per 100 s", runs_ * 100'000 / real);
  }
  char hash[64];
  std::snprintf(hash, sizeof hash, "  trace hash                 %016llx\n",
                static_cast<unsigned long long>(hash_));
  text += hash;
  for (const std::string& lack : Shortfalls()) text += "NOT ENOUGH: " + lack + "\n";
  for (const RunResult& failed : failed_) {
    text +=
        "VIOLATION with seed " + std::to_string(failed.seed) + ": " + failed.violations[0] + "\n";
  }
  return text;
}

}  // namespace baton::sim
