// baton_scale: large groups on virtual time. It measures how long they take to form and to replace
// a dead node, and what they ask of etcd meanwhile, against the bound on deliveries
// (core/options.h).
//
//   baton_scale [--nodes M --shards N [--weighted W]]    one size, or the two of the project's plan
//
// With --weighted, only the last W nodes have weight, so they claim everything.
//
// It measures the protocol: there are no faults, and processor time does not count. Exit codes: 0
// within the bounds, 1 not, 2 usage.
#include <algorithm>
#include <chrono>
#include <cstdio>
#include <deque>
#include <limits>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "sim/arguments.h"
#include "sim/quiet_log.h"
#include "sim/virtual_group.h"

namespace baton::sim {
namespace {

constexpr Duration kStartsWithin = seconds(1);
constexpr Duration kLook = milliseconds(5);
constexpr Duration kMax = seconds(600);
constexpr Duration kIdle = seconds(60);
constexpr std::size_t kLooksASecond = 200;

struct Size {
  int nodes = 0;
  std::uint32_t shards = 0;
  int weighted = 0;  ///< how many have weight
};

/// One stretch of a run.
struct Stretch {
  Duration took{};
  EtcdModel::Served served;
  std::uint64_t revisions = 0;
  std::uint64_t most_events = 0;  ///< in any second
  bool in_time = true;
};

class Group {
 public:
  explicit Group(Size size) : size_(size) {
    for (int n = 0; n < size.nodes; ++n) {
      core::CoreOptions options = VirtualGroup::OptionsFor("n" + std::to_string(n), size.shards);
      options.expect_nodes = static_cast<std::uint32_t>(size.nodes);
      options.has_listener = false;
      options.self.weight = n < size.nodes - size.weighted ? 0 : 1;
      group_.Add(std::move(options));
    }
  }

  /// Counted from the start of the last node: the others wait for it.
  Stretch Elect() {
    for (const auto& process : processes_) {
      const Duration at = world_.random().Between(Duration{0}, kStartsWithin);
      if (process != processes_.back()) world_.After(at, [&process] { process->Start(); });
    }
    world_.RunUntil(world_.now() + 2 * kStartsWithin);
    processes_.back()->Start();
    return Measure([this] { return Led() && group_.Even(); });
  }

  /// Counted from the end of the dead node's lease.
  Stretch LoseOne() {
    group_.KillAndAwaitTheEndOfItsLease(*processes_.front());
    return Measure([this] { return Led() && group_.Even(); });
  }

  Stretch Idle() {
    const TimePoint end = world_.now() + kIdle;
    return Measure([this, end] { return world_.now() >= end; });
  }

 private:
  template <typename Condition>
  Stretch Measure(Condition done) {
    const TimePoint begun = world_.now();
    const EtcdModel::Served before = etcd_.served();
    const std::int64_t revision = etcd_.store().revision();
    std::deque<std::uint64_t> seen{before.events};
    Stretch stretch;
    while (!done()) {
      if (world_.now() - begun > kMax || world_.stopped()) {
        stretch.in_time = false;
        break;
      }
      world_.RunUntil(world_.now() + kLook);
      seen.push_back(etcd_.served().events);
      if (seen.size() > kLooksASecond + 1) seen.pop_front();
      stretch.most_events = std::max(stretch.most_events, seen.back() - seen.front());
    }
    stretch.took = world_.now() - begun;
    const EtcdModel::Served& now = etcd_.served();
    stretch.served = {.transactions = now.transactions - before.transactions,
                      .ranges = now.ranges - before.ranges,
                      .keepalives = now.keepalives - before.keepalives,
                      .events = now.events - before.events};
    stretch.revisions = static_cast<std::uint64_t>(etcd_.store().revision() - revision);
    return stretch;
  }

