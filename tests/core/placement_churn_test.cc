// Placement rules while much happens at once: labels change under a claim, zones come back node by
// node, rules change every second.
#include <gtest/gtest.h>

#include <algorithm>
#include <functional>
#include <map>
#include <memory>
#include <set>
#include <string>
#include <utility>
#include <variant>

#include "base/node_change.h"
#include "core/cluster.h"

namespace baton::test {
namespace {

LabelTerms ZoneTerm(const std::string& zone) { return {{"zone", {zone}}}; }
PlacementRule Requires(const LabelTerms& terms) {
  return {.shards = {}, .require = terms, .prefer = {}};
}
PlacementRule Prefers(const LabelTerms& terms) {
  return {.shards = {}, .require = {}, .prefer = {terms}};
}

// The nodes of odd numbers are in zone a, the others in zone b.
class PlacementChurn : public ::testing::Test {
 protected:
  void TearDown() override { EXPECT_EQ(cluster_->violations(), kNone); }

  void Begin(std::uint64_t seed, int nodes, std::uint32_t shards, std::uint32_t max_moves = 64) {
    ClusterOptions options;
    options.seed = seed;
    options.nodes = nodes;
    options.shards = shards;
    options.tune = [max_moves](core::CoreOptions& tuned) {
      tuned.self.zone = (tuned.self.node.back() - '0') % 2 == 1 ? "a" : "b";
      tuned.rebalance_delay = seconds(1);
      tuned.cooldown = seconds(0);
      tuned.max_moves = max_moves;
    };
    cluster_ = std::make_unique<Cluster>(options);
    ASSERT_TRUE(cluster_->Up()) << cluster_->WhyNotSettled();
  }
  void Set(const Placement& placement) {
    ConfigFact config = std::get<ConfigFact>(cluster_->store().Get("config"));
    config.schema = kPlacementSchema;
    config.placement = placement;
    cluster_->store().Put(config);
    cluster_->HoldWatch("n1", false);  // the watches hear of it
  }
  void SetLabels(const NodeId& node, const NodeChange& change) {
    cluster_->Deliver(node, core::NodeChangeRequested{.request = ++requests_,
                                                      .node = node,
                                                      .change = change,
                                                      .dry_run = false,
                                                      .actor = "alice"});
  }
  std::size_t LedInZone(const std::string& zone) const {
    std::size_t led = 0;
    for (const NodeId& node : cluster_->names()) {
      const MemberFact member = cluster_->store().Member(node);
      if (member.present && member.zone == zone) led += cluster_->LedBy(node);
    }
    return led;
  }
  std::size_t Shards() const { return cluster_->core("n2").options().shards; }
  // A leader's name stands in each record, and its session lives.
  bool EachHasALeader() const {
    for (std::uint32_t s = 0; s < Shards(); ++s) {
      const RecordFact record = cluster_->store().Record(ShardId{s});
      if (!cluster_->store().Live({record.leader, record.session})) return false;
    }
    return true;
  }
  std::map<ShardId, int> CountTransitions() const {
    std::map<ShardId, int> count;
    for (const auto& [node, transition] : cluster_->transitions()) {
      if (!transition.to.empty()) ++count[transition.shard];
    }
    return count;
  }

  // Calls `rewrite` when a transfer was just sent and has not arrived, at most once a second.
  // Callbacks take up to 8 s, so that moves are always under way.
  void RewriteUnderTransfers(std::function<void()> rewrite) {
    cluster_->faults.slow_callback = 500;
    refused_transfers_ = 0;
    transfers_.clear();
    cluster_->on_action = [this, rewrite = std::move(rewrite), last = TimePoint::min()](
                              const NodeId& node, const core::Action& action) mutable {
      const auto* const submit = std::get_if<core::SubmitWrite>(&action);
      if (submit == nullptr || !IsA<TransferBatch>(*submit->write)) return;
      transfers_.insert({node, submit->operation});
      if (last != TimePoint::min() && cluster_->now() < last + seconds(1)) return;
      last = cluster_->now();
      cluster_->After(Duration{0}, rewrite);
    };
    cluster_->on_event = [this](const NodeId& node, core::Event& event) {
      const auto* const answered = std::get_if<core::WriteAnswered>(&event);
      if (answered == nullptr || !transfers_.contains({node, answered->operation})) return;
      refused_transfers_ += answered->result.outcome == Outcome::kRefused ? 1 : 0;
    };
  }

