// Operators' requests: each is answered once, whatever happens to the node and its writes.
#include <gtest/gtest.h>

#include "core/cluster.h"

namespace baton::test {
namespace {

using Words = std::vector<std::string>;

// An action's answer to a request, or its words about the node's end; empty for other actions.
std::string Told(const core::Action& action) {
  if (const auto* transfer = std::get_if<core::AnswerTransfer>(&action)) {
    return "transfer " + std::to_string(transfer->request) + ": " +
           (transfer->result->ok() ? "ok" : ToString(transfer->result->error().code));
  }
  if (const auto* policy = std::get_if<core::AnswerChange>(&action)) {
    return "policy " + std::to_string(policy->request) + ": " +
           (policy->result.ok() ? "ok" : ToString(policy->result.error().code));
  }
  if (std::holds_alternative<core::HaltNode>(action)) return "halted";
  return std::holds_alternative<core::Finished>(action) ? "finished" : "";
}

std::string Text(const MoveFact& move) {
  return "shard " + std::to_string(move.shard.value) + " with term " +
         std::to_string(move.ends.value) + " from " + move.from + " to " + move.to + " for " +
         move.actor + ", " + ToString(move.reason) + ", " + ToString(move.phase) +
         ", at revision " + std::to_string(move.revision.value);
}

class RequestsTest : public ::testing::Test {
 protected:
  RequestsTest() {
    cluster_.on_action = [this](const NodeId& node, const core::Action& action) {
      if (node == "n1" && !Told(action).empty()) told_.push_back(Told(action));
    };
  }
  void SetUp() override {
    ASSERT_TRUE(cluster_.Up()) << cluster_.WhyNotSettled();
    ASSERT_EQ(cluster_.LeaderOf(kShard), "n1");
  }
  static ClusterOptions Options() {
    ClusterOptions options;
    options.nodes = 2;
    options.shards = 4;
    options.tune = [](core::CoreOptions& tuned) { tuned.rebalance_delay = seconds(60); };
    return options;
  }
  // Asks n1 to move shard 0 to n2.
  core::RequestId Transfer(TimePoint answer_by = TimePoint::max()) {
    return cluster_.Transfer(
        "n1", {.shard = kShard, .to = "n2", .if_term = {}, .actor = {}, .answer_by = answer_by});
  }
  // Asks n1 to pause balance.
  void Policy(TimePoint answer_by) { cluster_.Policy("n1", {PolicyKind::kPause}, true, answer_by); }
  // The group is updated to a schema that the nodes don't know.
  void PutNewerConfig() {
    auto config = std::get<ConfigFact>(cluster_.store().Get("config"));
    config.schema = kConfigSchema + 1;
    cluster_.store().Put(config);
    cluster_.HoldWatch("n1", false);  // the watches hear of it
  }
  std::size_t SentByN1() const { return cluster_.Asked<core::SubmitWrite>("n1").size(); }

