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
#include <vector>

#include "sim/arguments.h"
#include "sim/process.h"
#include "sim/quiet_log.h"

namespace baton::sim {
namespace {

constexpr std::uint64_t kSeed = 1;
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

/// Observes nothing: all that is measured can be seen from outside.
class NoObserver final : public ProcessObserver {
 public:
  void Ran(Process&) override {}
  void Reported(Process&, const Transition&) override {}
  void Called(Process&, ShardId, core::CallbackKind, Term) override {}
  void Threw(Process&, ShardId, core::CallbackKind, Term) override {}
  void Halted(Process& process, const Error& why) override {
    std::printf("%s halted: %s\n", process.node().c_str(), why.message.c_str());
  }
  void Finished(Process&, const core::Finished&) override {}
  void Wrote(Process&, ShardId, Term) override {}
  void Sent(Process&, const pb::TxnRequest&) override {}
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
  explicit Group(Size size) : size_(size), world_(kSeed, false), etcd_(world_, {}) {
    core::CoreOptions options;
    options.shards = size.shards;
    options.expect_nodes = static_cast<std::uint32_t>(size.nodes);
    options.has_listener = false;
    options.self.address = "node:1";
    options.self.protocol_version = kProtocolVersion;
    for (int n = 0; n < size.nodes; ++n) {
      options.self.node = "n" + std::to_string(n);
      options.self.weight = n < size.nodes - size.weighted ? 0 : 1;
      clocks_.push_back(std::make_unique<HostClock>(world_, 0, seconds(1000)));
      dice_.push_back(std::make_unique<Dice>(world_, kSeed, static_cast<std::uint32_t>(n)));
      processes_.push_back(std::make_unique<Process>(ProcessParts{.world = world_,
                                                                  .etcd = etcd_,
                                                                  .clock = *clocks_.back(),
                                                                  .network = network_,
                                                                  .callbacks = callbacks_,
                                                                  .armed = failures_,
                                                                  .directory = nullptr,
                                                                  .observer = observer_,
                                                                  .dice = *dice_.back(),
                                                                  .random = world_.random().Fork()},
                                                     options, n));
    }
  }
  ~Group() {
    for (const auto& process : processes_) process->Kill();
  }
  Group(const Group&) = delete;
  Group& operator=(const Group&) = delete;

  /// Counted from the start of the last node: the others wait for it.
  Stretch Elect() {
    for (const auto& process : processes_) {
      const Duration at = world_.random().Between(Duration{0}, kStartsWithin);
      if (process != processes_.back()) world_.After(at, [&process] { process->Start(); });
    }
    world_.RunUntil(world_.now() + 2 * kStartsWithin);
    processes_.back()->Start();
    return Measure([this] { return Led() && Even(); });
  }

  /// Counted from the end of the dead node's lease.
  Stretch LoseOne() {
    const NodeId dead = processes_.front()->node();
    const std::int64_t lease = processes_.front()->session().value;
    processes_.front()->Kill();
    while (etcd_.LeaseLives(lease)) world_.RunUntil(world_.now() + milliseconds(1));
    return Measure([this] { return Led() && Even(); });
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
    std::size_t held = 0;
    for (const auto& process : processes_) {
      if (process->alive()) held += process->core().leaderships().held().size();
    }
    if (held < size_.shards) return false;
    std::vector<bool> led(size_.shards, false);
    for (const auto& process : processes_) {
      if (!process->alive()) continue;
      for (std::uint32_t s = 0; s < size_.shards; ++s) {
        if (process->Get(ShardId{s}).leads) led[s] = true;
      }
    }
    return std::find(led.begin(), led.end(), false) == led.end();
  }

  bool Even() const {
    std::uint32_t least = size_.shards;
    std::uint32_t greatest = 0;
    for (const auto& process : processes_) {
      if (!process->alive() || process->core().options().self.weight == 0) continue;
      const auto led = static_cast<std::uint32_t>(process->core().leaderships().held().size());
      least = std::min(least, led);
      greatest = std::max(greatest, led);
    }
    return greatest - least <= 1;
  }

  const Size size_;
  World world_;
  NetworkFaults network_;
  CallbackFaults callbacks_;
  std::vector<ArmedFailure> failures_;
  NoObserver observer_;
  EtcdModel etcd_;
  std::vector<std::unique_ptr<HostClock>> clocks_;
  std::vector<std::unique_ptr<Dice>> dice_;
  std::vector<std::unique_ptr<Process>> processes_;
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
