// Gaining, keeping and giving away: the rules of handoff and of callbacks, in a small cluster.
#include "core/leaderships.h"

#include <algorithm>

#include <gtest/gtest.h>

#include "core/cluster.h"

namespace baton::test {
namespace {

using core::CallbackKind;

class LeadershipsTest : public ::testing::Test {
 protected:
  void SetUp() override { ASSERT_TRUE(cluster_.Up()) << cluster_.WhyNotSettled(); }
  // An operator moves shard 0 from n1 to n2.
  core::RequestId MoveToN2() {
    EXPECT_EQ(cluster_.LeaderOf(kShard), "n1");
    return cluster_.Transfer("n1", {.shard = kShard, .to = "n2", .if_term = {}, .actor = {}});
  }
  static ClusterOptions Options() {
    ClusterOptions options;
    options.nodes = 2;
    options.shards = 4;
    options.tune = [](core::CoreOptions& tuned) {
      tuned.rebalance_delay = seconds(60);  // nothing moves unless the test asks for it
      tuned.callback_timeout = tuned.release_timeout = tuned.prepare_timeout = seconds(5);
    };
    return options;
  }
  // n1's transfer is in flight with an unknown outcome.
  void LoseATransfer() {
    MoveToN2();
    ASSERT_TRUE(cluster_.RunUntil(
        [&] {
          return cluster_.store().Move(kShard) &&
                 cluster_.store().Move(kShard)->phase == MovePhase::kPrepared;
        },
        seconds(5)));
    cluster_.HoldWrites("n1");
    ASSERT_TRUE(cluster_.RunUntil([&] { return !cluster_.Leads("n1", kShard); }, seconds(5)));
  }
  // The same, and its move is withdrawn.
  void LoseATransferOfAVoidMove() {
    ASSERT_NO_FATAL_FAILURE(LoseATransfer());
    cluster_.Run(milliseconds(990));
    cluster_.store().Delete("moves/000000");
    cluster_.HoldWatch("n1", false);  // the watches hear of it
  }
  const ShardId kShard{0};
  Cluster cluster_{Options()};
};

// Plan: the transfer is applied at once and its answer is lost: n2 leads, but n1 does not know. n1
// has stopped before it sent the transfer.
TEST_F(LeadershipsTest, StopsLeadingBeforeTheTransferIsSent) {
  const Term before = cluster_.TermOf(kShard);
  cluster_.LoseReplies("n1");
  cluster_.HoldWatch("n1", true);
  cluster_.Run(milliseconds(10));
  cluster_.HoldWatch("n1", false);
  MoveToN2();
  ASSERT_TRUE(cluster_.RunUntil([&] { return cluster_.Leads("n2", kShard); }, seconds(20)));
  EXPECT_GT(cluster_.TermOf(kShard), before);
  EXPECT_FALSE(cluster_.Leads("n1", kShard));
  EXPECT_EQ(cluster_.violations(), kNone);
}

// Plan: the transfer waits on its way when the node stops. Nobody knows what becomes of it, so it
// does not count as a move that was done.
TEST_F(LeadershipsTest, AMoveOfUnknownOutcomeIsNotCountedAsDone) {
  ASSERT_NO_FATAL_FAILURE(LoseATransfer());
  cluster_.Stop("n1");
  EXPECT_EQ(cluster_.LedBy("n1"), 0u);
  EXPECT_EQ(cluster_.core("n1").leaderships().counters().moves_done, 0u);
}

// Plan: the transfer is late, so n1 gives it up. Then it is applied before the abandon. n1 sees
// that n2 leads: the move was done.
TEST_F(LeadershipsTest, AMoveThatIsDoneUnderAnAbandonIsCounted) {
  ASSERT_NO_FATAL_FAILURE(LoseATransfer());
  ASSERT_TRUE(
      cluster_.RunUntil([&] { return !cluster_.Sent<AbandonBatch>("n1").empty(); }, seconds(3)));
  const core::Leaderships& leaderships = cluster_.core("n1").leaderships();
  ASSERT_TRUE(
      std::holds_alternative<core::HeldShard::Abandoning>(leaderships.held().at(kShard).phase));
  cluster_.LetWrites("n1");
  ASSERT_TRUE(cluster_.RunUntil([&] { return !leaderships.held().contains(kShard); }, seconds(1)));
  EXPECT_TRUE(cluster_.RunUntil([&] { return cluster_.Leads("n2", kShard); }, seconds(1)));
  EXPECT_EQ(leaderships.counters().moves_done, 1u);
  EXPECT_EQ(cluster_.violations(), kNone);
}

// Plan: the transfer was applied; its answer and the watch are lost. The resent copy is refused,
// because the record is n2's by now: n1 must not take that for "still mine".
TEST_F(LeadershipsTest, RefusedIsNotStillMine) {
  MoveToN2();
  ASSERT_TRUE(cluster_.RunUntil(
      [&] {
        return !cluster_.Asked<core::SubmitWrite>("n2").empty() && cluster_.store().Move(kShard) &&
               cluster_.store().Move(kShard)->phase == MovePhase::kPrepared;
      },
      seconds(5)));
  cluster_.LoseReplies("n1");
  ASSERT_TRUE(cluster_.RunUntil([&] { return !cluster_.Leads("n1", kShard); }, seconds(5)));
  cluster_.HoldWatch("n1");
  cluster_.Run(milliseconds(900));
  cluster_.LoseReplies("n1", false);
  cluster_.Run(seconds(5));
  EXPECT_FALSE(cluster_.Leads("n1", kShard));
  EXPECT_TRUE(cluster_.Leads("n2", kShard));
  EXPECT_FALSE(cluster_.core("n1").leaderships().held().contains(kShard));
  EXPECT_EQ(cluster_.violations(), kNone);
}

// Plan: the transfer is held up on its way; meanwhile the move is withdrawn. n1 may lead again only
// once its abandon is done; then the old copy arrives and is refused.
TEST_F(LeadershipsTest, AbandonsBeforeItLeadsAgainAfterAnUnknownGiveUp) {
  const Term before = cluster_.TermOf(kShard);
  MoveToN2();
  ASSERT_TRUE(cluster_.RunUntil(
      [&] {
        return cluster_.store().Move(kShard) &&
               cluster_.store().Move(kShard)->phase == MovePhase::kPrepared;
      },
      seconds(5)));
  cluster_.HoldWrites("n1");
  ASSERT_TRUE(cluster_.RunUntil([&] { return !cluster_.Leads("n1", kShard); }, seconds(5)));
  cluster_.Run(milliseconds(1005));  // its outcome is unknown by now
  cluster_.store().Delete("moves/000000");
  EXPECT_FALSE(cluster_.RunUntil([&] { return cluster_.Leads("n1", kShard); }, milliseconds(500)));
  cluster_.PassNewWrites("n1");
  ASSERT_TRUE(cluster_.RunUntil([&] { return cluster_.Leads("n1", kShard); }, seconds(10)));
  EXPECT_EQ(cluster_.TermOf(kShard), before);
  cluster_.LetWrites("n1");
  cluster_.Run(seconds(3));
  EXPECT_TRUE(cluster_.Leads("n1", kShard));
  EXPECT_EQ(cluster_.violations(), kNone);
}

// Plan: etcd's database fills up after the move was prepared. The transfer's outcome stays unknown
// for as long, but deletions pass: n1 deletes the move, so that no copy of the transfer can be
// applied any more, and leads again with its old term. The application hears what it hears after a
// handoff that was withdrawn. Once there is space again, the old copies change nothing.
TEST_F(LeadershipsTest, AFullDatabaseCostsAHandoffAndNoLeader) {
  const Term before = cluster_.TermOf(kShard);
  MoveToN2();
  ASSERT_TRUE(cluster_.RunUntil(
      [&] {
        return cluster_.store().Move(kShard) &&
               cluster_.store().Move(kShard)->phase == MovePhase::kPrepared;
      },
      seconds(5)));
  cluster_.Fill(true);
  ASSERT_TRUE(cluster_.RunUntil([&] { return !cluster_.Leads("n1", kShard); }, seconds(5)));
  EXPECT_TRUE(cluster_.RunUntil([&] { return cluster_.Activated("n1", kShard); }, seconds(2)));
  cluster_.Run(seconds(60));
  EXPECT_TRUE(cluster_.Activated("n1", kShard));
  EXPECT_EQ(cluster_.TermOf(kShard), before);
  EXPECT_FALSE(cluster_.store().Move(kShard));
  cluster_.Fill(false);
  cluster_.Run(seconds(10));
  EXPECT_TRUE(cluster_.Leads("n1", kShard));
  EXPECT_EQ(cluster_.TermOf(kShard), before);
  EXPECT_EQ(cluster_.violations(), kNone);
}

// Plan: as before, but the move's target dies, so the balancer withdraws the move. That must not
// need space either.
TEST_F(LeadershipsTest, AFullDatabaseDoesNotKeepAVoidHandoffWithoutALeader) {
  const Term before = cluster_.TermOf(kShard);
  MoveToN2();
  ASSERT_TRUE(cluster_.RunUntil(
      [&] {
        return cluster_.store().Move(kShard) &&
               cluster_.store().Move(kShard)->phase == MovePhase::kPrepared;
      },
      seconds(5)));
  cluster_.Fill(true);
  ASSERT_TRUE(cluster_.RunUntil([&] { return !cluster_.Leads("n1", kShard); }, seconds(5)));
  cluster_.RevokeLeaseOf("n2");
  EXPECT_TRUE(cluster_.RunUntil([&] { return cluster_.Activated("n1", kShard); }, seconds(2)));
  EXPECT_EQ(cluster_.TermOf(kShard), before);
  cluster_.Fill(false);
  cluster_.Run(seconds(10));
  EXPECT_EQ(cluster_.violations(), kNone);
}

// Plan: one copy's outcome is unknown, the next is refused for its credentials: nothing is
// definite.
TEST_F(LeadershipsTest, ARefusalWithoutALookSaysNothingOfAnEarlierCopy) {
  MoveToN2();
  ASSERT_TRUE(cluster_.RunUntil(
      [&] {
        return cluster_.store().Move(kShard) &&
               cluster_.store().Move(kShard)->phase == MovePhase::kPrepared;
      },
      seconds(5)));
  cluster_.HoldWrites("n1");
  ASSERT_TRUE(cluster_.RunUntil([&] { return !cluster_.Leads("n1", kShard); }, seconds(5)));
  cluster_.Run(milliseconds(1100));
  const auto sent = cluster_.Asked<core::SubmitWrite>("n1").back().second;
  ASSERT_TRUE(std::holds_alternative<TransferBatch>(*sent.write));
  WriteResult denied;
  denied.outcome = Outcome::kRefused;
  denied.items = {Outcome::kRefused};
  denied.detail = "permission denied";
  denied.permanent = true;
  cluster_.core("n1").Step(cluster_.now(), core::WriteAnswered{sent.operation, denied});
  EXPECT_FALSE(cluster_.core("n1").leaderships().held().at(kShard).MayLead());
}

// Plan: etcd denies the abandon, but checks the guards of the transfer. These are false, because
// the move is gone. That decides, and n1 leads on with its old term.
TEST_F(LeadershipsTest, ADeniedAbandonLeavesItToTheTransfer) {
  const Term before = cluster_.TermOf(kShard);
  LoseATransferOfAVoidMove();
  cluster_.PassNewWrites("n1");
  cluster_.DenyWrites("n1", [](const Write& write) { return IsA<AbandonBatch>(write); });
  ASSERT_TRUE(
      cluster_.RunUntil([&] { return cluster_.Sent<AbandonBatch>("n1").size() == 1; }, seconds(1)));
  EXPECT_FALSE(cluster_.RunUntil([&] { return cluster_.Leads("n1", kShard); }, milliseconds(20)));
  EXPECT_TRUE(cluster_.RunUntil([&] { return cluster_.Activated("n1", kShard); }, seconds(2)));
  EXPECT_EQ(cluster_.TermOf(kShard), before);
  cluster_.LetWrites("n1");
  cluster_.Run(seconds(3));
  EXPECT_TRUE(cluster_.Leads("n1", kShard));
  EXPECT_EQ(cluster_.violations(), kNone);
}

// Plan: etcd denies the abandon and the copies of the transfer, so the first copy's outcome stays
// open. n1 does not lead, and asks at most ten times a second. Allowed again, it leads, and the
// first copy does no harm.
TEST_F(LeadershipsTest, DoesNotLeadWhileTheTransfersFateIsOpen) {
  LoseATransferOfAVoidMove();
  cluster_.PassNewWrites("n1");
  cluster_.DenyWrites("n1", [](const Write&) { return true; });
  EXPECT_FALSE(cluster_.RunUntil([&] { return cluster_.Leads("n1", kShard); }, seconds(5)));
  EXPECT_GT(cluster_.Sent<AbandonBatch>("n1").size(), 40u);
  EXPECT_LE(cluster_.Sent<AbandonBatch>("n1").size(), 51u);
  cluster_.DenyWrites("n1", {});
  EXPECT_TRUE(cluster_.RunUntil([&] { return cluster_.Activated("n1", kShard); }, seconds(3)));
  cluster_.LetWrites("n1");
  cluster_.Run(seconds(3));
  EXPECT_TRUE(cluster_.Leads("n1", kShard));
  EXPECT_EQ(cluster_.violations(), kNone);
}

// Plan: while the abandon is in flight, the transfer is definitely refused. That decides. The
// abandon's answer, which comes later, changes nothing.
TEST_F(LeadershipsTest, LeadsOnceTheTransferIsRefusedUnderAnAbandon) {
  const Term before = cluster_.TermOf(kShard);
  LoseATransferOfAVoidMove();
  ASSERT_TRUE(
      cluster_.RunUntil([&] { return !cluster_.Sent<AbandonBatch>("n1").empty(); }, seconds(1)));
  std::map<std::size_t, core::SubmitWrite> sent;  // the last transfer and the last abandon
  for (const auto& [at, submit] : cluster_.Asked<core::SubmitWrite>("n1")) {
    if (IsA<TransferBatch>(*submit.write) || IsA<AbandonBatch>(*submit.write))
      sent[submit.write->index()] = submit;
  }
  ASSERT_EQ(sent.size(), 2u);
  const core::SubmitWrite& transfer = sent.begin()->second;
  const core::SubmitWrite& abandon = sent.rbegin()->second;
  const WriteResult refused = cluster_.store().Execute(*transfer.write);
  ASSERT_EQ(refused.outcome, Outcome::kRefused);
  cluster_.Deliver("n1", core::WriteAnswered{transfer.operation, refused});
  EXPECT_TRUE(cluster_.Leads("n1", kShard));
  const WriteResult denied{
      .outcome = Outcome::kRefused, .items = {Outcome::kRefused}, .permanent = true};
  cluster_.Deliver("n1", core::WriteAnswered{abandon.operation, denied});
  EXPECT_TRUE(cluster_.Leads("n1", kShard));
  EXPECT_EQ(cluster_.TermOf(kShard), before);
  EXPECT_EQ(cluster_.violations(), kNone);
}

// Plan: `acquired` of one shard hangs. That shard is resigned and goes to the other node; n1's
// others stay where they are.
TEST_F(LeadershipsTest, ACallbackBeyondItsBoundCostsThatShardOnly) {
  const ShardId theirs = cluster_.ShardsOf("n2").front();
  const std::vector<ShardId> others = cluster_.ShardsOf("n1");
  cluster_.Behave("n1", CallbackKind::kAcquired, theirs, Behaviour::kHangs);
  cluster_.Transfer("n1", {.shard = theirs, .to = "n1", .if_term = {}, .actor = {}});
  ASSERT_TRUE(cluster_.RunUntil([&] { return cluster_.Leads("n1", theirs); }, seconds(10)));
  ASSERT_TRUE(cluster_.RunUntil([&] { return cluster_.Activated("n2", theirs); }, seconds(20)));
  EXPECT_EQ(cluster_.store().Record(theirs).reason, Reason::kCallbackTimeout);
  for (const ShardId shard : others) EXPECT_TRUE(cluster_.Activated("n1", shard));
  EXPECT_EQ(cluster_.violations(), kNone);
}

// Plan: `releasing` hangs: the shard is handed over after the timeout all the same. It counts as
// stopping on n1 from then on, until `lost`, which waits behind `releasing`, has returned.
TEST_F(LeadershipsTest, AReleaseBeyondItsBoundIsHandedOverAllTheSame) {
  cluster_.Behave("n1", CallbackKind::kReleasing, Behaviour::kHangs);
  MoveToN2();
  EXPECT_FALSE(cluster_.RunUntil([&] { return cluster_.Leads("n2", kShard); }, seconds(4)));
  const auto& stopping = cluster_.core("n1").leaderships().stopping();
  EXPECT_FALSE(stopping.Has(kShard));
  cluster_.Behave("n1", CallbackKind::kLost, Behaviour::kHangs);
  EXPECT_TRUE(cluster_.RunUntil([&] { return cluster_.Leads("n2", kShard); }, seconds(3)));
  EXPECT_EQ(cluster_.violations(), kNone);
  ASSERT_TRUE(cluster_.RunUntil([&] { return stopping.Has(kShard); }, seconds(1)));
  const TimePoint since = stopping.shards().at(kShard).front().began;
  cluster_.Run(seconds(60));
  ASSERT_TRUE(stopping.Has(kShard));
  EXPECT_EQ(stopping.shards().at(kShard).front().began, since);
  const auto asked = cluster_.Asked<core::RunCallback>("n1");
  const auto lost = std::find_if(asked.rbegin(), asked.rend(), [this](const auto& one) {
    return one.second.kind == CallbackKind::kLost && one.second.shard == kShard;
  });
  ASSERT_NE(lost, asked.rend());
  cluster_.Deliver("n1", core::CallbackReturned{lost->second.operation, kShard, true});
  EXPECT_FALSE(stopping.Has(kShard));
}

// Plan: a shard is gained and given up again while its first `lost` runs. When that returns, its
// age is the second one's, which waited behind it.
TEST(StoppingShards, AreAsOldAsTheFirstLostThatHasNotReturned) {
  const TimePoint start{seconds(100)};
  const ShardId shard{4}, other{2};
  core::StoppingShards stopping;
  stopping.Begin(shard, 7, start);
  stopping.Begin(other, 8, start + seconds(1));
  stopping.Begin(shard, 9, start + seconds(5));
  EXPECT_EQ(stopping.shards().at(shard).front().began, start);
  EXPECT_TRUE(stopping.Returned(7));
  EXPECT_EQ(stopping.shards().at(shard).front().began, start + seconds(5));
  EXPECT_TRUE(stopping.Returned(8));
  EXPECT_FALSE(stopping.Has(other));
  EXPECT_FALSE(stopping.Returned(7));
  EXPECT_TRUE(stopping.Returned(9));
  EXPECT_TRUE(stopping.shards().empty());
}

// Plan: an external application answers the second of two `lost` first. The shard is as old as the
// first one.
TEST(StoppingShards, MayReturnInAnyOrder) {
  const TimePoint start{seconds(100)};
  const ShardId shard{4};
  core::StoppingShards stopping;
  stopping.Begin(shard, 7, start);
  stopping.Begin(shard, 9, start + seconds(5));
  EXPECT_TRUE(stopping.Returned(9));
  EXPECT_EQ(stopping.shards().at(shard).front().began, start);
  EXPECT_TRUE(stopping.Returned(7));
  EXPECT_FALSE(stopping.Has(shard));
}

// Plan: the target's `prepare` fails: the move is void, n1 leads on with the same term, and the
// move is deleted.
TEST_F(LeadershipsTest, AFailedPrepareVoidsTheMove) {
  const Term before = cluster_.TermOf(kShard);
  cluster_.Behave("n2", CallbackKind::kPrepare, Behaviour::kThrows);
  MoveToN2();
  cluster_.Run(seconds(3));
  EXPECT_EQ(cluster_.LeaderOf(kShard), "n1");
  EXPECT_EQ(cluster_.TermOf(kShard), before);
  EXPECT_FALSE(cluster_.store().Move(kShard));
}

// Plan: a transfer that names the present term is done; with another term it is refused, naming
// both.
TEST_F(LeadershipsTest, ATransferMayBeBoundToATerm) {
  const Term term = cluster_.TermOf(kShard);
  const auto wrong = cluster_.Transfer(
      "n2", {.shard = kShard, .to = "n2", .if_term = Term{term.value - 1}, .actor = {}});
  const auto right =
      cluster_.Transfer("n2", {.shard = kShard, .to = "n2", .if_term = term, .actor = "bob"});
  cluster_.Run(seconds(1));
  ASSERT_FALSE(cluster_.transfers().at(wrong).ok());
  EXPECT_EQ(cluster_.transfers().at(wrong).error().code, ErrorCode::kFailedPrecondition);
  EXPECT_TRUE(cluster_.transfers().at(right).ok());
  EXPECT_EQ(cluster_.LeaderOf(kShard), "n2");
  EXPECT_EQ(cluster_.store().Record(kShard).actor, "bob");
  EXPECT_EQ(cluster_.store().Record(kShard).reason, Reason::kOperator);
}

// Plan: two nodes and one leaves: its shards are handed over one by one, and its session ends.
TEST_F(LeadershipsTest, ADrainHandsEverythingOver) {
  cluster_.Drain("n1");
  ASSERT_TRUE(cluster_.RunUntil([&] { return cluster_.finished("n1"); }, seconds(20)));
  EXPECT_TRUE(cluster_.drained("n1"));
  EXPECT_EQ(cluster_.LedBy("n2"), 4u);
  EXPECT_FALSE(cluster_.store().Member("n1").present);
  EXPECT_TRUE(cluster_.TransitionsOf(Reason::kLeaseExpired).empty());
  EXPECT_EQ(cluster_.violations(), kNone);
  // The last one has nobody to hand over to: it resigns.
  cluster_.Drain("n2");
  ASSERT_TRUE(cluster_.RunUntil([&] { return cluster_.finished("n2"); }, seconds(20)));
  EXPECT_TRUE(cluster_.drained("n2"));
  for (std::uint32_t s = 0; s < 4; ++s) EXPECT_EQ(cluster_.store().Record(ShardId{s}).leader, "");
}

// ---- denied writes ------------------------------------------------------------------------------

// Plan: etcd denies the target its "prepared". In a second it is sent twenty times, one for each
// pause of 50 ms, not as fast as answers come; allowed again, the shard is handed over.
TEST(IncomingMoves, ADeniedPreparedIsTriedAgainAfterAPause) {
  ClusterOptions options;
  options.latency_most = options.latency_least;
  options.tune = [](core::CoreOptions& tuned) { tuned.rebalance_delay = seconds(60); };
  Cluster cluster(std::move(options));
  ASSERT_TRUE(cluster.Up());
  const ShardId shard = cluster.ShardsOf("n1").front();
  cluster.DenyWrites("n2", [](const Write& write) { return IsA<MoveBatch>(write); });
  cluster.Transfer("n1", {.shard = shard, .to = "n2", .if_term = {}, .actor = {}});
  ASSERT_TRUE(cluster.RunUntil([&] { return !cluster.Sent<MoveBatch>("n2").empty(); }, seconds(1)));
  cluster.Run(seconds(1));
  EXPECT_EQ(cluster.Sent<MoveBatch>("n2").size(), 20u);
  EXPECT_EQ(cluster.LeaderOf(shard), "n1");
  cluster.DenyWrites("n2", {});
  EXPECT_TRUE(cluster.RunUntil([&] { return cluster.Leads("n2", shard); }, seconds(1)));
  EXPECT_EQ(cluster.violations(), kNone);
}

// Plan: etcd denies the leaving node its resignations. In a second they are sent ten times, not as
// fast as answers come; allowed again, the drain succeeds.
TEST(Resigns, DeniedOnesAreTriedAgainAfterAPause) {
  ClusterOptions options;
  options.nodes = 1;
  options.latency_most = options.latency_least;
  Cluster cluster(std::move(options));
  ASSERT_TRUE(cluster.Up());
  cluster.DenyWrites("n1", [](const Write& write) { return IsA<ResignBatch>(write); });
  cluster.Drain("n1");
  cluster.Run(seconds(1));
  EXPECT_EQ(cluster.Sent<ResignBatch>("n1").size(), 10u);
  EXPECT_EQ(cluster.LedBy("n1"), 12u);
  cluster.DenyWrites("n1", {});
  ASSERT_TRUE(cluster.RunUntil([&] { return cluster.finished("n1"); }, seconds(1)));
  EXPECT_TRUE(cluster.drained("n1"));
  EXPECT_EQ(cluster.violations(), kNone);
}

// Plan: with a lock delay, an operator moves a shard whose `acquired` hangs on its leader, so the
// leader resigns it. Etcd denies that. It is asked ten times a second at most. The move is
// withdrawn, and the hanging `acquired` ends, so it counts, or the shard is tried again.
TEST(Resigns, ADeniedOneOfALateShardLeavesItToItsNextTry) {
  for (const bool ok : {true, false}) {
    SCOPED_TRACE(ok);
    ClusterOptions options;
    options.nodes = 2;
    options.latency_most = options.latency_least;
    options.tune = [](core::CoreOptions& tuned) {
      tuned.rebalance_delay = seconds(60);
      tuned.callback_timeout = seconds(5);
    };
    Cluster cluster(std::move(options));
    ASSERT_TRUE(cluster.Up());
    ConfigFact config = cluster.core("n1").view().config();
    config.schema = kConfigSchema;
    config.failover.lock_delay = seconds(1);
    cluster.store().Put(config);
    const ShardId shard = cluster.ShardsOf("n2").front();
    cluster.Behave("n1", CallbackKind::kAcquired, shard, Behaviour::kHangs);
    cluster.Transfer("n2", {.shard = shard, .to = "n1", .if_term = {}, .actor = {}});
    const auto late = [&] { return cluster.core("n1").leaderships().failed().Late(shard); };
    ASSERT_TRUE(cluster.RunUntil(late, seconds(20)));
    cluster.DenyWrites("n1", [](const Write& write) { return IsA<ResignBatch>(write); });
    cluster.Transfer("n1", {.shard = shard, .to = "n2", .if_term = {}, .actor = {}});
    const auto resigned = [&] { return !cluster.Sent<ResignBatch>("n1").empty(); };
    ASSERT_TRUE(cluster.RunUntil(resigned, seconds(5)));
    cluster.Run(seconds(1));
    EXPECT_LE(cluster.Sent<ResignBatch>("n1").size(), 11u);
    const auto tries = [&] {
      std::vector<core::OperationId> operations;
      for (const auto& [at, callback] : cluster.Asked<core::RunCallback>("n1")) {
        const bool of_shard = callback.shard == shard && callback.kind == CallbackKind::kAcquired;
        if (of_shard) operations.push_back(callback.operation);
      }
      return operations;
    };
    ASSERT_EQ(tries().size(), 1u);
    const std::string digits = std::to_string(shard.value);
    cluster.store().Delete("moves/" + std::string(6 - digits.size(), '0') + digits);
    cluster.Run(seconds(1));
    ASSERT_TRUE(cluster.Leads("n1", shard));
    cluster.Deliver("n1", core::CallbackReturned{tries().front(), shard, ok});
    EXPECT_TRUE(cluster.RunUntil(
        [&] { return ok ? cluster.Activated("n1", shard) : tries().size() == 2; }, seconds(10)));
    EXPECT_EQ(cluster.violations(), kNone);
  }
}

}  // namespace
}  // namespace baton::test