  const ShardId kShard{0};
  Words told_;  ///< n1's answers, in order
  Cluster cluster_{Options()};
};

// ---- the node's end ----------------------------------------------------------------------------

// Plan: a transfer and a pause wait for etcd when the node is stopped. Both are answered before it
// finishes, and their late arrival at etcd is not answered again.
TEST_F(RequestsTest, AStoppingNodeAnswersWhoStillWaits) {
  cluster_.HoldWrites("n1");
  Transfer();
  cluster_.Policy("n1", {PolicyKind::kPause});
  cluster_.Stop("n1");
  cluster_.Run(seconds(5));
  cluster_.LetWrites("n1");
  cluster_.Run(seconds(5));
  EXPECT_EQ(told_, (Words{"transfer 1: timed out", "policy 2: timed out", "finished"}));
}

// Plan: a pause is on its way when its node loses the session. That ends what the node wrote for
// itself, but not an operator's change: the next copy makes it, and the operator hears of it.
TEST_F(RequestsTest, AChangeOutlivesTheSession) {
  cluster_.HoldWrites("n1");
  Policy(TimePoint::max());
  cluster_.RevokeLeaseOf("n1");
  cluster_.Run(seconds(3));
  EXPECT_EQ(told_, Words{});
  cluster_.PassNewWrites("n1");
  cluster_.Run(seconds(5));
  EXPECT_EQ(told_, Words{"policy 1: ok"});
  EXPECT_TRUE(cluster_.store().Has("policy/pause"));
}

// Plan: the group has shards 0 to 3; shard 4 is asked for.
TEST_F(RequestsTest, ATransferOfAShardThatDoesNotExistIsRefusedAtOnce) {
  const std::size_t sent = SentByN1();
  cluster_.Transfer("n1", {.shard = ShardId{4}, .to = "n2", .if_term = {}, .actor = {}});
  cluster_.Run(seconds(1));
  EXPECT_EQ(told_, (Words{"transfer 1: not found"}));
  EXPECT_EQ(SentByN1(), sent);
}

// Plan: the same, but the node halts: the requests are answered before anybody hears of the halt.
TEST_F(RequestsTest, AHaltingNodeAnswersWhoStillWaits) {
  cluster_.HoldWrites("n1");
  Transfer();
  cluster_.Policy("n1", {PolicyKind::kPause});
  PutNewerConfig();
  cluster_.Run(seconds(5));
  cluster_.LetWrites("n1");
  cluster_.Run(seconds(5));
  EXPECT_EQ(told_, (Words{"transfer 1: timed out", "policy 2: timed out", "halted", "finished"}));
}

// Plan: the node is halted, with the revocation of its lease still in flight. It refuses further
// requests at once, and writes nothing.
TEST_F(RequestsTest, AHaltedNodeTakesNoMore) {
  cluster_.HoldWrites("n1");
  PutNewerConfig();
  cluster_.Run(milliseconds(100));
  const std::size_t sent = SentByN1();
  Transfer();
  cluster_.Policy("n1", {PolicyKind::kPause});
  EXPECT_EQ(told_, (Words{"halted", "transfer 1: unavailable", "policy 2: unavailable"}));
  cluster_.Run(milliseconds(500));
  EXPECT_EQ(SentByN1(), sent);
}

// Plan: the core has finished, its runtime has not yet: a request now is refused, not forgotten.
TEST(FinishedCore, RefusesWhatItIsAsked) {
  core::CoreOptions options;
  options.shards = 4;
  options.self.node = "n1";
  options.random = [] { return 1; };
  core::Core core(std::move(options));
  const TimePoint now(seconds(1000));
  core.Step(now, core::SnapshotRead{Snapshot{.revision = Revision{10}, .facts = {}}, 4711});
  core.Step(now, core::StopRequested{});
  ASSERT_TRUE(core.finished());
  const auto answers = [&](const core::Event& event) {
    Words result;
    for (const core::Action& action : core.Step(now, event).actions) {
      const bool write = std::holds_alternative<core::SubmitWrite>(action);
      result.push_back(write ? "a write" : Told(action));
    }
    return result;
  };
  EXPECT_EQ(answers(core::TransferRequested{
                .request = 1, .shard = {}, .to = "n2", .if_term = {}, .actor = {}}),
            Words{"transfer 1: unavailable"});
  EXPECT_EQ(answers(core::PolicyRequested{
                .request = 2, .name = {PolicyKind::kPause}, .present = true, .actor = {}}),
            Words{"policy 2: unavailable"});
  EXPECT_EQ(answers(core::GroupChangeRequested{
                .request = 3, .failover = FailoverPolicy::kNever, .actor = {}}),
            Words{"policy 3: unavailable"});
  EXPECT_EQ(answers(core::ReleaseRequested{.request = 4, .shard = {}, .actor = {}}),
            Words{"policy 4: unavailable"});
}

// ---- policies ----------------------------------------------------------------------------------

// Plan: n1's drain is on its way to etcd when n2 pauses balancing. The drain is refused, because a
// policy was changed meanwhile, and tried again with what is known now.
TEST_F(RequestsTest, AChangeThatLosesToAnotherIsTriedAgain) {
  cluster_.HoldWrites("n1");
  const std::size_t before = SentByN1();
  cluster_.Policy("n1", {PolicyKind::kDrain, "n2"});
  cluster_.Policy("n2", {PolicyKind::kPause});
  cluster_.Run(milliseconds(100));
  ASSERT_TRUE(cluster_.store().Has("policy/pause"));
  const core::SubmitWrite held = cluster_.Asked<core::SubmitWrite>("n1").at(before).second;
  const WriteResult refused = cluster_.store().Execute(*held.write);
  ASSERT_EQ(refused.outcome, Outcome::kRefused);
  cluster_.PassNewWrites("n1");
  cluster_.Deliver("n1", core::WriteAnswered{held.operation, refused});
  cluster_.Run(seconds(1));
  EXPECT_EQ(told_, Words{"policy 1: ok"});
  EXPECT_TRUE(cluster_.store().Has("policy/drain/n2"));
}

// Plan: n1's pause is written and answered; n2 undoes it. Then a copy of n1's write arrives that
// was held up. It changes nothing.
TEST_F(RequestsTest, AChangeThatWasUndoneStaysUndone) {
  cluster_.HoldWrites("n1");
  const std::size_t before = SentByN1();
  cluster_.Policy("n1", {PolicyKind::kPause});
  const core::SubmitWrite held = cluster_.Asked<core::SubmitWrite>("n1").at(before).second;
  cluster_.PassNewWrites("n1");
  cluster_.Deliver("n1",
                   core::WriteAnswered{held.operation, cluster_.store().Execute(*held.write)});
  EXPECT_EQ(told_, Words{"policy 1: ok"});
  cluster_.Run(milliseconds(100));
  cluster_.Policy("n2", {PolicyKind::kPause}, false);
  cluster_.Run(seconds(1));
  ASSERT_FALSE(cluster_.store().Has("policy/pause"));
  EXPECT_EQ(cluster_.store().Execute(*held.write).outcome, Outcome::kRefused);
  EXPECT_FALSE(cluster_.store().Has("policy/pause"));
}

// Plan: n1's pause is made, but the answer is lost, and n2 takes it back. The copy that n1 sends
// then is refused. n1 must not pause balance once more: it says that another change came first.
TEST_F(RequestsTest, AChangeThatWasUndoneIsNotMadeAgain) {
  cluster_.LoseReplies("n1");
  cluster_.Policy("n1", {PolicyKind::kPause});
  cluster_.LoseReplies("n1", false);
  cluster_.Run(milliseconds(100));
  ASSERT_TRUE(cluster_.store().Has("policy/pause"));
  cluster_.Policy("n2", {PolicyKind::kPause}, false);
  cluster_.Run(milliseconds(100));
  ASSERT_FALSE(cluster_.store().Has("policy/pause"));
  cluster_.Run(seconds(5));
  EXPECT_EQ(told_, Words{"policy 1: failed precondition"});
  EXPECT_FALSE(cluster_.store().Has("policy/pause"));
}

// Plan: n1's number is on its way when n2 sets another one; n1's write is refused, and its view
// shows a number, but not its own. It writes again, and only then says that it is done.
TEST_F(RequestsTest, ANumberIsDoneOnlyOnceItIsThere) {
  cluster_.HoldWrites("n1");
  const std::size_t before = SentByN1();
  const auto expect = [&](const NodeId& via, std::uint32_t number) {
    core::PolicyRequested ask;
    ask.request = number;
    ask.name = {PolicyKind::kExpectedNodes};
    ask.number = number;
    cluster_.Deliver(via, ask);
  };
  expect("n1", 5);
  expect("n2", 3);
  cluster_.Run(milliseconds(100));
  const core::SubmitWrite held = cluster_.Asked<core::SubmitWrite>("n1").at(before).second;
  const WriteResult refused = cluster_.store().Execute(*held.write);
  ASSERT_EQ(refused.outcome, Outcome::kRefused);
  cluster_.Deliver("n1", core::WriteAnswered{held.operation, refused});
  EXPECT_EQ(told_, Words{});
  cluster_.PassNewWrites("n1");
  cluster_.LetWrites("n1");
  cluster_.Run(seconds(5));
  EXPECT_EQ(told_, Words{"policy 5: ok"});
  EXPECT_EQ(std::get<PolicyFact>(cluster_.store().Get("policy/expected-nodes")).expected_nodes, 5u);
}

// Plan: n1's view is behind: n2 has paused balancing, n1 has not heard of it, and is asked to
// resume. It does not rely on its view, and undoes the pause.
TEST_F(RequestsTest, WhatSeemsToBeSoIsWrittenAllTheSame) {
  cluster_.HoldWatch("n1");
  cluster_.Policy("n2", {PolicyKind::kPause});
  cluster_.Run(milliseconds(100));
  ASSERT_TRUE(cluster_.store().Has("policy/pause"));
  cluster_.Policy("n1", {PolicyKind::kPause}, false);
  cluster_.HoldWatch("n1", false);
  cluster_.Run(seconds(1));
  EXPECT_EQ(told_, Words{"policy 2: ok"});
  EXPECT_FALSE(cluster_.store().Has("policy/pause"));
}

// ---- the bound ---------------------------------------------------------------------------------

// Plan: etcd answers nothing, and 64 requests wait. One more of either kind is refused at once and
// not written. When one is answered there is room for exactly one. In the end all are answered.
TEST_F(RequestsTest, NoMoreThan64WaitAtOnce) {
  cluster_.HoldWrites("n1");
  const std::size_t before = SentByN1();
  for (int i = 0; i < 63; ++i) Transfer();
  cluster_.Policy("n1", {PolicyKind::kPause});
  EXPECT_EQ(told_, Words{});
  Transfer();
  cluster_.Policy("n1", {PolicyKind::kPause});
  EXPECT_EQ(told_, (Words{"transfer 65: unavailable", "policy 66: unavailable"}));
  EXPECT_EQ(SentByN1() - before, 64u);

  const core::SubmitWrite first = cluster_.Asked<core::SubmitWrite>("n1").at(before).second;
  cluster_.Deliver("n1",
                   core::WriteAnswered{first.operation, cluster_.store().Execute(*first.write)});
  cluster_.Policy("n1", {PolicyKind::kRebalance});
  Transfer();
  EXPECT_EQ(Words(told_.begin() + 2, told_.end()),
            (Words{"transfer 1: ok", "transfer 68: unavailable"}));

  cluster_.LetWrites("n1");
  cluster_.Run(seconds(5));
  EXPECT_EQ(cluster_.transfers().size() + cluster_.policies().size(), 68u);
  EXPECT_EQ(told_.size(), 68u) << "each is answered once";
}

// ---- drains of nodes that are not there --------------------------------------------------------

// Plan: an operator mistypes a name, also to end a drain. Nothing is written.
TEST_F(RequestsTest, ADrainOfANodeThatNobodyKnowsIsNeitherOrderedNorTakenBack) {
  const std::size_t sent = SentByN1();
  cluster_.Policy("n1", {PolicyKind::kDrain, "n22"}, true, TimePoint::max());
  cluster_.Policy("n1", {PolicyKind::kDrain, "n22"}, false, TimePoint::max());
  EXPECT_EQ(told_, (Words{"policy 1: not found", "policy 2: not found"}));
  EXPECT_EQ(SentByN1(), sent);
}

// Plan: a dry run is answered as the order would be, by a node that works, and by one that has
// ended. It writes nothing.
TEST_F(RequestsTest, ADryRunOfAPolicyIsAnsweredAsTheOrder) {
  const std::size_t sent = SentByN1();
  const auto dry_run = [&](core::RequestId id, const PolicyName& name) {
    cluster_.Deliver("n1", core::PolicyRequested{
                               .request = id, .name = name, .actor = "alice", .dry_run = true});
  };
  dry_run(1, {PolicyKind::kPause});
  dry_run(2, {PolicyKind::kDrain, "n22"});
  EXPECT_EQ(told_, (Words{"policy 1: ok", "policy 2: not found"}));
  EXPECT_EQ(SentByN1(), sent);
  cluster_.HoldWrites("n1");
  PutNewerConfig();
  cluster_.Run(milliseconds(100));
  told_.clear();
  dry_run(3, {PolicyKind::kPause});
  EXPECT_EQ(told_, Words{"policy 3: unavailable"});
}

// Plan: n2 is drained, and goes for good. Its drain can be taken back once, and not ordered again.
TEST_F(RequestsTest, ADrainOutlivesItsNodeAndCanBeTakenBack) {
  const auto drain = [&](bool present) {
    cluster_.Policy("n1", {PolicyKind::kDrain, "n2"}, present, TimePoint::max());
    cluster_.Run(seconds(1));
  };
  drain(true);
  cluster_.Stop("n2");
  cluster_.Run(seconds(60));
  drain(true);
  drain(false);
  drain(false);
  EXPECT_EQ(told_,
            (Words{"policy 1: ok", "policy 2: not found", "policy 3: ok", "policy 4: not found"}));
}

// ---- when the time is over ---------------------------------------------------------------------

// Plan: etcd answers nothing. When the callers' time is over they hear that the changes may still
// be made. etcd comes back and makes them; nobody is answered twice.
TEST_F(RequestsTest, WhoseTimeIsOverHearsThatTheChangeMayStillBeMade) {
  cluster_.HoldWrites("n1");
  const TimePoint by = cluster_.now() + seconds(2);
  Transfer(by);
  Policy(by);
  cluster_.Run(milliseconds(1999));
  EXPECT_EQ(told_, Words{});
  cluster_.Run(milliseconds(1));
  EXPECT_EQ(told_, (Words{"transfer 1: timed out", "policy 2: timed out"}));
  cluster_.LetWrites("n1");
  cluster_.Run(seconds(10));
  EXPECT_TRUE(cluster_.store().Has("policy/pause"));
  EXPECT_TRUE(cluster_.Leads("n2", kShard));
  EXPECT_EQ(told_.size(), 2u);
}

// Plan: the callers' time is over when the requests arrive. Nothing is written.
TEST_F(RequestsTest, WithoutTimeNothingIsWritten) {
  const std::size_t sent = SentByN1();
  Transfer(cluster_.now());
  Policy(cluster_.now());
  EXPECT_EQ(told_, (Words{"transfer 1: unavailable", "policy 2: unavailable"}));
  EXPECT_EQ(SentByN1(), sent);
}

// Plan: no copy of the writes leaves the node, as etcd can't be reached. When the time is over both
// changes are dropped, and etcd's return makes neither.
TEST_F(RequestsTest, WhatWasNeverSentIsDroppedWhenTheTimeIsOver) {
  cluster_.KeepWrites("n1", milliseconds(1));
  const TimePoint by = cluster_.now() + seconds(2);
  Transfer(by);
  Policy(by);
  cluster_.Run(milliseconds(1990));
  EXPECT_EQ(told_, Words{});
  cluster_.Run(milliseconds(20));
  EXPECT_EQ(told_, (Words{"transfer 1: unavailable", "policy 2: unavailable"}));
  cluster_.KeepWrites("n1", std::nullopt);
  cluster_.Run(seconds(10));
  EXPECT_FALSE(cluster_.store().Has("policy/pause"));
  EXPECT_TRUE(cluster_.Leads("n1", kShard));
  EXPECT_EQ(told_.size(), 2u);
}

// Plan: the copy of a pause is on its way when the time is over. Then it turns out that it never
// left: the caller has heard that the pause may be made, and it is not sent again.
TEST_F(RequestsTest, WhatProvesUnsentAfterItsTimeIsNotSentAgain) {
  cluster_.KeepWrites("n1", seconds(2));
  Policy(cluster_.now() + seconds(1));
  cluster_.Run(milliseconds(1500));
  EXPECT_EQ(told_, Words{"policy 1: timed out"});
  cluster_.KeepWrites("n1", std::nullopt);
  cluster_.Run(seconds(10));
  EXPECT_FALSE(cluster_.store().Has("policy/pause"));
  EXPECT_EQ(told_.size(), 1u);
}

// Plan: a pause loses to another change after its time is over. It is not tried again, although its
// first answer is that refusal.
TEST_F(RequestsTest, AChangeThatLosesAfterItsTimeIsNotTriedAgain) {
  cluster_.HoldWrites("n1");
  const std::size_t before = SentByN1();
  Policy(cluster_.now() + milliseconds(200));
  cluster_.Policy("n2", {PolicyKind::kRebalance});
  cluster_.Run(milliseconds(400));
  const core::SubmitWrite held = cluster_.Asked<core::SubmitWrite>("n1").at(before).second;
  const WriteResult refused = cluster_.store().Execute(*held.write);
  ASSERT_EQ(refused.outcome, Outcome::kRefused);
  cluster_.PassNewWrites("n1");
  cluster_.Deliver("n1", core::WriteAnswered{held.operation, refused});
  cluster_.Run(seconds(5));
  EXPECT_EQ(told_.front(), "policy 1: timed out");
  EXPECT_FALSE(cluster_.store().Has("policy/pause"));
}

// ---- what a transfer's answer says -------------------------------------------------------------

// Plan: the target does not finish preparing, so the move stays in etcd. The answer is that very
// move, with the revision of its commit.
TEST_F(RequestsTest, ATransfersAnswerCarriesTheRevisionOfItsWrite) {
  cluster_.Behave("n2", core::CallbackKind::kPrepare, Behaviour::kHangs);
  const core::RequestId request = Transfer();
  const Revision before = cluster_.store().revision();
  cluster_.Run(milliseconds(100));
  ASSERT_TRUE(cluster_.store().Move(kShard));
  ASSERT_TRUE(cluster_.transfers().at(request).ok());
  EXPECT_EQ(Text(cluster_.transfers().at(request).value()), Text(*cluster_.store().Move(kShard)));
  EXPECT_EQ(cluster_.store().Move(kShard)->revision.value, before.value + 1);
}

// Plan: the answer to the write is lost, and the resent copy is refused, because the move is there
// (the target does not finish preparing). The operator gets the answer that it is done.
TEST_F(RequestsTest, ATransferWhoseAnswerWasLostIsFoundThere) {
  cluster_.Behave("n2", core::CallbackKind::kPrepare, Behaviour::kHangs);
  cluster_.LoseReplies("n1");
  Transfer();
  cluster_.LoseReplies("n1", false);
  cluster_.Run(milliseconds(500));
  EXPECT_EQ(told_, Words{});
  cluster_.Run(seconds(1));
  EXPECT_EQ(told_, Words{"transfer 1: ok"});
}

// Plan: a planned rebalance, which the same operator ordered, puts the same move before the
// transfer's write arrives. The transfer is refused: it would be no operator's transfer.
TEST_F(RequestsTest, ATransferIsNotTakenForAMoveOfTheBalancer) {
  cluster_.Behave("n2", core::CallbackKind::kPrepare, Behaviour::kHangs);
  cluster_.HoldWatch("n1");
  MoveFact planned;
  planned.shard = kShard;
  planned.ends = cluster_.store().Record(kShard).term();
  planned.from = "n1";
  planned.to = "n2";
  planned.reason = Reason::kRebalance;
  planned.actor = "alice";
  planned.present = true;
  cluster_.store().Put(planned);
  Transfer();
  cluster_.HoldWatch("n1", false);
  cluster_.Run(seconds(1));
  EXPECT_EQ(told_, Words{"transfer 1: failed precondition"});
}

// Plan: the move replaces an old void one (which the balancer may not delete here). Its answer is
// lost, and n1 leads the shard before the copy is refused. The operator gets the answer that it is
// done.
TEST_F(RequestsTest, ATransferWhoseAnswerWasLostIsFoundCarriedOut) {
  const ShardId shard = cluster_.ShardsOf("n2").front();
  cluster_.DenyWrites("n1", [](const Write& write) {
    return IsA<MoveBatch>(write) && std::get<MoveBatch>(write).balancer_term.has_value();
  });
  MoveFact old;
  old.shard = shard;
  old.from = "n2";
  old.to = "n1";
  old.phase = MovePhase::kVoid;
  old.present = true;
  cluster_.store().Put(old);
  cluster_.HoldWatch("n2", false);  // the watches hear of it
  cluster_.Run(milliseconds(10));
  cluster_.LoseReplies("n2");
  const core::RequestId request =
      cluster_.Transfer("n2", {.shard = shard, .to = "n1", .if_term = {}, .actor = {}});
  cluster_.LoseReplies("n2", false);
  cluster_.Run(milliseconds(500));
  EXPECT_TRUE(cluster_.Leads("n1", shard));
  EXPECT_FALSE(cluster_.transfers().contains(request));
  cluster_.Run(seconds(1));
  ASSERT_TRUE(cluster_.transfers().contains(request));
  EXPECT_TRUE(cluster_.transfers().at(request).ok());
  EXPECT_FALSE(cluster_.store().Move(shard));
}

}  // namespace
}  // namespace baton::test
