// One shard whose application kills its process soon after it is activated. Processes come back
// after a moment, as a service manager starts them again. The shard must not kill the fleet.
#include <gtest/gtest.h>

#include <map>
#include <string>

#include "core/cluster.h"

namespace baton::test {
namespace {

constexpr ShardId kPoison{7};
constexpr Duration kDiesAfter = milliseconds(50);  // activation to death

/// How the others learn of a death.
enum class Death {
  kProven,      ///< the process is back after a moment, and its state directory proves the death
  kKeyDeleted,  ///< the member key is deleted at once
  kExpired      ///< the lease expires
};

/// Kills each node that activates the poison shard.
class Poisoned {
 public:
  Poisoned(int nodes, std::uint32_t shards, Death death)
      : cluster_({.nodes = nodes, .shards = shards}), death_(death) {
    EXPECT_TRUE(cluster_.Up()) << cluster_.WhyNotSettled();
    cluster_.Run(seconds(70));
    cluster_.on_action = [this](const NodeId& node, const core::Action& action) {
      const auto* set = std::get_if<core::SetLeadership>(&action);
      if (set == nullptr || set->shard != kPoison || !set->activated) return;
      cluster_.After(kDiesAfter, [this, node, term = set->term] { Die(node, term); });
    };
    // the poison arrives with a request, not with an activation
    Die(cluster_.LeaderOf(kPoison), cluster_.TermOf(kPoison));
  }

  Cluster& cluster() { return cluster_; }
  int killed() const { return killed_; }
  const std::map<NodeId, int>& killed_by_node() const { return by_node_; }

 private:
  void Die(const NodeId& node, Term term) {
    if (!cluster_.Running(node) || cluster_.TermOf(kPoison) != term) return;
    ++killed_;
    ++by_node_[node];
    cluster_.Kill(node);
    if (death_ == Death::kKeyDeleted) cluster_.DeleteMember(node);
    const Duration pause = death_ == Death::kProven ? milliseconds(200) : seconds(1);
    cluster_.After(pause, [this, node] { cluster_.Start(node, death_ == Death::kProven); });
  }

  Cluster cluster_;
  Death death_;
  int killed_ = 0;
  std::map<NodeId, int> by_node_;
};

// Fewer under sanitizers.
constexpr int kPoisonedNodes = BATON_FEWER_SEEDS > 1 ? 30 : 100;

void ExpectFewKilled(Death death) {
  Poisoned group(kPoisonedNodes, 3 * kPoisonedNodes, death);
  group.cluster().Run(seconds(30));
  ::testing::Test::RecordProperty("killed", group.killed());
  EXPECT_GT(group.killed(), 2) << "the shard was tried again";
  EXPECT_LT(group.killed(), 10);
  EXPECT_EQ(group.cluster().violations(), kNone);
}

// Without the wait: 109, 466 and 4 processes in 30 s (1,000 shards on a hundred nodes).
//
// Plan: a hundred nodes; each leader of the shard dies, and everybody knows it at once.
TEST(PoisonShard, KillsFewProcessesIfDeathsAreProven) { ExpectFewKilled(Death::kProven); }
TEST(PoisonShard, KillsFewProcessesIfTheirKeysAreDeleted) { ExpectFewKilled(Death::kKeyDeleted); }
// Plan: the same, and each death shows when the lease expires.
TEST(PoisonShard, KillsFewProcessesIfLeasesExpire) { ExpectFewKilled(Death::kExpired); }

struct Cost {
  int killed = 0;
  double percent = 0;  ///< of their time that the other shards had no leader
  Duration longest{};  ///< that another shard had no leader
};

// Looks at all shards but the poison ten times a second.
Cost CostOfOthers(Poisoned& group, std::uint32_t shards, Duration length) {
  Cost cost;
  std::map<std::uint32_t, Duration> without;
  std::int64_t leaderless = 0;
  std::int64_t looks = 0;
  for (Duration done{}; done < length; done += milliseconds(100)) {
    group.cluster().Run(milliseconds(100));
    for (std::uint32_t s = 0; s < shards; ++s) {
      if (ShardId{s} == kPoison) continue;
      ++looks;
      if (!group.cluster().LeaderOf(ShardId{s}).empty()) {
        without[s] = Duration{0};
        continue;
      }
      ++leaderless;
      without[s] += milliseconds(100);
      cost.longest = std::max(cost.longest, without[s]);
    }
  }
  cost.killed = group.killed();
  cost.percent = 100.0 * static_cast<double>(leaderless) / static_cast<double>(looks);
  std::printf("[ cost ] %d killed, others without a leader %.2f %%, longest %.1f s\n", cost.killed,
              cost.percent, std::chrono::duration<double>(cost.longest).count());
  return cost;
}

// Plan: a small group, ten minutes. What the poison costs the shards that die with it: a large part
// of their time if there is only one node, since then they die with it each time.
TEST(PoisonShard, CostsTheOthersLittleInASmallGroup) {
  for (const Death death : {Death::kProven, Death::kKeyDeleted, Death::kExpired}) {
    for (const int nodes : {1, 2, 3, 5}) {
      Poisoned group(nodes, 60, death);
      std::printf("death %d, %d nodes: ", static_cast<int>(death), nodes);
      const Cost cost = CostOfOthers(group, 60, std::chrono::minutes(10));
      EXPECT_LE(cost.killed, 14);
      EXPECT_LE(cost.percent, nodes == 1 ? 80 : 15);
      EXPECT_LE(cost.longest, nodes == 1 ? std::chrono::minutes(7) : std::chrono::minutes(3));
      EXPECT_EQ(group.cluster().violations(), kNone);
    }
  }
}

}  // namespace
}  // namespace baton::test
