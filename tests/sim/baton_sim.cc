// baton_sim: simulated runs from seeds.
//
//   baton_sim --seed S [--verbose]   one run again, with its trace
//   baton_sim --seed S --shrink      which of its faults a violation needs
//   baton_sim --seeds N [--from S] [--minutes M] [--table] [--shrink]
//                                    many, and a summary; with the table of
//                                    fault x phase, and what it lacks; and
//                                    with the faults that the first violations
//                                    need
//
// With "--failover never", the group has that setting until calm comes, whatever the seed draws,
// and leaders crash again and again. The summary says how many did, and how many of their shards
// another node took without a release.
//
// With "--storm", each run has a small group that is hit by storms of crashes instead of mishaps of
// all kinds (storms.cc). Together with "--failover never" these are the most crashes in a second.
//
// Exit codes: 0 no violation, 1 a violation, or too little to count, 2 usage.
#include <unistd.h>

#include <chrono>
#include <csignal>
#include <cstdio>
#include <optional>
#include <string>

#include "sim/arguments.h"
#include "sim/quiet_log.h"
#include "sim/shrink.h"
#include "sim/simulation.h"
#include "sim/summary.h"

namespace {

using baton::sim::RunResult;
using baton::sim::Simulation;
using baton::sim::Summary;

constexpr int kMaxShrunk = 3;
constexpr int kRunsOfOne = 2000;  // for a single seed: a person waits for it

struct Chosen {
  bool verbose = false;
  bool shrink = false;
  bool table = false;
  bool storm = false;
  std::optional<std::uint64_t> seed;
  std::optional<std::uint64_t> seeds;
  std::optional<std::uint64_t> from;
  std::optional<std::uint64_t> minutes;
  std::optional<std::string> failover;
};

volatile std::uint64_t seed_under_way = 0;

// If a broken invariant of the product aborts the program, say with which seed.
extern "C" void SayAborted(int) {
  char text[80];
  const int length = std::snprintf(text, sizeof text, "aborted: seed %llu\n",
                                   static_cast<unsigned long long>(seed_under_way));
  static_cast<void>(write(STDOUT_FILENO, text, static_cast<std::size_t>(length)) == length);
  _exit(1);
}

int Usage() {
  std::fputs(
      "usage: baton_sim --seed S [--verbose | --shrink]\n"
      "       baton_sim --seeds N [--from S] [--minutes M] [--table] [--shrink]\n"
      "       baton_sim [--failover never] [--storm], with the rest as above but --shrink\n",
      stderr);
  return 2;
}

std::optional<Chosen> Parse(int count, char** words) {
  Chosen chosen;
  const baton::sim::Arguments arguments{.flags = {{"--verbose", &chosen.verbose},
                                                  {"--shrink", &chosen.shrink},
                                                  {"--table", &chosen.table},
                                                  {"--storm", &chosen.storm}},
                                        .numbers = {{"--seed", &chosen.seed},
                                                    {"--seeds", &chosen.seeds},
                                                    {"--from", &chosen.from},
                                                    {"--minutes", &chosen.minutes}},
                                        .words = {{"--failover", &chosen.failover}}};
  if (!Read(arguments, count, words)) return std::nullopt;
  if (chosen.failover && *chosen.failover != "never") return std::nullopt;
  if ((chosen.failover || chosen.storm) && chosen.shrink) return std::nullopt;
  if (!chosen.seed && chosen.seeds.value_or(0) == 0 && !chosen.minutes) return std::nullopt;
  return chosen;
}

RunResult RunOf(std::uint64_t seed, const Chosen& chosen) {
  baton::sim::RunOptions options{.seed = seed, .verbose = chosen.verbose, .storms = chosen.storm};
  if (chosen.failover) {
    options.failover = baton::FailoverSettings{.policy = baton::FailoverPolicy::kNever};
  }
  return Simulation(options).Run();
}

int RunOne(const Chosen& chosen) {
  seed_under_way = *chosen.seed;
  const RunResult result = RunOf(*chosen.seed, chosen);
  Summary summary;
  summary.Add(result);
  std::fputs(summary.Text().c_str(), stdout);
  return summary.good() ? 0 : 1;
}

void PrintShrunk(const RunResult& result, int runs) {
  const auto shrunk = baton::sim::Shrink(result.seed, baton::sim::SameInvariant(result), runs);
  std::fputs(Text(shrunk).c_str(), stdout);
}

int RunShrinking(std::uint64_t seed) {
  seed_under_way = seed;
  const RunResult result = Simulation(seed).Run();
  if (result.violations.empty()) {
    std::puts("no violation");
    return 0;
  }
  PrintShrunk(result, kRunsOfOne);
  return 1;
}

void PrintTable(const Summary& summary) {
  std::fputs(summary.Table().c_str(), stdout);
  for (const std::string& cell : HitTooSeldom(summary.fault_table(), 100)) {
    std::printf("fewer than 100 hits: %s\n", cell.c_str());
  }
}

int RunMany(const Chosen& chosen) {
  using Clock = std::chrono::steady_clock;
  const auto begun = Clock::now();
  const auto bound = std::chrono::minutes(chosen.minutes.value_or(60 * 24 * 365));
  const std::uint64_t from = chosen.from.value_or(1);
  const std::uint64_t asked = chosen.seeds.value_or(0);
  const std::uint64_t seeds = asked > 0 ? asked : UINT64_MAX;
  Summary summary;
  int shrunk = 0;
  for (std::uint64_t i = 0; i < seeds && Clock::now() - begun < bound; ++i) {
    seed_under_way = from + i;
    const RunResult result = RunOf(seed_under_way, chosen);
    summary.Add(result);
    for (const std::string& violation : result.violations) {
      std::printf("seed %llu: %s\n", static_cast<unsigned long long>(result.seed),
                  violation.c_str());
    }
    if (result.violations.empty()) continue;
    if (chosen.shrink && shrunk++ < kMaxShrunk) PrintShrunk(result, baton::sim::kShrinkRuns);
    std::fflush(stdout);
  }
  summary.took = Clock::now() - begun;
  if (chosen.table) PrintTable(summary);
  std::fputs(summary.Text().c_str(), stdout);
  return summary.good() ? 0 : 1;
}

}  // namespace

int main(int count, char** words) {
  const auto chosen = Parse(count, words);
  if (!chosen) return Usage();
  std::signal(SIGABRT, SayAborted);
  baton::sim::QuietLog(chosen->verbose);
  if (chosen->shrink && chosen->seed) return RunShrinking(*chosen->seed);
  if (chosen->seed) return RunOne(*chosen);
  return RunMany(*chosen);
}