  bool Led() const {
    if (group_.Held() < size_.shards) return false;
    std::vector<bool> led(size_.shards, false);
    for (const auto& process : processes_) {
      if (!process->alive()) continue;
      for (std::uint32_t s = 0; s < size_.shards; ++s) {
        if (process->Get(ShardId{s}).leads) led[s] = true;
      }
    }
    return std::find(led.begin(), led.end(), false) == led.end();
  }

  const Size size_;
  QuietObserver observer_;
  VirtualGroup group_{observer_};
  World& world_ = group_.world();
  const EtcdModel& etcd_ = group_.etcd();
  const std::vector<std::unique_ptr<Process>>& processes_ = group_.processes();
};

double Seconds(Duration duration) { return std::chrono::duration<double>(duration).count(); }

bool Print(Size size, const char* what, const Stretch& stretch) {
  constexpr auto kBound = static_cast<std::uint64_t>(core::kEventDeliveriesPerSecond);
  // 1% for members' keys, which come and go too
  const bool within = stretch.most_events <= kBound + kBound / 100;
  std::printf("| %d x %u | %s | %s%.2f | %llu | %llu | %llu | %llu | %.2f%s |\n", size.nodes,
              size.shards, what, stretch.in_time ? "" : "not in ", Seconds(stretch.took),
              static_cast<unsigned long long>(stretch.revisions),
              static_cast<unsigned long long>(stretch.served.total_requests()),
              static_cast<unsigned long long>(stretch.served.events),
              static_cast<unsigned long long>(stretch.most_events),
              static_cast<double>(stretch.most_events) / static_cast<double>(kBound),
              within ? "" : " MISS");
  std::fflush(stdout);
  return within && stretch.in_time;
}

bool Run(Size size) {
  const auto begun = std::chrono::steady_clock::now();
  Group group(size);
  bool good = Print(size, "elect all", group.Elect());
  good = Print(size, "one node dies", group.LoseOne()) && good;
  good = Print(size, "idle, 60 s", group.Idle()) && good;
  const auto took = std::chrono::steady_clock::now() - begun;
  std::fprintf(stderr, "%d x %u: %.0f s of real time\n", size.nodes, size.shards, Seconds(took));
  return good;
}

std::optional<std::vector<Size>> Parse(int count, char** words) {
  std::optional<std::uint64_t> nodes;
  std::optional<std::uint64_t> shards;
  std::optional<std::uint64_t> weighted;
  const Arguments known{
      .flags = {},
      .numbers = {{"--nodes", &nodes}, {"--shards", &shards}, {"--weighted", &weighted}}};
  if (!Read(known, count, words)) return std::nullopt;
  if (!nodes && !shards && !weighted) {
    return std::vector<Size>{{100, 100'000, 100}, {1'000, 10'000, 1'000}};
  }
  const std::uint64_t most = std::numeric_limits<int>::max();
  if (!nodes || !shards || *nodes < 2 || *nodes > most || *shards < 1 || *shards > most) {
    return std::nullopt;
  }
  if (!weighted) weighted = nodes;
  if (*weighted < 1 || *weighted > *nodes) return std::nullopt;
  return std::vector<Size>{{.nodes = static_cast<int>(*nodes),
                            .shards = static_cast<std::uint32_t>(*shards),
                            .weighted = static_cast<int>(*weighted)}};
}

}  // namespace
}  // namespace baton::sim

int main(int count, char** words) {
  const auto sizes = baton::sim::Parse(count, words);
  if (!sizes) {
    std::fputs("usage: baton_scale [--nodes M --shards N [--weighted W]]\n", stderr);
    return 2;
  }
  baton::sim::QuietLog(false);
  std::printf(
      "| nodes x shards | what | virtual s | revisions | requests | events delivered | most in a "
      "second | of the bound |\n| --- | --- | --- | --- | --- | --- | --- | --- |\n");
  bool good = true;
  for (const baton::sim::Size& size : *sizes) good = baton::sim::Run(size) && good;
  return good ? 0 : 1;
}
