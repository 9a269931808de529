// The indexes agree at any time with a look at everything.
#include "core/leader_index.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <random>
#include <set>
#include <string>

#include "core/steadiness.h"

namespace baton::core {
namespace {

// Plan: shards name one of a few nodes or nobody, at random, 20,000 times. Nodes come and go, so
// numbers are used again.
TEST(LeaderIndex, SaysWhatALookAtAllShardsSays) {
  constexpr std::uint32_t kShards = 40;
  std::mt19937_64 random(1);
  LeaderIndex index(kShards);
  std::vector<NodeId> named(kShards);
  for (int step = 0; step < 20'000; ++step) {
    const ShardId shard{static_cast<std::uint32_t>(random() % kShards)};
    const auto node = random() % 12;
    named[shard.value] = node == 0 ? NodeId() : "n" + std::to_string(step / 500 % 20 + node);
    index.Set(shard, named[shard.value]);
    for (std::uint32_t s = 0; s < kShards; ++s) {
      const auto number = index.Of(ShardId{s});
      ASSERT_EQ(number == LeaderIndex::kNobody, named[s].empty());
      ASSERT_EQ(number, index.NumberOf(named[s]));
    }
    std::set<std::uint32_t> wanted;
    for (std::uint32_t s = 0; s < kShards; ++s) {
      if (named[s] == named[shard.value] && !named[s].empty()) wanted.insert(s);
    }
    std::set<std::uint32_t> listed;
    index.ForEachOf(named[shard.value], [&](ShardId each) { listed.insert(each.value); });
    ASSERT_EQ(listed, wanted);
    ASSERT_LE(index.numbers(), kShards);
  }
}

// Plan: members come and go at random, some in order, some so often that they flap.
TEST(Steadiness, SaysWhoIsGoneAsALookAtAllMembersSays) {
  std::mt19937_64 random(2);
  Steadiness steadiness;
  struct Gone {
    TimePoint at;
    bool in_order = false;
  };
  std::map<NodeId, Gone> gone;
  TimePoint now{std::chrono::seconds(100)};
  for (int step = 0; step < 20'000; ++step) {
    now += std::chrono::milliseconds(random() % 3000);
    const NodeId node = "n" + std::to_string(random() % 15);
    if (random() % 2 == 0) {
      steadiness.NoteBegan(node, now);
      gone.erase(node);
    } else {
      const bool in_order = random() % 3 == 0;
      steadiness.NoteEnded(node, {.in_order = in_order, .ttl = std::chrono::seconds(1)}, now);
      gone[node] = {now, in_order};
    }
    const TimePoint since = now - std::chrono::milliseconds(random() % 20'000);
    std::vector<TimePoint> wanted;
    for (const auto& [name, end] : gone) {
      if (end.at > since && !end.in_order && !steadiness.Flaps(name)) wanted.push_back(end.at);
    }
    std::sort(wanted.begin(), wanted.end());
    ASSERT_EQ(steadiness.GoneSince(since), wanted) << step;
  }
}

}  // namespace
}  // namespace baton::core
