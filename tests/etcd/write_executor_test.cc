// How a write goes on after each kind of answer: scripted, because a real etcd loses no answer on
// demand. tests/contract tests the transactions on a real etcd.
#include "etcd/write_executor.h"

#include <gtest/gtest.h>

#include "etcd/guarded_txn.h"
#include "etcd/guarded_write.h"
#include "etcd/records.h"
#include "fake_transport.h"
#include "our_session.h"

namespace baton::etcd {
namespace {

using etcdserverpb::TxnResponse;
using std::chrono::milliseconds;
using testing::FakeTxn;

class FakeClock final : public Clock {
 public:
  TimePoint Now() const override { return now; }
  TimePoint now{};
};

class WriteExecutorTest : public ::testing::Test {
 protected:
  void Submit(const Write& write, std::optional<std::vector<Outcome>> earlier = {}) {
    executor->Submit(executor->Prepare(write, std::move(earlier)), milliseconds(1000),
                     [this](WriteResult done) { result = done; });
  }

  testing::FakeTransport transport;
  FakeClock clock;
  std::unique_ptr<WriteExecutor> executor =
      std::make_unique<WriteExecutor>(transport, kKeys, clock);
  std::optional<WriteResult> result;
};

ClaimBatch Claims(std::uint32_t count) {
  ClaimBatch batch{.guard = kUs, .claims = {}};
  for (std::uint32_t i = 0; i < count; ++i) {
    Claim claim;
    claim.shard = ShardId{i};
    batch.claims.push_back(claim);
  }
  return batch;
}

TxnResponse Header(std::int64_t revision, bool succeeded) {
  TxnResponse answer;
  answer.mutable_header()->set_revision(revision);
  answer.set_succeeded(succeeded);
  return answer;
}

// Answers a flat transaction: all puts are done.
TxnResponse AllDone(const FakeTxn& call, std::int64_t revision) {
  TxnResponse answer = Header(revision, true);
  for (int i = 0; i < call.request.success_size(); ++i)
    answer.add_responses()->mutable_response_put();
  return answer;
}

// Answers a nested transaction: all puts are done.
TxnResponse AllNestedDone(const FakeTxn& call, std::int64_t revision) {
  TxnResponse answer = Header(revision, true);
  for (const auto& operation : call.request.success()) {
    TxnResponse& nested = *answer.add_responses()->mutable_response_txn();
    nested.set_succeeded(true);
    for (int i = 0; i < operation.request_txn().success_size(); ++i) {
      nested.add_responses()->mutable_response_put();
    }
  }
  return answer;
}

void AddMember(SessionId lease, etcdserverpb::ResponseOp& to) {
  auto* stored = to.mutable_response_range()->add_kvs();
  stored->set_key(kKeys.MemberKey("n1"));
  stored->set_lease(lease.value);
  stored->set_create_revision(5);
  stored->set_mod_revision(6);
}

// The failure branch of a flat transaction of several items: our member key has the lease `lease`.
TxnResponse FlatRefused(SessionId lease) {
  TxnResponse answer = Header(20, false);
  AddMember(lease, *answer.add_responses());
  return answer;
}

CallStatus TooMany() {
  return {.outcome = Outcome::kRefused,
          .code = 3,
          .message = "etcdserver: too many operations in txn request",
          .too_many_operations = true};
}

// An etcd that takes transactions of up to 1.5 MiB.
bool IsTooLarge(const FakeTxn& call) { return call.request.ByteSizeLong() > 1'572'864; }
CallStatus TooLarge() {
  return {.outcome = Outcome::kRefused,
          .code = 3,
          .message = "etcdserver: request is too large",
          .too_large = true,
          .permanent = true};
}

const RecordFact& RecordIn(const Fact& fact) { return std::get<ShardRecordFact>(fact).record; }

TEST_F(WriteExecutorTest, ReportsDoneWithTheFactsAsWritten) {
  Submit(Claims(2));
  const FakeTxn call = transport.TakeTxn();
  call.Answer(AllDone(call, 30));
  ASSERT_TRUE(result.has_value());
  EXPECT_EQ(result->outcome, Outcome::kDone);
  EXPECT_EQ(result->revision, Revision{30});
  EXPECT_EQ(result->items, std::vector(2, Outcome::kDone));
  ASSERT_EQ(result->read_back.size(), 2u);
  EXPECT_EQ(RecordIn(result->read_back[1]).revision, Revision{30});
  EXPECT_EQ(RecordIn(result->read_back[1]).leader, "n1");
  EXPECT_EQ(RecordIn(result->read_back[1]).session, SessionId{77});
  EXPECT_EQ(result->detail, "");
}

// Plan: flat is refused, our session lives; nested succeeds only for the first item.
TEST_F(WriteExecutorTest, PutsARefusedBatchItemByItem) {
  Submit(Claims(2));
  transport.TakeTxn().Answer(FlatRefused(SessionId{77}));
  const FakeTxn nested = transport.TakeTxn();
  ASSERT_EQ(nested.request.success_size(), 2);
  ASSERT_TRUE(nested.request.success(0).has_request_txn());

  RecordFact other;
  other.leader = "n2";
  other.session = SessionId{66};
  TxnResponse answer = Header(31, true);
  auto* first = answer.add_responses()->mutable_response_txn();
  first->set_succeeded(true);
  first->add_responses()->mutable_response_put();
  auto* second = answer.add_responses()->mutable_response_txn();
  auto* stored = second->add_responses()->mutable_response_range()->add_kvs();
  stored->set_key(kKeys.ShardKey(ShardId{1}));
  stored->set_value(EncodeRecord(other, ShardId{1}));
  stored->set_mod_revision(25);
  nested.Answer(answer);

  ASSERT_TRUE(result.has_value());
  EXPECT_EQ(result->outcome, Outcome::kRefused);
  EXPECT_EQ(result->items, (std::vector{Outcome::kDone, Outcome::kRefused}));
  EXPECT_EQ(result->revision, Revision{31});
  ASSERT_EQ(result->read_back.size(), 3u);  // our member key, the claim, the conflict
  EXPECT_EQ(RecordIn(result->read_back[1]).revision, Revision{31});
  EXPECT_EQ(RecordIn(result->read_back[2]).leader, "n2");
  EXPECT_EQ(RecordIn(result->read_back[2]).revision, Revision{25});
}

// Plan: the flat transaction's failure branch shows our key on another lease: no second round trip.
TEST_F(WriteExecutorTest, GivesUpAtOnceWhenTheSharedGuardIsFalse) {
  Submit(Claims(2));
  transport.TakeTxn().Answer(FlatRefused(SessionId{99}));
  EXPECT_TRUE(transport.txns.empty());
  ASSERT_TRUE(result.has_value());
  EXPECT_EQ(result->outcome, Outcome::kRefused);
  EXPECT_EQ(result->items, std::vector(2, Outcome::kRefused));
  ASSERT_EQ(result->read_back.size(), 1u);
  EXPECT_EQ(std::get<MemberFact>(result->read_back[0]).lease, SessionId{99});
}

// Plan: one claim is refused. The same answer reads everything back, including an absent record,
// whose absence has the answer's revision.
TEST_F(WriteExecutorTest, RefusesASingleItemInOneRoundTripWithAbsencesAtTheAnswersRevision) {
  ClaimBatch batch = Claims(1);
  batch.claims[0].read = Revision{8};
  Submit(batch);
  TxnResponse answer = FlatRefused(SessionId{77});
  answer.add_responses()->mutable_response_range();
  transport.TakeTxn().Answer(answer);
  EXPECT_TRUE(transport.txns.empty());
  ASSERT_TRUE(result.has_value());
  EXPECT_EQ(result->items, std::vector{Outcome::kRefused});
  ASSERT_EQ(result->read_back.size(), 2u);
  EXPECT_FALSE(RecordIn(result->read_back[1]).present);
  EXPECT_EQ(RecordIn(result->read_back[1]).revision, Revision{20});
}

// Plan: no answer; then the very same write again, byte for byte, refused because the first was
// applied: the read-back is our own record.
TEST_F(WriteExecutorTest, ReportsALostAnswerAsUnknownAndTheResendShowsWhatHappened) {
  Submit(Claims(1));
  const FakeTxn lost = transport.TakeTxn();
  lost.Fail(testing::Unknown());
  ASSERT_TRUE(result.has_value());
  EXPECT_EQ(result->outcome, Outcome::kUnknown);
  EXPECT_EQ(result->items, std::vector{Outcome::kUnknown});
  EXPECT_EQ(result->detail, "unavailable");

  Submit(Claims(1), result->items);
  const FakeTxn again = transport.TakeTxn();
  EXPECT_EQ(again.request.SerializeAsString(), lost.request.SerializeAsString());
  TxnResponse answer = FlatRefused(SessionId{77});
  auto* stored = answer.add_responses()->mutable_response_range()->add_kvs();
  stored->set_key(kKeys.ShardKey(ShardId{0}));
  stored->set_value(lost.request.success(0).request_put().value());
  stored->set_mod_revision(19);
  again.Answer(answer);
  EXPECT_EQ(result->outcome, Outcome::kRefused);
  EXPECT_EQ(RecordIn(result->read_back[1]).session, SessionId{77});
  EXPECT_EQ(RecordIn(result->read_back[1]).revision, Revision{19});
}

// Plan: 200 claims are two portions; the second's answer is lost: the first's items stay done.
TEST_F(WriteExecutorTest, KeepsWhatWasDefiniteWhenALaterPortionIsUnknown) {
  Submit(Claims(200));
  const FakeTxn first = transport.TakeTxn();
  EXPECT_EQ(first.request.success_size(), 126);
  first.Answer(AllDone(first, 30));
  transport.TakeTxn().Fail(testing::Unknown());
  EXPECT_TRUE(transport.txns.empty());
  ASSERT_TRUE(result.has_value());
  EXPECT_EQ(result->outcome, Outcome::kUnknown);
  EXPECT_EQ(result->items[125], Outcome::kDone);
  EXPECT_EQ(result->items[126], Outcome::kUnknown);
  EXPECT_EQ(result->revision, Revision{30});
}

// Plan: of 200 claims 126 are done; 74 are unknown and sent again, nested. The result covers all.
TEST_F(WriteExecutorTest, SendsAgainWhatIsUnknownOnly) {
  Submit(Claims(200));
  const FakeTxn first = transport.TakeTxn();
  first.Answer(AllDone(first, 30));
  const FakeTxn lost = transport.TakeTxn();
  lost.Fail(testing::Unknown());
  Submit(Claims(200), result->items);
  const FakeTxn again = transport.TakeTxn();
  ASSERT_EQ(again.request.success_size(), 74);
  EXPECT_EQ(again.request.success(0).request_txn().success(0).SerializeAsString(),
            lost.request.success(0).SerializeAsString());
  again.Answer(AllNestedDone(again, 40));
  EXPECT_TRUE(transport.txns.empty());
  EXPECT_EQ(result->outcome, Outcome::kDone);
  EXPECT_EQ(result->items, std::vector(200, Outcome::kDone));
  EXPECT_EQ(result->revision, Revision{40});
  EXPECT_EQ(RecordIn(result->read_back.at(0)).revision, Revision{40});
}

// Plan: shards 1 and 3 are unknown, shard 2 is refused: they are put without it.
TEST_F(WriteExecutorTest, LeavesDefiniteItemsBetweenUnknownOnesOut) {
  Submit(Claims(4), std::vector{Outcome::kDone, Outcome::kUnknown, Outcome::kRefused});
  for (const std::uint32_t shard : {1u, 3u}) {
    const FakeTxn call = transport.TakeTxn();
    ASSERT_EQ(call.request.success_size(), 1);
    EXPECT_EQ(call.request.success(0).request_put().key(), kKeys.ShardKey(ShardId{shard}));
    call.Answer(AllDone(call, 30));
  }
  ASSERT_TRUE(result.has_value());
  EXPECT_EQ(result->outcome, Outcome::kRefused);
  EXPECT_EQ(result->items,
            (std::vector{Outcome::kDone, Outcome::kDone, Outcome::kRefused, Outcome::kDone}));
}

// Plan: the first portion's answer is lost. Its copy is done, but the server refuses the copy of
// the second without checking it: that portion stays unknown, because its first copy may still be
// applied. If nothing was sent before, such a refusal is definite.
TEST_F(WriteExecutorTest, TakesARefusalWithoutALookForNoWordOfAnEarlierCopy) {
  const CallStatus no_space{.outcome = Outcome::kRefused,
                            .code = 8,
                            .message = "etcdserver: mvcc: database space exceeded"};
  Submit(Claims(200), std::vector(200, Outcome::kUnknown));
  const FakeTxn first = transport.TakeTxn();
  first.Answer(AllNestedDone(first, 30));
  transport.TakeTxn().Fail(no_space);
  ASSERT_TRUE(result.has_value());
  EXPECT_EQ(result->outcome, Outcome::kUnknown);
  EXPECT_EQ(result->items[0], Outcome::kDone);
  EXPECT_EQ(result->items[199], Outcome::kUnknown);

  Submit(Claims(1));
  transport.TakeTxn().Fail(no_space);
  EXPECT_EQ(result->items, std::vector{Outcome::kRefused});
}

// Plan: a server takes 10 operations at once and needs 400 ms for each transaction; a write may
// take a second. No copy gets through whole, but the write makes progress with each portion, and
// ends.
TEST_F(WriteExecutorTest, GetsOnThoughNoCopyIsAnsweredInTime) {
  constexpr std::size_t kLimit = 10;
  std::size_t transactions = 0;
  std::optional<std::vector<Outcome>> earlier;
  for (int copy = 0; copy < 20 && (!result || result->outcome == Outcome::kUnknown); ++copy) {
    Submit(Claims(100), earlier);
    while (!transport.txns.empty()) {
      const FakeTxn call = transport.TakeTxn();
      if (CountOperations(call.request) > kLimit) {
        call.Fail(TooMany());
        continue;
      }
      ++transactions;
      clock.now += milliseconds(400);
      const bool nested = call.request.success(0).has_request_txn();
      call.Answer(nested ? AllNestedDone(call, 30) : AllDone(call, 30));
    }
    ASSERT_TRUE(result.has_value());
    earlier = result->items;
  }
  EXPECT_EQ(result->outcome, Outcome::kDone);
  EXPECT_EQ(result->items, std::vector(100, Outcome::kDone));
  // Six operations at once are two shared guards and four claims; the halving leaves an odd rest.
  EXPECT_LE(transactions, 26u);
}

// Plan: a batch with a conflict, on a server that needs 600 ms of a second for each transaction:
// flat is refused, and nested is not answered in time. The resend is nested at once, and is
// answered.
TEST_F(WriteExecutorTest, SendsAgainInOneRoundTrip) {
  Submit(Claims(2));
  clock.now += milliseconds(600);
  transport.TakeTxn().Answer(FlatRefused(SessionId{77}));
  transport.TakeTxn().Fail(testing::Unknown());
  ASSERT_EQ(result->items, std::vector(2, Outcome::kUnknown));
  Submit(Claims(2), result->items);
  const FakeTxn again = transport.TakeTxn();
  EXPECT_TRUE(again.request.success(0).has_request_txn());
  again.Answer(AllNestedDone(again, 30));
  EXPECT_EQ(result->outcome, Outcome::kDone);
}

// Plan: an operator lowered --max-txn-ops below our batch; the limit that was found is remembered.
TEST_F(WriteExecutorTest, HalvesWhenTheServerSaysTooManyOperations) {
  Submit(Claims(100));
  transport.TakeTxn().Fail(TooMany());
  EXPECT_EQ(executor->operation_limit(), 51u);  // half of 100 claims and 2 shared guards
  std::size_t done = 0;
  while (!transport.txns.empty()) {
    const FakeTxn call = transport.TakeTxn();
    EXPECT_LE(CountOperations(call.request), 51u);
    done += static_cast<std::size_t>(call.request.success_size());
    call.Answer(AllDone(call, 30 + static_cast<std::int64_t>(done)));
  }
  ASSERT_TRUE(result.has_value());
  EXPECT_EQ(result->outcome, Outcome::kDone);
  EXPECT_EQ(done, 100u);
  EXPECT_EQ(result->items, std::vector(100, Outcome::kDone));

  clock.now += std::chrono::minutes(10);  // another member may allow more
  EXPECT_EQ(executor->operation_limit(), kMaxTxnOperations);
}

// Plan: two writes of the old size are in flight when the limit is found. It is halved only once.
TEST_F(WriteExecutorTest, HalvesOnceForAllThatWereUnderWay) {
  Submit(Claims(100));
  Submit(Claims(100));
  transport.TakeTxn().Fail(TooMany());
  transport.TakeTxn().Fail(TooMany());
  EXPECT_EQ(executor->operation_limit(), 51u);
  while (!transport.txns.empty()) {
    const FakeTxn call = transport.TakeTxn();
    call.Answer(AllDone(call, 30));
  }
}

TEST_F(WriteExecutorTest, RefusesForGoodWhatIsTooManyEvenAlone) {
  Submit(Claims(1));
  transport.TakeTxn().Fail(TooMany());
  ASSERT_TRUE(result.has_value());
  EXPECT_EQ(result->outcome, Outcome::kRefused);
  EXPECT_TRUE(result->permanent);
}

// Plan: one of 60 claims has more bytes than etcd takes. The transaction is halved until that claim
// is alone: it is refused for good, with a line that names its key, and all others are done. Later
// writes are sent as before.
TEST_F(WriteExecutorTest, RefusesOneItemThatIsTooLargeAndNoneBesideIt) {
  ClaimBatch batch = Claims(60);
  batch.claims[7].unknown_fields = std::string(1'600'000, 'x');
  Submit(batch);
  std::size_t transactions = 0;
  while (!transport.txns.empty()) {
    const FakeTxn call = transport.TakeTxn();
    ++transactions;
    if (IsTooLarge(call)) {
      call.Fail(TooLarge());
    } else {
      call.Answer(AllDone(call, 30));
    }
  }
  std::vector expected(60, Outcome::kDone);
  expected[7] = Outcome::kRefused;
  ASSERT_TRUE(result.has_value());
  EXPECT_EQ(result->items, expected);
  EXPECT_EQ(result->outcome, Outcome::kRefused);
  EXPECT_TRUE(result->permanent);
  EXPECT_EQ(result->detail, "the write of " + kKeys.ShardKey(ShardId{7}) +
                                " alone is too large for etcd: etcdserver: request is too large");
  EXPECT_LE(transactions, 13u) << "60 claims can be halved six times";
  EXPECT_EQ(executor->operation_limit(), kMaxTxnOperations);
}

// Plan: the same after an answer was lost. The copies are nested. Nobody knows whether the first
// copy of the large claim may still be applied, so this claim alone stays unknown.
TEST_F(WriteExecutorTest, SendsAgainInHalvesWhatIsTooLarge) {
  ClaimBatch batch = Claims(60);
  batch.claims[59].unknown_fields = std::string(1'600'000, 'x');
  Submit(batch, std::vector(60, Outcome::kUnknown));
  while (!transport.txns.empty()) {
    const FakeTxn call = transport.TakeTxn();
    if (IsTooLarge(call)) {
      call.Fail(TooLarge());
    } else {
      call.Answer(AllNestedDone(call, 30));
    }
  }
  std::vector expected(60, Outcome::kDone);
  expected[59] = Outcome::kUnknown;
  ASSERT_TRUE(result.has_value());
  EXPECT_EQ(result->items, expected);
  EXPECT_EQ(result->outcome, Outcome::kUnknown);
}

// Plan: of two claims one is too large, and another node leads the other shard already. The line
// for logs is the one that will be true again next time.
TEST_F(WriteExecutorTest, TellsOfWhatIsRefusedForGoodBeforeTheRest) {
  ClaimBatch batch = Claims(2);
  batch.claims[1].unknown_fields = std::string(1'600'000, 'x');
  Submit(batch);
  transport.TakeTxn().Fail(TooLarge());
  TxnResponse conflict = FlatRefused(SessionId{77});
  conflict.add_responses()->mutable_response_range();
  transport.TakeTxn().Answer(conflict);
  transport.TakeTxn().Fail(TooLarge());
  ASSERT_TRUE(result.has_value());
  EXPECT_EQ(result->items, std::vector(2, Outcome::kRefused));
  EXPECT_NE(result->detail.find(kKeys.ShardKey(ShardId{1})), std::string::npos) << result->detail;
}

TEST_F(WriteExecutorTest, PassesOnThatTheServerRefusesForGood) {
  Submit(Claims(2));
  transport.TakeTxn().Fail(
      {.outcome = Outcome::kRefused, .code = 7, .message = "permission denied", .permanent = true});
  ASSERT_TRUE(result.has_value());
  EXPECT_EQ(result->outcome, Outcome::kRefused);
  EXPECT_TRUE(result->permanent);
  EXPECT_EQ(result->detail, "permission denied");
}

// Plan: the first of two portions takes longer than the deadline: the second is not sent.
TEST_F(WriteExecutorTest, BoundsTheWholeWriteByTheDeadline) {
  Submit(Claims(200));
  const FakeTxn first = transport.TakeTxn();
  EXPECT_EQ(first.deadline, milliseconds(1000));
  clock.now += milliseconds(1000);
  first.Answer(AllDone(first, 30));
  EXPECT_TRUE(transport.txns.empty());
  ASSERT_TRUE(result.has_value());
  EXPECT_EQ(result->outcome, Outcome::kUnknown);
  EXPECT_EQ(result->items[0], Outcome::kDone);
  EXPECT_EQ(result->items[199], Outcome::kUnknown);
}

TEST_F(WriteExecutorTest, SendsNothingMoreOnceDestroyed) {
  Submit(Claims(200));
  executor.reset();
  const FakeTxn first = transport.TakeTxn();
  first.Answer(AllDone(first, 30));
  EXPECT_TRUE(transport.txns.empty());
  ASSERT_TRUE(result.has_value());
  EXPECT_EQ(result->outcome, Outcome::kUnknown);
  EXPECT_EQ(result->items[0], Outcome::kDone);
}

// Plan: an answer with fewer parts than were requested says nothing about the rest.
TEST_F(WriteExecutorTest, ReportsAMisshapenAnswerAsUnknown) {
  Submit(Claims(2));
  transport.TakeTxn().Answer(FlatRefused(SessionId{77}));
  transport.TakeTxn().Answer(Header(31, true));
  ASSERT_TRUE(result.has_value());
  EXPECT_EQ(result->outcome, Outcome::kUnknown);
}

// Plan: a transfer that is done leaves the target's record and no move, both at the new revision.
TEST_F(WriteExecutorTest, ReportsATransfersMoveAsDeleted) {
  Transfer transfer;
  transfer.shard = ShardId{3};
  transfer.term = Term{8};
  transfer.move_read = Revision{9};
  transfer.to = {"n2", SessionId{66}};
  Submit(TransferBatch{"n1", {transfer}});
  const FakeTxn call = transport.TakeTxn();
  call.Answer(AllDone(call, 30));
  ASSERT_TRUE(result.has_value());
  ASSERT_EQ(result->read_back.size(), 2u);
  EXPECT_EQ(RecordIn(result->read_back[0]).leader, "n2");
  EXPECT_EQ(RecordIn(result->read_back[0]).previous, "n1");
  const MoveFact& move = std::get<MoveFact>(result->read_back[1]);
  EXPECT_FALSE(move.present);
  EXPECT_EQ(move.revision, Revision{30});
}

class ConfirmTest : public WriteExecutorTest {
 protected:
  void Confirm() {
    executor->Confirm(kUs, milliseconds(500), [this](ConfirmResult done) { confirmed = done; });
  }
  std::optional<ConfirmResult> confirmed;
};

TEST_F(ConfirmTest, PassesWithTheRaftTermThatItWasCommittedIn) {
  Confirm();
  TxnResponse answer = Header(30, true);
  answer.mutable_header()->set_raft_term(7);
  answer.mutable_header()->set_cluster_id(9);
  transport.TakeTxn().Answer(answer);
  ASSERT_TRUE(confirmed.has_value());
  EXPECT_EQ(confirmed->outcome, Outcome::kDone);
  EXPECT_TRUE(confirmed->passed);
  EXPECT_EQ(confirmed->revision, Revision{30});
  EXPECT_EQ(confirmed->raft_term, 7u);
  EXPECT_EQ(confirmed->cluster_id, 9u);
  EXPECT_FALSE(confirmed->member.has_value());
}

TEST_F(ConfirmTest, ShowsOurKeyWhereItFails) {
  Confirm();
  TxnResponse answer = Header(30, false);
  answer.add_responses()->mutable_response_range();
  transport.TakeTxn().Answer(answer);
  ASSERT_TRUE(confirmed.has_value());
  EXPECT_EQ(confirmed->outcome, Outcome::kDone);
  EXPECT_FALSE(confirmed->passed);
  ASSERT_TRUE(confirmed->member.has_value());
  EXPECT_FALSE(confirmed->member->present);
  EXPECT_EQ(confirmed->member->node, "n1");
  EXPECT_EQ(confirmed->member->revision, Revision{30});
}

// Plan: what serves the endpoint answers with another key than the one that was asked for: with a
// shard's record, and with another node's member key. Neither says anything about our session.
TEST_F(ConfirmTest, AnotherKeysAnswerSaysNothing) {
  for (const std::string& key : {kKeys.ShardKey(ShardId{5}), kKeys.MemberKey("n2")}) {
    Confirm();
    TxnResponse answer = Header(30, false);
    answer.add_responses()->mutable_response_range()->add_kvs()->set_key(key);
    transport.TakeTxn().Answer(answer);
    ASSERT_TRUE(confirmed.has_value());
    EXPECT_EQ(confirmed->outcome, Outcome::kUnknown);
    EXPECT_FALSE(confirmed->member.has_value());
    EXPECT_EQ(confirmed->revision, Revision{});
    EXPECT_EQ(confirmed->detail, "the answer does not match the request");
    confirmed.reset();
  }
}

TEST_F(ConfirmTest, ConfirmsNothingWithoutAnAnswer) {
  Confirm();
  transport.TakeTxn().Fail(testing::Unknown());
  ASSERT_TRUE(confirmed.has_value());
  EXPECT_EQ(confirmed->outcome, Outcome::kUnknown);
  EXPECT_FALSE(confirmed->passed);
}

}  // namespace
}  // namespace baton::etcd
