// The core looks at a move again only if something changed. In each test a move must be looked at
// again although its shard's keys did not change, or must not be handled twice.
#include <gtest/gtest.h>

#include <string_view>

#include "core/balancer.h"
#include "core/cluster.h"

namespace baton::test {
namespace {

using core::CallbackKind;

// Two nodes, four shards; n1 plans, and nothing moves unless the tests ask for it.
class MovesTest : public ::testing::Test {
 protected:
  static ClusterOptions Options() {
    ClusterOptions options;
    options.nodes = 2;
    options.shards = 4;
    options.latency_most = options.latency_least;
    options.tune = [](core::CoreOptions& tuned) {
      tuned.rebalance_delay = seconds(600);
      tuned.callback_timeout = tuned.release_timeout = tuned.prepare_timeout = seconds(20);
    };
    return options;
  }
  void SetUp() override {
    ASSERT_TRUE(cluster_.Up()) << cluster_.WhyNotSettled();
    ASSERT_EQ(cluster_.store().Balancer().leader, "n1");
    shard_ = cluster_.ShardsOf("n1").front();
    other_ = cluster_.ShardsOf("n1").back();
    ASSERT_NE(shard_, other_);
  }
  void TearDown() override { EXPECT_EQ(cluster_.violations(), kNone); }

  void AskFor(const NodeId& via, ShardId shard, const NodeId& to) {
    cluster_.Transfer(via, {.shard = shard, .to = to, .if_term = {}, .actor = {}});
  }
  // Delivers everything that was put into the store to the watches.
  void Tell() { cluster_.HoldWatch("n1", false); }
  // Gives n1's view everything ever written, in one message; its watch stays silent otherwise.
  void TellNow(const NodeId& node) {
    cluster_.Deliver(node, core::ChangesSeen{cluster_.store().ChangesAfter(Revision{10})});
  }
  // A move of n1's shard to n2, as it would be in etcd.
  MoveFact Move(ShardId shard, MovePhase phase) {
    MoveFact move;
    move.shard = shard;
    move.present = true;
    move.ends = cluster_.TermOf(shard);
    move.from = "n1";
    move.to = "n2";
    move.reason = Reason::kOperator;
    move.phase = phase;
    if (phase == MovePhase::kPrepared) {
      move.prepared_session = cluster_.store().Member("n2").lease;
    }
    if (phase == MovePhase::kVoid) move.void_reason = "of a test";
    return move;
  }
  // n2's member value can't be read, though its lease lives; n2 can't rewrite it.
  void DamageMember() {
    cluster_.DenyWrites("n2", [](const Write& write) { return IsA<MemberUpdate>(write); });
    MemberFact damaged = cluster_.store().Member("n2");
    damaged.readability = Readability::kDamaged;
    damaged.session = SessionId{};
    cluster_.store().Put(damaged, damaged.lease);
    Tell();
    cluster_.Run(milliseconds(20));
    ASSERT_FALSE(cluster_.store().Member("n2").Live());
  }
  void MendMember() { cluster_.DenyWrites("n2", {}); }
  void DenyMovesOf(const NodeId& node) {
    cluster_.DenyWrites(node, [](const Write& write) { return IsA<MoveBatch>(write); });
  }
  bool InPhase(ShardId shard, MovePhase phase) {
    const auto move = cluster_.store().Move(shard);
    return move && move->phase == phase;
  }
  template <typename Phase>
  bool Holds(ShardId shard) {
    const auto& held = cluster_.core("n1").leaderships().held();
    return held.contains(shard) && std::holds_alternative<Phase>(held.at(shard).phase);
  }
  std::size_t Asked(const NodeId& node, CallbackKind kind, ShardId shard) {
    std::size_t count = 0;
    for (const auto& [at, callback] : cluster_.Asked<core::RunCallback>(node)) {
      if (callback.kind == kind && callback.shard == shard) ++count;
    }
    return count;
  }
  // By operation: how many moves a "prepared" or "void" of n2 contained.
  std::map<core::OperationId, std::size_t> WrittenByN2() {
    std::map<core::OperationId, std::size_t> result;
    for (const auto& [at, submit] : cluster_.Asked<core::SubmitWrite>("n2")) {
      const auto* moves = std::get_if<MoveBatch>(submit.write.get());
      if (moves != nullptr && moves->target) result[submit.operation] = moves->moves.size();
    }
    return result;
  }