  std::unique_ptr<Cluster> cluster_;
  core::RequestId requests_ = 0;
  std::set<std::pair<NodeId, core::OperationId>> transfers_;
  std::uint32_t refused_transfers_ = 0;
};

// Plan: a rule wants a disk that n2, n3 and n4 have. n3 dies, and n2's claims of its shards are on
// their way when n2 loses the label: once they arrive before the label is gone, once after it, as a
// claim does not compare labels. n2 begins to lead them. Then it gives up all that it leads, like a
// node that drains, and it gets nothing more.
TEST_F(PlacementChurn, AShardClaimedUnderALabelThatGoesIsMovedAway) {
  for (const bool claim_first : {true, false}) {
    Begin(1, 4, 12);
    for (const char* const node : {"n2", "n3", "n4"}) {
      SetLabels(node, {.labels = {{"disk", "ssd"}}});
    }
    cluster_->Run(seconds(1));
    Set({Requires({{"disk", {"ssd"}}})});
    ASSERT_TRUE(cluster_->RunUntil([&] { return cluster_->LedBy("n2") == 4; }, seconds(30)));
    cluster_->Run(seconds(70));  // the shards are no reason for the death
    cluster_->HoldWrites("n2");
    const std::size_t before = cluster_->Sent<ClaimBatch>("n2").size();
    cluster_->Kill("n3");
    ASSERT_TRUE(cluster_->RunUntil([&] { return cluster_->Sent<ClaimBatch>("n2").size() > before; },
                                   seconds(30)));
    const auto labelled = [&] { return cluster_->store().Member("n2").labels.contains("disk"); };
    if (claim_first) cluster_->LetWrites("n2");
    cluster_->PassNewWrites("n2");
    SetLabels("n2", {.removed = {"disk"}});
    if (!claim_first) {
      ASSERT_TRUE(cluster_->RunUntil([&] { return !labelled(); }, seconds(1)));
      cluster_->LetWrites("n2");
    }
    ASSERT_TRUE(cluster_->RunUntil([&] { return cluster_->LedBy("n2") > 4; }, seconds(1)))
        << claim_first;
    ASSERT_TRUE(cluster_->RunUntil([&] { return !labelled(); }, seconds(1)));
    ASSERT_TRUE(cluster_->RunUntil([&] { return cluster_->LedBy("n4") == 12; }, seconds(30)))
        << claim_first;
    cluster_->RunUntil(
        [&] {
          EXPECT_EQ(cluster_->LedBy("n2") + cluster_->LedBy("n1"), 0u);
          return HasFailure();
        },
        seconds(60));
    EXPECT_EQ(cluster_->violations(), kNone);
  }
}

// Plan: zone a is preferred and lost. Its nodes come back one after another, at times that the seed
// draws. At no time more moves are in flight than the limit, some moves wait for others, and each
// shard comes back by one move. In the end all is balanced.
TEST_F(PlacementChurn, AZoneThatComesBackGetsItsShardsStaggeredAndEachOnce) {
  constexpr std::uint32_t kMovesInFlight = 4;
  for (std::uint64_t seed = 1; seed <= 20 && !HasFailure(); ++seed) {
    SCOPED_TRACE("seed " + std::to_string(seed));
    Begin(seed, 6, 36, kMovesInFlight);
    Set({Prefers(ZoneTerm("a"))});
    ASSERT_TRUE(cluster_->RunUntil(
        [&] { return LedInZone("a") == 36 && cluster_->store().MoveCount() == 0; }, seconds(60)));
    cluster_->Run(seconds(70));  // the shards are no reason for the deaths
    for (const char* const node : {"n1", "n3", "n5"}) cluster_->Kill(node);
    ASSERT_TRUE(cluster_->RunUntil([&] { return LedInZone("b") == 36; }, seconds(60)));
    cluster_->Run(seconds(5));
    const std::map<ShardId, int> before = CountTransitions();
    std::size_t most = 0;
    const auto run = [&](const std::function<bool()>& done, Duration length) {
      return cluster_->RunUntil(
          [&] {
            most = std::max(most, cluster_->store().MoveCount());
            return done();
          },
          length);
    };
    // Within the delay of balance: what comes later gets its part of what is there by moves, too.
    for (const char* const node : {"n1", "n3", "n5"}) {
      cluster_->Start(node);
      run([] { return false; }, milliseconds(static_cast<int>(cluster_->Random(300))));
    }
    EXPECT_TRUE(run([&] { return LedInZone("a") == 36; }, seconds(120)));
    EXPECT_FALSE(run([&] { return !EachHasALeader(); }, seconds(30)));
    EXPECT_EQ(most, kMovesInFlight);
    for (auto& [shard, count] : CountTransitions()) {
      EXPECT_EQ(count - before.at(shard), 1) << "shard " << shard.value;
    }
    for (const char* const node : {"n1", "n3", "n5"}) EXPECT_EQ(cluster_->LedBy(node), 12u) << node;
    EXPECT_EQ(cluster_->violations(), kNone);
  }
}

// Plan: a rule wants zone a. Each time that transfers are on their way, and a second has passed
// since the last time, another rule is written that changes nothing for the shards: so these
// transfers are refused. All the same each shard is handed over, once, and is led all the time.
TEST_F(PlacementChurn, RulesThatAreWrittenEverySecondStarveNoHandoff) {
  for (std::uint64_t seed = 1; seed <= 5 && !HasFailure(); ++seed) {
    SCOPED_TRACE("seed " + std::to_string(seed));
    Begin(seed, 6, 36, 4);
    const std::size_t in_b = LedInZone("b");
    const std::map<ShardId, int> before = CountTransitions();
    std::uint32_t rewritten = 0;
    RewriteUnderTransfers([&] {
      PlacementRule other = Prefers(ZoneTerm("a"));
      other.shards = {{1000 + rewritten, 1000 + rewritten}};
      ++rewritten;
      Set({other, Requires(ZoneTerm("a"))});
    });
    Set({Requires(ZoneTerm("a"))});
    EXPECT_TRUE(cluster_->RunUntil(
        [&] {
          EXPECT_TRUE(EachHasALeader());
          return HasFailure() || LedInZone("a") == 36;
        },
        seconds(120)));
    cluster_->Run(seconds(15));  // all callbacks have returned
    EXPECT_EQ(LedInZone("a"), 36u);
    EXPECT_GE(rewritten, 3u);
    EXPECT_GE(refused_transfers_, rewritten);
    int moved = 0;
    for (auto& [shard, count] : CountTransitions()) {
      EXPECT_LE(count - before.at(shard), 1) << "shard " << shard.value;
      moved += count - before.at(shard);
    }
    EXPECT_EQ(moved, static_cast<int>(in_b));
    EXPECT_EQ(cluster_->violations(), kNone);
  }
}

// Plan: the rule wants zone a and zone b in turn: it changes under transfers, at most once a
// second. So what is under way becomes void, or has to go back. Each shard is led all the time, and
// moves at most once for a change of the rule. When the rule stays, all goes where it wants it.
TEST_F(PlacementChurn, ARuleThatTurnsEverySecondLosesNoShard) {
  constexpr int kTurns = 15;
  for (std::uint64_t seed = 1; seed <= 5 && !HasFailure(); ++seed) {
    SCOPED_TRACE("seed " + std::to_string(seed));
    Begin(seed, 6, 36, 4);
    const std::map<ShardId, int> before = CountTransitions();
    int turns = 0;
    RewriteUnderTransfers([&] {
      if (turns == kTurns) return;
      Set({Requires(ZoneTerm(++turns % 2 == 0 ? "a" : "b"))});
    });
    Set({Requires(ZoneTerm("a"))});
    EXPECT_TRUE(cluster_->RunUntil(
        [&] {
          EXPECT_TRUE(EachHasALeader());
          return HasFailure() || (turns == kTurns && LedInZone("b") == 36);
        },
        seconds(240)))
        << turns;
    for (auto& [shard, count] : CountTransitions()) {
      EXPECT_LE(count - before.at(shard), kTurns + 1) << "shard " << shard.value;
    }
    cluster_->Run(seconds(15));
    EXPECT_EQ(LedInZone("b"), 36u);
    EXPECT_EQ(cluster_->store().MoveCount(), 0u);
    EXPECT_EQ(cluster_->violations(), kNone);
  }
}

}  // namespace
}  // namespace baton::test
