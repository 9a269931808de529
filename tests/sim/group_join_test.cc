// A hundred whole engines that join an empty group within ten seconds, on virtual time and the
// model of etcd. The core alone is tried in tests/core/mass_join_test.cc, and real processes in
// tests/e2e/mass_join_test.cc.
#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <utility>

#include "sim/virtual_group.h"

namespace baton::sim {
namespace {

constexpr int kNodes = 100;
constexpr std::uint32_t kShards = 1'000;

/// Counts what the applications lead.
class LedObserver final : public QuietObserver {
 public:
  void Called(Process& process, ShardId shard, core::CallbackKind kind, Term) override {
    if (kind == core::CallbackKind::kLost) --led_[&process];
    if (kind != core::CallbackKind::kAcquired) return;
    most_led = std::max(most_led, ++led_[&process]);
    const Process* const last = std::exchange(last_[shard], &process);
    if (last != nullptr && last != &process) ++moved;
  }

  int most_led = 0;  ///< by any node at any time
  int moved = 0;     ///< how often a shard's leader was another node than the one before

 private:
  std::map<const Process*, int> led_;
  std::map<ShardId, const Process*> last_;
};

// Plan: no node leads more than twice its fair share at any time, and at most a tenth of the shards
// move, with the default times. The joins are 100 ms apart.
TEST(GroupJoin, NobodyTakesMoreThanTwiceItsShareAndLittleMoves) {
  LedObserver observer;
  VirtualGroup group(observer);
  for (int n = 0; n < kNodes; ++n) {
    core::CoreOptions options = VirtualGroup::OptionsFor("n" + std::to_string(n), kShards);
    options.has_listener = true;
    Process& process = group.Add(std::move(options));
    process.Start();
    group.RunFor(milliseconds(100));
  }
  group.RunFor(seconds(60));
  EXPECT_EQ(group.Held(), kShards);
  EXPECT_TRUE(group.Even());
  EXPECT_LE(observer.most_led, 2 * static_cast<int>(kShards) / kNodes);
  EXPECT_LE(observer.moved, static_cast<int>(kShards) / 10);
}

}  // namespace
}  // namespace baton::sim
