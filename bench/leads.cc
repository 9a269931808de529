// Part (e): nanoseconds of one call of Leads(), of random shards, by one thread and by two. Time is
// the calling threads' processor time.
#include <latch>
#include <random>
#include <stdexcept>
#include <thread>

#include "bench/machine.h"
#include "bench/nodes.h"
#include "bench/parts.h"

namespace baton::bench {
namespace {

constexpr std::uint32_t kShards = 10'000;
constexpr std::size_t kCalls = 20'000'000;
constexpr std::size_t kPicks = 1 << 16;  // a power of two: 256 KiB, walked in order

std::vector<ShardId> PickShards(std::uint32_t seed) {
  std::mt19937 engine(seed);
  std::uniform_int_distribution<std::uint32_t> shard(0, kShards - 1);
  std::vector<ShardId> picks(kPicks);
  for (ShardId& pick : picks) pick = ShardId{shard(engine)};
  return picks;
}

double NanosecondsPerCall(const Node& node, const std::vector<ShardId>& picks) {
  std::size_t led = 0;
  const double begun = ThreadSeconds();
  for (std::size_t call = 0; call < kCalls; ++call) led += node.Leads(picks[call % kPicks]) ? 1 : 0;
  const double took = ThreadSeconds() - begun;
  if (led != kCalls) throw std::runtime_error("the node did not lead all the time");
  return took * 1e9 / static_cast<double>(kCalls);
}

// The mean of the threads' own figures.
double Side(const Node& node, unsigned threads) {
  std::latch start(threads);
  std::vector<double> each(threads, 0);
  std::vector<std::exception_ptr> failures(threads);
  std::vector<std::thread> running;
  for (unsigned thread = 0; thread < threads; ++thread) {
    running.emplace_back([&, thread] {
      const auto picks = PickShards(thread + 1);
      start.arrive_and_wait();
      try {
        each[thread] = NanosecondsPerCall(node, picks);
      } catch (...) {
        failures[thread] = std::current_exception();
      }
    });
  }
  for (std::thread& thread : running) thread.join();
  double sum = 0;
  for (unsigned thread = 0; thread < threads; ++thread) {
    if (failures[thread]) std::rethrow_exception(failures[thread]);
    sum += each[thread];
  }
  return sum / threads;
}

}  // namespace

void MeasureLeads(const Settings& settings, Report& report) {
  const auto etcd = StartEtcd();
  NodeOptions options = OptionsFor(*etcd, "leads", "a", kShards, 1);
  options.settle = std::chrono::milliseconds(0);
  const auto node = StartNode(options);
  Await("one node leads every shard", [&] { return CountLed(*node, kShards) == kShards; });
  for (const unsigned threads : {1u, 2u}) {
    Series each;
    for (int i = 0; i < settings.repeat; ++i) each.Add(Side(*node, threads));
    report.Add({"e",
                "Leads() of " + Grouped(kShards) + " shards, " + std::to_string(threads) +
                    (threads == 1 ? " thread" : " threads"),
                "ns", each, Grouped(kCalls) + " calls a thread"});
  }
}

}  // namespace baton::bench