  ShardId shard_;
  ShardId other_;
  Cluster cluster_{Options()};
};

// ---- the leader ---------------------------------------------------------------------------------

// Plan: n1 is cut off and past its deadline; its lease lives on. It hears of a move and does
// nothing. Then it is live again, and nothing more is written about the shard.
TEST_F(MovesTest, OneThatCameWhileSuspendedBeginsAfter) {
  cluster_.CutOff("n1");
  ASSERT_TRUE(cluster_.RunUntil([&] { return !cluster_.core("n1").session().live(cluster_.now()); },
                                seconds(15)));
  cluster_.store().ElectLeader(cluster_.now());  // leases get their full TTL again
  AskFor("n2", shard_, "n2");
  ASSERT_TRUE(cluster_.RunUntil([&] { return InPhase(shard_, MovePhase::kPrepared); }, seconds(1)));
  TellNow("n1");
  EXPECT_TRUE(Holds<core::Leaderships::Leading>(shard_));
  cluster_.CutOff("n1", false);
  EXPECT_TRUE(cluster_.RunUntil([&] { return cluster_.Leads("n2", shard_); }, seconds(5)));
}

// Plan: `acquired` of n1's shard still runs when its move is prepared. The shard is handed over as
// soon as `acquired` returns.
TEST_F(MovesTest, OneThatCameWhileTheShardActivatedBeginsAfter) {
  const ShardId theirs = cluster_.ShardsOf("n2").front();
  cluster_.Behave("n1", CallbackKind::kAcquired, theirs, Behaviour::kHangs);
  AskFor("n1", theirs, "n1");
  ASSERT_TRUE(cluster_.RunUntil([&] { return cluster_.Leads("n1", theirs); }, seconds(2)));
  AskFor("n2", theirs, "n2");
  ASSERT_TRUE(cluster_.RunUntil([&] { return InPhase(theirs, MovePhase::kPrepared); }, seconds(1)));
  cluster_.Run(milliseconds(200));
  EXPECT_TRUE(cluster_.Leads("n1", theirs));
  EXPECT_EQ(Asked("n1", CallbackKind::kReleasing, theirs), 0u);
  const auto callback = cluster_.Asked<core::RunCallback>("n1").back().second;
  ASSERT_EQ(callback.kind, CallbackKind::kAcquired);
  cluster_.Deliver("n1", core::CallbackReturned{callback.operation, theirs, true});
  EXPECT_EQ(Asked("n1", CallbackKind::kReleasing, theirs), 1u);
}

// Plan: etcd denies n1 its transfers. After each, n1 leads again and waits its pause. In a second
// it sends about ten, though nothing is written about the shard.
TEST_F(MovesTest, ARefusedTransferIsTriedAgainAfterItsPause) {
  cluster_.DenyWrites("n1", [](const Write& write) { return IsA<TransferBatch>(write); });
  AskFor("n2", shard_, "n2");
  ASSERT_TRUE(cluster_.RunUntil([&] { return cluster_.Sent<TransferBatch>("n1").size() == 1; },
                                seconds(1)));
  cluster_.Run(seconds(1));
  EXPECT_GE(cluster_.Sent<TransferBatch>("n1").size(), 8u);
  EXPECT_LE(cluster_.Sent<TransferBatch>("n1").size(), 11u);
  cluster_.DenyWrites("n1", {});
  EXPECT_TRUE(cluster_.RunUntil([&] { return cluster_.Leads("n2", shard_); }, milliseconds(200)));
}

// Plan: as before, without a listener: no returning callback makes n1 look at the move again.
TEST(Moves, ARefusedTransferIsTriedAgainWithoutAListenerToo) {
  ClusterOptions options;
  options.nodes = 2;
  options.latency_most = options.latency_least;
  options.listener = false;
  options.tune = [](core::CoreOptions& tuned) { tuned.rebalance_delay = seconds(600); };
  Cluster cluster(std::move(options));
  ASSERT_TRUE(cluster.Up());
  const ShardId shard = cluster.ShardsOf("n1").front();
  cluster.DenyWrites("n1", [](const Write& write) { return IsA<TransferBatch>(write); });
  cluster.Transfer("n2", {.shard = shard, .to = "n2", .if_term = {}, .actor = {}});
  ASSERT_TRUE(
      cluster.RunUntil([&] { return cluster.Sent<TransferBatch>("n1").size() == 1; }, seconds(1)));
  cluster.Run(seconds(1));
  EXPECT_GE(cluster.Sent<TransferBatch>("n1").size(), 9u);
  EXPECT_LE(cluster.Sent<TransferBatch>("n1").size(), 11u);
  cluster.DenyWrites("n1", {});
  EXPECT_TRUE(cluster.RunUntil([&] { return cluster.Leads("n2", shard); }, milliseconds(200)));
  EXPECT_EQ(cluster.violations(), kNone);
}

// Plan: n2's member value is damaged when a prepared move of n1's shard comes, so the move can't
// begin. The value is repaired, which changes no key of the shard.
TEST_F(MovesTest, ATargetThatComesConcernsTheLeader) {
  DenyMovesOf("n1");  // otherwise the balancer withdraws it
  DamageMember();
  cluster_.store().Put(Move(shard_, MovePhase::kPrepared));
  Tell();
  cluster_.Run(milliseconds(50));
  EXPECT_TRUE(Holds<core::Leaderships::Leading>(shard_));
  MendMember();
  EXPECT_TRUE(cluster_.RunUntil([&] { return cluster_.Leads("n2", shard_); }, seconds(5)));
}

// Plan: one shard's transfer never arrives, so another shard, already released, waits for its
// place. Then its target can't take it any more: the application takes the shard up again.
TEST_F(MovesTest, ATargetThatGoesConcernsTheLeader) {
  AskFor("n1", shard_, "n2");
  ASSERT_TRUE(cluster_.RunUntil([&] { return InPhase(shard_, MovePhase::kPrepared); }, seconds(1)));
  cluster_.HoldWrites("n1");
  ASSERT_TRUE(cluster_.RunUntil([&] { return !cluster_.Leads("n1", shard_); }, seconds(1)));
  AskFor("n2", other_, "n2");
  ASSERT_TRUE(cluster_.RunUntil([&] { return Holds<core::Leaderships::Released>(other_); },
                                milliseconds(500)));
  const std::size_t acquired = Asked("n1", CallbackKind::kAcquired, other_);
  DamageMember();
  EXPECT_TRUE(Holds<core::Leaderships::Leading>(other_));
  EXPECT_EQ(Asked("n1", CallbackKind::kAcquired, other_), acquired + 1);
  EXPECT_TRUE(cluster_.Leads("n1", other_));
}

// ---- the target ---------------------------------------------------------------------------------

// Plan: n2 has prepared, and etcd denies its "prepared", when its session is lost. The move stays
// planned; with its next session n2 prepares once more.
TEST_F(MovesTest, ASessionLostAndRegainedPreparesWhatIsStillPlanned) {
  DenyMovesOf("n1");  // otherwise the balancer withdraws it meanwhile
  DenyMovesOf("n2");
  cluster_.store().Put(Move(shard_, MovePhase::kPlanned));
  Tell();
  ASSERT_TRUE(cluster_.RunUntil([&] { return WrittenByN2().size() == 1; }, seconds(1)));
  const SessionId before = cluster_.store().Member("n2").session;
  cluster_.RevokeLeaseOf("n2");
  ASSERT_TRUE(cluster_.RunUntil(
      [&] {
        const MemberFact now = cluster_.store().Member("n2");
        return now.Live() && now.session != before;
      },
      seconds(30)));
  ASSERT_TRUE(InPhase(shard_, MovePhase::kPlanned));
  cluster_.DenyWrites("n2", {});
  EXPECT_TRUE(cluster_.RunUntil([&] { return cluster_.Leads("n2", shard_); }, seconds(2)));
  EXPECT_EQ(Asked("n2", CallbackKind::kPrepare, shard_), 2u);
}

// Plan: n2 hears of a move to it while it is suspended, and of nothing about the shard afterwards.
TEST_F(MovesTest, OneThatCameWhileSuspendedIsPreparedAfter) {
  cluster_.CutOff("n2");
  ASSERT_TRUE(cluster_.RunUntil([&] { return !cluster_.core("n2").session().live(cluster_.now()); },
                                seconds(15)));
  cluster_.store().ElectLeader(cluster_.now());
  AskFor("n1", shard_, "n2");
  cluster_.Run(milliseconds(50));
  TellNow("n2");
  EXPECT_EQ(Asked("n2", CallbackKind::kPrepare, shard_), 0u);
  cluster_.CutOff("n2", false);
  EXPECT_TRUE(cluster_.RunUntil([&] { return cluster_.Leads("n2", shard_); }, seconds(5)));
}

// Plan: n2's own member value is damaged when it hears of the move; later it is repaired.
TEST_F(MovesTest, ATargetThatComesConcernsItself) {
  DenyMovesOf("n1");
  DamageMember();
  cluster_.store().Put(Move(shard_, MovePhase::kPlanned));
  Tell();
  cluster_.Run(milliseconds(50));
  EXPECT_EQ(Asked("n2", CallbackKind::kPrepare, shard_), 0u);
  MendMember();
  EXPECT_TRUE(cluster_.RunUntil([&] { return cluster_.Leads("n2", shard_); }, seconds(5)));
}

// Plan: `prepare` still runs when the member value is damaged. Its late return counts for nothing,
// and the shard is prepared again once the value is repaired.
TEST_F(MovesTest, ATargetThatGoesConcernsItself) {
  DenyMovesOf("n1");
  cluster_.Behave("n2", CallbackKind::kPrepare, shard_, Behaviour::kHangs);
  AskFor("n2", shard_, "n2");
  ASSERT_TRUE(cluster_.RunUntil([&] { return Asked("n2", CallbackKind::kPrepare, shard_) == 1; },
                                milliseconds(500)));
  DamageMember();
  MendMember();
  EXPECT_TRUE(cluster_.RunUntil([&] { return Asked("n2", CallbackKind::kPrepare, shard_) == 2; },
                                seconds(5)));
}

// Two nodes, six shards each. n2's writes never arrive, and n2 prepares n1's shards one after
// another.
class ManyMovesTest : public ::testing::Test {
 protected:
  static ClusterOptions Options() {
    ClusterOptions options;
    options.nodes = 2;
    options.latency_most = options.latency_least;
    options.tune = [](core::CoreOptions& tuned) { tuned.rebalance_delay = seconds(600); };
    return options;
  }
  void SetUp() override {
    ASSERT_TRUE(cluster_.Up());
    cluster_.HoldWrites("n2");
    of_n1_ = cluster_.ShardsOf("n1");
    ASSERT_EQ(of_n1_.size(), 6u);
    for (const ShardId shard : of_n1_) {
      Ask(shard);
      cluster_.Run(milliseconds(30));
    }
  }
  void TearDown() override { EXPECT_EQ(cluster_.violations(), kNone); }
  void Ask(ShardId shard) {
    cluster_.Transfer("n1", {.shard = shard, .to = "n2", .if_term = {}, .actor = {}});
  }
  std::vector<ShardId> of_n1_;
  Cluster cluster_{Options()};
};

// Plan: then four writes are in flight, each about another shard, and the others wait. When the
// writes pass again, all shards are handed over.
TEST_F(ManyMovesTest, SeveralPreparedWritesAreUnderWayAtOnce) {
  std::set<ShardId> written;
  for (const auto& [at, batch] : cluster_.Sent<MoveBatch>("n2")) {
    EXPECT_EQ(batch.moves.size(), 1u);
    EXPECT_TRUE(written.insert(batch.moves.front().move.shard).second) << "in flight twice";
  }
  EXPECT_EQ(written.size(), core::kMoveBatchesAtOnce);
  cluster_.LetWrites("n2");
  EXPECT_TRUE(cluster_.RunUntil([&] { return cluster_.LedBy("n2") == 12; }, seconds(5)));
}

// Plan: as many writes as allowed are in flight, and never arrive, when n2's session is lost. Its
// next session writes what it has prepared.
TEST_F(ManyMovesTest, WritesOfALostSessionHoldNothingUp) {
  const SessionId before = cluster_.store().Member("n2").session;
  cluster_.RevokeLeaseOf("n2");
  cluster_.PassNewWrites("n2");
  ASSERT_TRUE(cluster_.RunUntil(
      [&] {
        const MemberFact now = cluster_.store().Member("n2");
        return now.Live() && now.session != before && cluster_.store().MoveCount() == 0;
      },
      seconds(30)));
  cluster_.Run(seconds(2));
  Ask(of_n1_.front());
  EXPECT_TRUE(cluster_.RunUntil([&] { return cluster_.Leads("n2", of_n1_.front()); }, seconds(2)));
}

// Plan: `prepare` fails, and the write that voids the move never arrives. That move is deleted and
// planned again; n2 prepares the shard and writes that, too. Then the first write is refused, which
// says nothing about the second: nothing more is written.
TEST_F(MovesTest, AnOldWritesAnswerSaysNothingOfTheNextMove) {
  DenyMovesOf("n1");
  cluster_.Behave("n2", CallbackKind::kPrepare, shard_, Behaviour::kThrows);
  cluster_.HoldWrites("n2");
  cluster_.store().Put(Move(shard_, MovePhase::kPlanned));
  Tell();
  ASSERT_TRUE(cluster_.RunUntil([&] { return WrittenByN2().size() == 1; }, milliseconds(100)));
  const auto first = cluster_.Asked<core::SubmitWrite>("n2").back().second;
  cluster_.store().Delete(KeyOf(Move(shard_, MovePhase::kPlanned)));
  Tell();
  cluster_.Run(milliseconds(20));
  cluster_.Behave("n2", CallbackKind::kPrepare, shard_, Behaviour::kReturns);
  cluster_.store().Put(Move(shard_, MovePhase::kPlanned));
  Tell();
  ASSERT_TRUE(cluster_.RunUntil([&] { return WrittenByN2().size() == 2; }, milliseconds(100)));
  const WriteResult refused = cluster_.store().Execute(*first.write);
  ASSERT_EQ(refused.outcome, Outcome::kRefused);
  cluster_.Deliver("n2", core::WriteAnswered{first.operation, refused});
  cluster_.Run(milliseconds(200));
  EXPECT_EQ(WrittenByN2().size(), 2u);
  cluster_.LetWrites("n2");
  EXPECT_TRUE(cluster_.RunUntil([&] { return cluster_.Leads("n2", shard_); }, seconds(3)));
}

// Plan: n2 has prepared, and n1's application takes its time. The move is deleted and planned
// again, and n2 hears of both in one message: it prepares once more.
TEST_F(MovesTest, OneThatIsPlannedAnewIsPreparedAnew) {
  cluster_.Behave("n1", CallbackKind::kReleasing, shard_, Behaviour::kHangs);
  AskFor("n1", shard_, "n2");
  ASSERT_TRUE(cluster_.RunUntil([&] { return InPhase(shard_, MovePhase::kPrepared); }, seconds(1)));
  cluster_.Run(milliseconds(20));
  cluster_.store().Delete(KeyOf(Move(shard_, MovePhase::kPlanned)));
  cluster_.store().Put(Move(shard_, MovePhase::kPlanned));
  Tell();
  EXPECT_TRUE(cluster_.RunUntil([&] { return InPhase(shard_, MovePhase::kPrepared); }, seconds(1)));
  EXPECT_EQ(Asked("n2", CallbackKind::kPrepare, shard_), 2u);
}

// Plan: etcd denies n2's first two "prepared" and takes the third one. The phase has ended once.
TEST_F(MovesTest, APreparedThatIsWrittenAgainReportsItsPhaseOnce) {
  DenyMovesOf("n2");
  AskFor("n1", shard_, "n2");
  ASSERT_TRUE(cluster_.RunUntil([&] { return WrittenByN2().size() == 2; }, seconds(1)));
  cluster_.DenyWrites("n2", {});
  ASSERT_TRUE(cluster_.RunUntil([&] { return cluster_.Leads("n2", shard_); }, seconds(1)));
  std::size_t ended = 0;
  for (const auto& [at, report] : cluster_.Asked<core::ReportHandoffPhase>("n2")) {
    ended += report.phase == std::string_view("prepare") ? 1 : 0;
  }
  EXPECT_EQ(ended, 1u);
}

// ---- the balancer -------------------------------------------------------------------------------

// Plan: the balancer is suspended while a move is planned and becomes void: two changes of a shard.
// Live again, it deletes the move once (the cluster checks that no write names a key twice).
TEST_F(MovesTest, AVoidOneIsWithdrawnOnce) {
  cluster_.Behave("n2", CallbackKind::kPrepare, shard_, Behaviour::kThrows);
  cluster_.CutOff("n1");
  ASSERT_TRUE(cluster_.RunUntil([&] { return !cluster_.core("n1").session().live(cluster_.now()); },
                                seconds(15)));
  cluster_.store().ElectLeader(cluster_.now());
  cluster_.store().Put(Move(shard_, MovePhase::kPlanned));
  TellNow("n1");
  Tell();
  ASSERT_TRUE(cluster_.RunUntil([&] { return InPhase(shard_, MovePhase::kVoid); }, seconds(1)));
  TellNow("n1");
  cluster_.CutOff("n1", false);
  ASSERT_TRUE(cluster_.RunUntil([&] { return !cluster_.store().Move(shard_); }, seconds(5)));
  ASSERT_EQ(cluster_.Sent<MoveBatch>("n1").size(), 1u);
  EXPECT_EQ(cluster_.core("n1").balancer().counters().voided, 1u);
}

// Plan: 133 moves to n3 are planned when it dies. All are withdrawn, though a write has room for
// 125 and nothing happens that concerns the others.
TEST(Moves, MoreVoidOnesThanOneBatchTakesAreAllWithdrawn) {
  ClusterOptions options;
  options.shards = 400;
  options.tune = [](core::CoreOptions& tuned) {
    tuned.max_moves = 400;
    tuned.rebalance_delay = seconds(1);
  };
  Cluster cluster(std::move(options));
  cluster.Start("n1");
  cluster.Start("n2");
  ASSERT_TRUE(cluster.RunUntil([&] { return cluster.Settled(); }, seconds(20)));
  cluster.Behave("n3", CallbackKind::kPrepare, Behaviour::kHangs);
  cluster.Start("n3");
  ASSERT_TRUE(cluster.RunUntil([&] { return cluster.store().MoveCount() == 133; }, seconds(5)));
  cluster.Run(milliseconds(500));
  cluster.Kill("n3");
  cluster.store().Revoke(cluster.store().Member("n3").lease);
  cluster.HoldWatch("n1", false);
  cluster.Run(milliseconds(200));
  EXPECT_EQ(cluster.store().MoveCount(), 0u);
  EXPECT_EQ(cluster.violations(), kNone);
}

// Plan: while the withdrawal of one void move is in flight, another move becomes void.
TEST_F(MovesTest, WhatBecameVoidWhileAWriteWasUnderWayIsWithdrawn) {
  cluster_.Behave("n2", CallbackKind::kPrepare, Behaviour::kThrows);
  cluster_.HoldWrites("n1");
  cluster_.store().Put(Move(shard_, MovePhase::kPlanned));
  Tell();
  ASSERT_TRUE(cluster_.RunUntil([&] { return !cluster_.Sent<MoveBatch>("n1").empty(); },
                                milliseconds(500)));
  cluster_.store().Put(Move(other_, MovePhase::kPlanned));
  Tell();
  ASSERT_TRUE(
      cluster_.RunUntil([&] { return InPhase(other_, MovePhase::kVoid); }, milliseconds(200)));
  cluster_.LetWrites("n1");
  EXPECT_TRUE(cluster_.RunUntil([&] { return cluster_.store().MoveCount() == 0; }, seconds(3)));
}

// Plan: n2 is the balancer, and etcd denies its moves, when one becomes void. Then n1 becomes
// balancer, which touches no shard and no member.
TEST(Moves, WhatBecameVoidWhileAnotherNodePlannedIsWithdrawn) {
  ClusterOptions options;
  options.nodes = 2;
  options.latency_most = options.latency_least;
  options.tune = [](core::CoreOptions& tuned) { tuned.rebalance_delay = seconds(600); };
  Cluster cluster(std::move(options));
  cluster.Start("n2");
  ASSERT_TRUE(cluster.RunUntil([&] { return cluster.Settled(); }, seconds(20)));
  cluster.Start("n1");
  cluster.Run(seconds(2));
  ASSERT_EQ(cluster.store().Balancer().leader, "n2");
  cluster.Behave("n1", CallbackKind::kPrepare, Behaviour::kThrows);
  cluster.Transfer("n2", {.shard = ShardId{0}, .to = "n1", .if_term = {}, .actor = {}});
  cluster.Run(milliseconds(2));
  cluster.DenyWrites("n2", [](const Write& write) { return IsA<MoveBatch>(write); });
  cluster.Run(seconds(1));
  ASSERT_TRUE(cluster.store().Move(ShardId{0}));
  ASSERT_EQ(cluster.store().Move(ShardId{0})->phase, MovePhase::kVoid);
  cluster.store().Delete("balancer");
  cluster.HoldWatch("n1", false);
  EXPECT_TRUE(cluster.RunUntil([&] { return cluster.store().MoveCount() == 0; }, seconds(1)));
  EXPECT_EQ(cluster.store().Balancer().leader, "n1");
  EXPECT_EQ(cluster.violations(), kNone);
}

// Plan: two moves, ten seconds apart, make no progress: each is withdrawn after its own timeout of
// 30 s.
TEST_F(MovesTest, EachIsWithdrawnAtItsOwnBound) {
  DenyMovesOf("n2");
  cluster_.store().Put(Move(shard_, MovePhase::kPlanned));
  Tell();
  cluster_.Run(seconds(10));
  cluster_.store().Put(Move(other_, MovePhase::kPlanned));
  Tell();
  cluster_.Run(milliseconds(19'900));
  EXPECT_EQ(cluster_.store().MoveCount(), 2u);
  cluster_.Run(milliseconds(200));
  EXPECT_FALSE(cluster_.store().Move(shard_));
  EXPECT_TRUE(cluster_.store().Move(other_));
  cluster_.Run(milliseconds(9'800));
  EXPECT_TRUE(cluster_.store().Move(other_));
  cluster_.Run(milliseconds(200));
  EXPECT_FALSE(cluster_.store().Move(other_));
  EXPECT_EQ(cluster_.core("n1").balancer().counters().timed_out, 2u);
}

// Plan: a move is prepared, and its leader takes its time, when its target can't take it any more:
// it is withdrawn at once.
TEST_F(MovesTest, ATargetThatGoesConcernsTheBalancer) {
  cluster_.Behave("n1", CallbackKind::kReleasing, Behaviour::kHangs);
  AskFor("n1", shard_, "n2");
  ASSERT_TRUE(cluster_.RunUntil([&] { return InPhase(shard_, MovePhase::kPrepared); }, seconds(1)));
  DamageMember();
  EXPECT_FALSE(cluster_.store().Move(shard_));
  EXPECT_EQ(cluster_.core("n1").balancer().counters().voided, 1u);
}

// Plan: an operator drains the target of a move that is being prepared: the move is withdrawn at
// once.
TEST_F(MovesTest, APolicyConcernsTheBalancer) {
  cluster_.Behave("n2", CallbackKind::kPrepare, Behaviour::kHangs);
  AskFor("n1", shard_, "n2");
  cluster_.Run(milliseconds(100));
  ASSERT_TRUE(InPhase(shard_, MovePhase::kPlanned));
  cluster_.Policy("n1", {PolicyKind::kDrain, "n2"});
  cluster_.Run(milliseconds(50));
  EXPECT_FALSE(cluster_.store().Move(shard_));
  EXPECT_EQ(cluster_.core("n1").balancer().counters().voided, 1u);
}

// Plan: n1 has just planned (a new limit, nothing to move); a millisecond later it hears of a
// drain. It sends the drain's moves at that instant.
TEST_F(MovesTest, ADrainIsPlannedAtOnce) {
  cluster_.store().Put(PolicyFact{
      .name = {PolicyKind::kLimits}, .revision = {}, .present = true, .actor = "", .max_moves = 9});
  TellNow("n1");
  cluster_.Run(milliseconds(1));
  cluster_.store().Put(PolicyFact{.name = {PolicyKind::kDrain, "n2"},
                                  .revision = {},
                                  .present = true,
                                  .actor = "",
                                  .max_moves = 0});
  TellNow("n1");
  ASSERT_EQ(cluster_.Sent<MoveBatch>("n1").size(), 1u);
  EXPECT_EQ(cluster_.Sent<MoveBatch>("n1").front().first, cluster_.now());
  EXPECT_EQ(cluster_.Sent<MoveBatch>("n1").front().second.moves.size(), 2u);
}

// Plan: alice drains n2. The records of its shards say so, and so do the transitions.
TEST_F(MovesTest, OfADrainNameWhoAskedForIt) {
  cluster_.Policy("n1", {PolicyKind::kDrain, "n2"});
  const auto moved = [&] { return cluster_.TransitionsOf(Reason::kDrain); };
  ASSERT_TRUE(cluster_.RunUntil([&] { return moved().size() == 2; }, seconds(5)));
  EXPECT_EQ(cluster_.LedBy("n2"), 0u);
  for (const Transition& transition : moved()) {
    EXPECT_EQ(transition.actor, "alice");
    EXPECT_EQ(cluster_.store().Record(transition.shard).actor, "alice");
  }
}

// Plan: the same for a node that leaves by itself.
TEST_F(MovesTest, ALeavingNodeIsPlannedForAtOnce) {
  cluster_.store().Put(PolicyFact{
      .name = {PolicyKind::kLimits}, .revision = {}, .present = true, .actor = "", .max_moves = 9});
  TellNow("n1");
  cluster_.Run(milliseconds(1));
  MemberFact leaving = cluster_.store().Member("n2");
  leaving.state = MemberState::kDraining;
  cluster_.store().Put(leaving, leaving.lease);
  TellNow("n1");
  ASSERT_EQ(cluster_.Sent<MoveBatch>("n1").size(), 1u);
  EXPECT_EQ(cluster_.Sent<MoveBatch>("n1").front().first, cluster_.now());
}

// Plan: n2 is drained of 32 shards, eight at a time, and their moves end whenever callbacks return.
// The balancer plans at most once in 10 ms.
TEST(Moves, EndsOfMovesCloseTogetherArePlannedOverOnce) {
  ClusterOptions options;
  options.nodes = 2;
  options.shards = 64;
  options.latency_most = options.latency_least;
  options.tune = [](core::CoreOptions& tuned) {
    tuned.rebalance_delay = seconds(600);
    tuned.max_moves = 8;
  };
  Cluster cluster(std::move(options));
  ASSERT_TRUE(cluster.Up());
  cluster.Policy("n1", {PolicyKind::kDrain, "n2"});
  ASSERT_TRUE(cluster.RunUntil([&] { return cluster.LedBy("n1") == 64; }, seconds(5)));
  std::vector<TimePoint> plans;
  for (const auto& [at, batch] : cluster.Sent<MoveBatch>("n1")) {
    if (batch.balancer_term) plans.push_back(at);
  }
  ASSERT_GE(plans.size(), 4u);
  for (std::size_t i = 1; i < plans.size(); ++i) {
    EXPECT_GE(plans[i] - plans[i - 1], milliseconds(10)) << "plan " << i;
  }
  EXPECT_EQ(cluster.violations(), kNone);
}

}  // namespace
}  // namespace baton::test
