// Moves are thought over only where something changed. Each test has a move that must be thought
// over again though nothing new was written about its shard, or one that must not be twice.
#include <gtest/gtest.h>

#include "core/balancer.h"
#include "core/cluster.h"

namespace baton::test {
namespace {

using core::CallbackKind;

const std::vector<std::string> kNone;

// Two nodes, four shards; n1 plans, and nothing moves but what the tests ask for.
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
  // Whatever was put into the store is told to the watches.
  void Tell() { cluster_.HoldWatch("n1", false); }
  // All that was ever written, in one message of n1's watch, though that hears of nothing else.
  void TellNow(const NodeId& node) {
    cluster_.Deliver(node, core::ChangesSeen{cluster_.store().ChangesAfter(Revision{10})});
  }
  // A move of n1's shard to n2, as it would stand in etcd.
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
  // n2's member value can't be read, though its lease lives; n2 is kept from writing it anew.
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
  // By operation: how many moves a "prepared" or "void" of n2 had.
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

// Plan: n1 is cut off and past its deadline, its lease lives on. Of the move that came meanwhile it
// hears, and does nothing. Then it is back, and nothing more is written about the shard.
TEST_F(MovesTest, OneThatCameWhileSuspendedBeginsAfter) {
  cluster_.CutOff("n1");
  ASSERT_TRUE(cluster_.RunUntil([&] { return !cluster_.core("n1").session().live(cluster_.now()); },
                                seconds(15)));
  cluster_.store().ElectLeader(cluster_.now());  // leases begin anew
  AskFor("n2", shard_, "n2");
  ASSERT_TRUE(cluster_.RunUntil([&] { return InPhase(shard_, MovePhase::kPrepared); }, seconds(1)));
  TellNow("n1");
  EXPECT_TRUE(Holds<core::Leaderships::Leading>(shard_));
  cluster_.CutOff("n1", false);
  EXPECT_TRUE(cluster_.RunUntil([&] { return cluster_.Leads("n2", shard_); }, seconds(5)));
}

// Plan: n1 has a shard whose `acquired` goes on when its move is prepared. It is handed over as
// soon as that returns.
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

// Plan: etcd denies n1 its transfers. After each n1 leads again and waits its pause; in a second
// there are some ten, though nobody writes a word about the shard.
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

// Plan: as before, without a listener: no callback's return makes n1 look at the move again.
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

// Plan: n2's member value is damaged when a prepared move of n1's shard comes: it can't begin. The
// value is mended, which is no word about the shard.
TEST_F(MovesTest, ATargetThatComesConcernsTheLeader) {
  DenyMovesOf("n1");  // else the balancer withdraws it
  DamageMember();
  cluster_.store().Put(Move(shard_, MovePhase::kPrepared));
  Tell();
  cluster_.Run(milliseconds(50));
  EXPECT_TRUE(Holds<core::Leaderships::Leading>(shard_));
  MendMember();
  EXPECT_TRUE(cluster_.RunUntil([&] { return cluster_.Leads("n2", shard_); }, seconds(5)));
}

// Plan: one shard's transfer goes nowhere, so another one, released by its application, waits for
// its place. Then its target can't take it any more: the application takes the shard up again.
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

// Plan: n2 has prepared, and was not allowed to say so, when its session is lost. The move stays
// planned; with its next session n2 prepares once more.
TEST_F(MovesTest, ASessionLostAndRegainedPreparesWhatIsStillPlanned) {
  DenyMovesOf("n1");  // else the balancer withdraws it meanwhile
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

// Plan: n2 hears of a move to it while it is suspended, and of nothing about the shard after.
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

// Plan: n2's own member value is damaged when it hears of the move; it is mended after.
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

// Plan: `prepare` goes on when the member value is damaged: what returns late is of no use, and
// the shard is prepared anew once it is mended.
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

// Two nodes, six shards each. n2's writes go nowhere, and n1's shards become prepared on it one
// after another.
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

// Plan: four writes are under way then, each of a shard of its own, and the others wait. Let go,
// all of them are handed over.
TEST_F(ManyMovesTest, SeveralPreparedWritesAreUnderWayAtOnce) {
  std::set<ShardId> written;
  for (const auto& [at, batch] : cluster_.Sent<MoveBatch>("n2")) {
    EXPECT_EQ(batch.moves.size(), 1u);
    EXPECT_TRUE(written.insert(batch.moves.front().move.shard).second) << "twice under way";
  }
  EXPECT_EQ(written.size(), core::kMoveBatchesAtOnce);
  cluster_.LetWrites("n2");
  EXPECT_TRUE(cluster_.RunUntil([&] { return cluster_.LedBy("n2") == 12; }, seconds(5)));
}

// Plan: as many writes as may be are under way, and go nowhere, when n2's session is lost. Its next
// session writes what it has prepared.
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

// Plan: `prepare` fails, and the word that the move is void goes nowhere. That move is deleted and
// planned anew; the shard is prepared and that is written, too. Then the first write is refused,
// which says nothing of the second: nothing more is written.
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

// Plan: n2 has prepared, and n1's application takes its time. The move is deleted and planned anew,
// of which n2 hears in one message: it prepares once more.
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

// ---- the balancer -------------------------------------------------------------------------------

// Plan: the balancer is suspended while a move is planned and becomes void: two changes of a shard.
// Back, it deletes the move, once (the cluster checks that no write names a key twice).
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

// Plan: 133 moves to n3 are planned when it dies: all are withdrawn, though a write has room for
// 125 and nothing happens that would concern the others.
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

// Plan: while the withdrawal of one void move is under way, another becomes void.
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

// Plan: n2 plans, and is denied its moves, when one becomes void. Then n1 takes the role, of which
// no shard and no member is touched.
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

// Plan: two moves, ten seconds apart, of which no word comes any more: each is withdrawn when its
// own bound has passed, 30 s.
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

// Plan: a move that is prepared, and whose leader takes its time, when its target can't take it any
// more: it is withdrawn at once.
TEST_F(MovesTest, ATargetThatGoesConcernsTheBalancer) {
  cluster_.Behave("n1", CallbackKind::kReleasing, Behaviour::kHangs);
  AskFor("n1", shard_, "n2");
  ASSERT_TRUE(cluster_.RunUntil([&] { return InPhase(shard_, MovePhase::kPrepared); }, seconds(1)));
  DamageMember();
  EXPECT_FALSE(cluster_.store().Move(shard_));
  EXPECT_EQ(cluster_.core("n1").balancer().counters().voided, 1u);
}

// Plan: an operator drains the target of a move that is being prepared: that is withdrawn at once.
TEST_F(MovesTest, APolicyConcernsTheBalancer) {
  cluster_.Behave("n2", CallbackKind::kPrepare, Behaviour::kHangs);
  AskFor("n1", shard_, "n2");
  cluster_.Run(milliseconds(100));
  ASSERT_TRUE(InPhase(shard_, MovePhase::kPlanned));
  cluster_.Policy("n1", "drain/n2");
  cluster_.Run(milliseconds(50));
  EXPECT_FALSE(cluster_.store().Move(shard_));
  EXPECT_EQ(cluster_.core("n1").balancer().counters().voided, 1u);
}

// Plan: n1 has just planned (a limit came, with nothing to move); a millisecond later it hears of a
// drain. Its moves are sent at that instant.
TEST_F(MovesTest, ADrainIsPlannedAtOnce) {
  cluster_.store().Put(
      PolicyFact{.name = "limits", .revision = {}, .present = true, .actor = "", .max_moves = 9});
  TellNow("n1");
  cluster_.Run(milliseconds(1));
  cluster_.store().Put(
      PolicyFact{.name = "drain/n2", .revision = {}, .present = true, .actor = "", .max_moves = 0});
  TellNow("n1");
  ASSERT_EQ(cluster_.Sent<MoveBatch>("n1").size(), 1u);
  EXPECT_EQ(cluster_.Sent<MoveBatch>("n1").front().first, cluster_.now());
  EXPECT_EQ(cluster_.Sent<MoveBatch>("n1").front().second.moves.size(), 2u);
}

// Plan: the same of a node that leaves by itself.
TEST_F(MovesTest, ALeavingNodeIsPlannedForAtOnce) {
  cluster_.store().Put(
      PolicyFact{.name = "limits", .revision = {}, .present = true, .actor = "", .max_moves = 9});
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
// From one plan to the next it is 10 ms at least.
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
  cluster.Policy("n1", "drain/n2");
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
