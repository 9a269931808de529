// Guarded writes on a real etcd: each guard prevents what it is for.
#include <algorithm>

#include "keyspace_fixture.h"

namespace baton::etcd {
namespace {

class KeyspaceWrites : public testing::LeadersTest {};

RecordFact RecordIn(const std::vector<Fact>& facts, std::uint32_t shard) {
  for (const Fact& fact : facts) {
    const auto* record = std::get_if<ShardRecordFact>(&fact);
    if (record && record->shard == ShardId{shard}) return record->record;
  }
  ADD_FAILURE() << "no record of shard " << shard;
  return {};
}

MemberFact MemberIn(const std::vector<Fact>& facts) {
  for (const Fact& fact : facts) {
    if (const auto* member = std::get_if<MemberFact>(&fact)) return *member;
  }
  ADD_FAILURE() << "no member";
  return {};
}

// Plan: two confirmations pass; neither the store's revision nor our key has changed.
TEST_F(KeyspaceWrites, ConfirmWithoutANewRevision) {
  const SessionGuard us = Join("n1");
  const Revision before = Now();
  for (int i = 0; i < 2; ++i) {
    const ConfirmResult result = Confirm(us);
    EXPECT_EQ(result.outcome, Outcome::kDone) << result.detail;
    EXPECT_TRUE(result.passed);
    EXPECT_EQ(result.revision, before);
    EXPECT_GT(result.raft_term, 0u);
    EXPECT_NE(result.cluster_id, 0u);
  }
  EXPECT_EQ(Now(), before);
}

// Plan: the lease is gone, then the node's next session has the key. Both end the old session, and
// the answer shows the present key.
TEST_F(KeyspaceWrites, ConfirmNoSessionWhoseKeyIsGoneOrAnothers) {
  const SessionGuard us = Join("n1");
  store().Revoke(us.session);
  ConfirmResult result = Confirm(us);
  EXPECT_EQ(result.outcome, Outcome::kDone);
  EXPECT_FALSE(result.passed);
  ASSERT_TRUE(result.member.has_value());
  EXPECT_FALSE(result.member->present);
  EXPECT_EQ(result.member->revision, result.revision);

  const SessionGuard next = Join("n1");
  result = Confirm(us);
  EXPECT_FALSE(result.passed);
  ASSERT_TRUE(result.member.has_value());
  EXPECT_EQ(result.member->session, next.session);
  EXPECT_TRUE(Confirm(next).passed);
}

TEST_F(KeyspaceWrites, CreateConfigOnceAndReadItBackAfterwards) {
  ConfigFact config;
  config.shards = 12;
  config.cluster_id = 99;
  EXPECT_EQ(Execute(ConfigCreate{config}).outcome, Outcome::kDone);
  config.shards = 13;
  const WriteResult second = Execute(ConfigCreate{config});
  EXPECT_EQ(second.outcome, Outcome::kRefused);
  ASSERT_EQ(second.read_back.size(), 1u);
  EXPECT_EQ(std::get<ConfigFact>(second.read_back[0]).shards, 12u);
}

// Plan: a bad write replaces the config, which is put back. A late copy does not do that again, nor
// does a node without a session.
TEST_F(KeyspaceWrites, PutTheConfigBackOnceUnderASession) {
  const SessionGuard us = Join("n1");
  ConfigFact config;
  config.shards = 12;
  const Revision bad = store().Put(keys.ConfigKey(), "garbage");
  EXPECT_EQ(Execute(ConfigMend{config, bad, us}).outcome, Outcome::kDone);
  const Revision worse = store().Put(keys.ConfigKey(), "more garbage");
  EXPECT_EQ(Execute(ConfigMend{config, bad, us}).outcome, Outcome::kRefused);
  store().Revoke(us.session);
  const WriteResult late = Execute(ConfigMend{config, worse, us});
  EXPECT_EQ(late.outcome, Outcome::kRefused);
}

TEST_F(KeyspaceWrites, CreateAMemberKeyOnlyWhereNoneIs) {
  const SessionGuard us = Join("n1");
  const WriteResult second = Execute(MemberCreate{MemberOf("n1", NewSession())});
  EXPECT_EQ(second.outcome, Outcome::kRefused);
  EXPECT_EQ(MemberIn(second.read_back).session, us.session);
}

// A pending create of a lost session must never bring its key back.
TEST_F(KeyspaceWrites, CreateNoMemberKeyOnALeaseThatIsGone) {
  const SessionId session = NewSession();
  store().Revoke(session);
  const WriteResult result = Execute(MemberCreate{MemberOf("n1", session)});
  EXPECT_EQ(result.outcome, Outcome::kRefused) << result.detail;
  EXPECT_EQ(store().Get(keys.MemberKey("n1")).kvs_size(), 0);
}

// Plan: take over, then revoke the old lease: the key stays, on our lease. etcd keeps its create
// revision; the read-back shows it, and the confirmation passes with it.
TEST_F(KeyspaceWrites, TakeAMemberKeyOverAndOutliveTheOldLease) {
  const SessionGuard dead = Join("n1");
  const SessionId session = NewSession();
  const MemberTakeover takeover{.member = MemberOf("n1", session), .read = dead.create_revision};
  const WriteResult result = Execute(takeover);
  ASSERT_EQ(result.outcome, Outcome::kDone) << result.detail;
  const MemberFact member = MemberIn(result.read_back);
  EXPECT_EQ(member.revision, result.revision);
  EXPECT_EQ(member.create_revision, dead.create_revision);
  store().Revoke(dead.session);
  EXPECT_TRUE(Confirm({"n1", session, member.create_revision}).passed);
  EXPECT_FALSE(Confirm(dead).passed);
  EXPECT_EQ(Execute(takeover).outcome, Outcome::kRefused) << "as read, once";
}

// [checked] An update that did not name the lease again would make the key permanent.
TEST_F(KeyspaceWrites, UpdateAMemberKeyThatStillEndsWithItsLease) {
  const SessionGuard us = Join("n1");
  MemberFact member = MemberOf("n1", us.session);
  member.state = MemberState::kDraining;
  const WriteResult result = Execute(MemberUpdate{.member = member, .guard = us});
  ASSERT_EQ(result.outcome, Outcome::kDone) << result.detail;
  EXPECT_TRUE(MemberIn(result.read_back).Live());
  EXPECT_EQ(MemberIn(result.read_back).create_revision, us.create_revision);
  EXPECT_TRUE(Confirm(us).passed);
  store().Revoke(us.session);
  EXPECT_EQ(store().Get(keys.MemberKey("n1")).kvs_size(), 0);
  EXPECT_EQ(Execute(MemberUpdate{.member = member, .guard = us}).outcome, Outcome::kRefused);
}

// Plan: n2 leads shard 4 already; n1 claims ten at once: nine are done, one is refused with n2's
// record read back.
TEST_F(KeyspaceWrites, LoseOneShardToOneConflict) {
  const SessionGuard us = Join("n1");
  const SessionGuard other = Join("n2");
  ASSERT_EQ(Execute(ClaimBatch{.guard = other, .claims = {ClaimOf(4)}}).outcome, Outcome::kDone);
  const WriteResult result = Execute(Claims(us, 10));
  EXPECT_EQ(result.outcome, Outcome::kRefused);
  for (std::uint32_t shard = 0; shard < 10; ++shard) {
    EXPECT_EQ(result.items[shard], shard == 4 ? Outcome::kRefused : Outcome::kDone);
    const RecordFact told = RecordIn(result.read_back, shard);
    const RecordFact stored = Record(shard);
    EXPECT_EQ(told.leader, shard == 4 ? "n2" : "n1");
    EXPECT_EQ(told.revision, stored.revision);
    EXPECT_EQ(told.session, stored.session);
  }
}

// [checked] A claim waits for the end of that very session. The node's next session has a key with
// the same name, but does not protect the old session's records.
TEST_F(KeyspaceWrites, ClaimFromADeadSessionNeverFromALivingOne) {
  const SessionGuard old = Join("n2");
  Lead(old, 1);
  const SessionGuard us = Join("n1");
  const Claim claim = ClaimOf(0, Record(0).revision, SessionRef{old.node, old.session});
  const WriteResult early = Execute(ClaimBatch{.guard = us, .claims = {claim}});
  EXPECT_EQ(early.outcome, Outcome::kRefused);
  EXPECT_EQ(early.read_back.size(), 3u) << "our key, the record, and the key that still lives";
  store().Revoke(old.session);
  Join("n2");
  const WriteResult result = Execute(ClaimBatch{.guard = us, .claims = {claim}});
  EXPECT_EQ(result.outcome, Outcome::kDone) << result.detail;
  EXPECT_EQ(Record(0).leader, "n1");
}

// [checked] Two claims of one vacancy, both as read: the mod revision lets only one through.
TEST_F(KeyspaceWrites, ClaimARecordOnlyAsItWasRead) {
  const SessionGuard us = Join("n1");
  const SessionGuard other = Join("n2");
  ASSERT_EQ(Execute(ClaimBatch{.guard = us, .claims = {ClaimOf(0)}}).outcome, Outcome::kDone);
  const WriteResult late = Execute(ClaimBatch{.guard = other, .claims = {ClaimOf(0)}});
  EXPECT_EQ(late.outcome, Outcome::kRefused);
  EXPECT_EQ(RecordIn(late.read_back, 0).leader, "n1");
}

// [checked] Our lease is gone: no claim of ours may be applied, not even of an absent record. If
// our key is back under the next session, that is another session all the same.
TEST_F(KeyspaceWrites, ClaimNothingWithoutOurSession) {
  const SessionGuard us = Join("n1");
  store().Revoke(us.session);
  WriteResult result = Execute(Claims(us, 5));
  EXPECT_EQ(result.outcome, Outcome::kRefused);
  EXPECT_EQ(result.items, std::vector(5, Outcome::kRefused));
  EXPECT_FALSE(MemberIn(result.read_back).present);
  Join("n1");
  result = Execute(Claims(us, 5));
  EXPECT_EQ(result.items, std::vector(5, Outcome::kRefused));
  EXPECT_FALSE(Record(0).present);
}

// Plan: the answer to a claim is lost (the test ignores it) and the very same claim is sent again:
// it is refused, changes nothing, and shows our own record.
TEST_F(KeyspaceWrites, ResentChangeNothingAndShowWhatTheFirstDid) {
  const SessionGuard us = Join("n1");
  const ClaimBatch claims = Claims(us, 3);
  const Revision first = Execute(claims).revision;
  const WriteResult again = Execute(claims);
  EXPECT_EQ(again.outcome, Outcome::kRefused);
  EXPECT_EQ(RecordIn(again.read_back, 2).session, us.session);
  EXPECT_EQ(RecordIn(again.read_back, 2).revision, first);
  EXPECT_EQ(Now(), first);
}

TEST_F(KeyspaceWrites, TransferARecordAndDeleteItsMoveInOneRevision) {
  const SessionGuard us = Join("n1");
  const SessionGuard target = Join("n2");
  Lead(us, 1);
  const Transfer transfer = Prepare(0, us, target);
  const WriteResult result = Execute(TransferBatch{us.node, {transfer}});
  ASSERT_EQ(result.outcome, Outcome::kDone) << result.detail;
  EXPECT_EQ(Record(0).leader, "n2");
  EXPECT_EQ(Record(0).session, target.session);
  EXPECT_EQ(Record(0).previous, "n1");
  EXPECT_EQ(Record(0).revision, result.revision);
  EXPECT_EQ(store().Get(keys.MoveKey(ShardId{0})).kvs_size(), 0);
  const WriteResult again = Execute(TransferBatch{us.node, {transfer}});
  EXPECT_EQ(again.outcome, Outcome::kRefused);
  EXPECT_EQ(RecordIn(again.read_back, 0).leader, "n2");
}

// [checked] The target's key exists, but belongs to its next session, which prepared nothing.
TEST_F(KeyspaceWrites, TransferToTheVerySessionThatPreparedOnly) {
  const SessionGuard us = Join("n1");
  const SessionGuard target = Join("n2");
  Lead(us, 1);
  const Transfer transfer = Prepare(0, us, target);
  store().Revoke(target.session);
  const SessionGuard next = Join("n2");
  const WriteResult result = Execute(TransferBatch{us.node, {transfer}});
  EXPECT_EQ(result.outcome, Outcome::kRefused);
  EXPECT_EQ(MemberIn(result.read_back).session, next.session);
  EXPECT_EQ(Record(0).leader, "n1");
}

// [checked] An abandon makes an earlier transfer of unknown outcome definite: arriving late, it is
// refused.
TEST_F(KeyspaceWrites, AbandonSoThatALateTransferIsRefused) {
  const SessionGuard us = Join("n1");
  const SessionGuard target = Join("n2");
  Lead(us, 1);
  const Transfer transfer = Prepare(0, us, target);
  const WriteResult abandoned = Execute(AbandonBatch{{AbandonOf(0, transfer.term)}});
  ASSERT_EQ(abandoned.outcome, Outcome::kDone) << abandoned.detail;
  const WriteResult late = Execute(TransferBatch{us.node, {transfer}});
  EXPECT_EQ(late.outcome, Outcome::kRefused);
  EXPECT_EQ(Record(0).session, us.session);
  EXPECT_EQ(Record(0).term(), transfer.term);
}

// Plan: the transfer was applied before the abandon arrives: the abandon is refused, and what it
// reads back says who leads.
TEST_F(KeyspaceWrites, AbandonNothingThatWasTransferred) {
  const SessionGuard us = Join("n1");
  const SessionGuard target = Join("n2");
  Lead(us, 1);
  const Transfer transfer = Prepare(0, us, target);
  ASSERT_EQ(Execute(TransferBatch{us.node, {transfer}}).outcome, Outcome::kDone);
  const WriteResult abandoned = Execute(AbandonBatch{{AbandonOf(0, transfer.term)}});
  EXPECT_EQ(abandoned.outcome, Outcome::kRefused);
  EXPECT_EQ(RecordIn(abandoned.read_back, 0).session, target.session);
}

// Plan: somebody else has deleted the move already: the abandon is done all the same.
TEST_F(KeyspaceWrites, AbandonWithoutAMove) {
  const SessionGuard us = Join("n1");
  Lead(us, 1);
  EXPECT_EQ(Execute(AbandonBatch{{AbandonOf(0, Record(0).term())}}).outcome, Outcome::kDone);
}

TEST_F(KeyspaceWrites, ResignLeavingTheSessionThatResigned) {
  const SessionGuard us = Join("n1");
  Lead(us, 2);
  Resign stale = ResignOf(1, Term{Record(1).revision.value - 1});
  const Resign resign = ResignOf(0, Record(0).term());
  const WriteResult result = Execute(ResignBatch{{us.node, us.session}, {resign, stale}});
  EXPECT_EQ(result.items, (std::vector{Outcome::kDone, Outcome::kRefused}));
  EXPECT_EQ(Record(0).leader, "");
  EXPECT_EQ(Record(0).resigned_by, "n1");
  EXPECT_EQ(Record(0).session, us.session);
  EXPECT_EQ(Record(0).previous, "n1");
  EXPECT_EQ(Record(1).leader, "n1");
}

// Plan: the balancer plans a move, loses its record to another, and plans no more.
TEST_F(KeyspaceWrites, PlanMovesOnlyInTheBalancersTerm) {
  const SessionGuard us = Join("n1");
  Claim claim;
  const WriteResult claimed = Execute(ClaimBatch{.guard = us, .claims = {claim}});
  ASSERT_EQ(claimed.outcome, Outcome::kDone) << claimed.detail;
  MoveBatch batch;
  batch.balancer_term = Term{claimed.revision.value};
  MoveWrite write;
  write.move.shard = ShardId{3};
  write.move.present = true;
  write.move.ends = Term{9};
  write.move.from = "n2";
  write.move.to = "n1";
  batch.moves = {write};
  const WriteResult planned = Execute(batch);
  EXPECT_EQ(planned.outcome, Outcome::kDone) << planned.detail;
  Resign resign;
  resign.term = *batch.balancer_term;
  ASSERT_EQ(Execute(ResignBatch{{us.node, us.session}, {resign}}).outcome, Outcome::kDone);
  batch.moves[0].read = planned.revision;
  batch.moves[0].move.present = false;
  const WriteResult late = Execute(batch);
  EXPECT_EQ(late.outcome, Outcome::kRefused);
  ASSERT_FALSE(late.read_back.empty());
  EXPECT_EQ(std::get<BalancerFact>(late.read_back[0]).record.resigned_by, "n1");
}

TEST_F(KeyspaceWrites, ChangeAPolicyOnlyAsItWasRead) {
  PolicyWrite write;
  write.policy.name = {PolicyKind::kDrain, "n1"};
  write.policy.present = true;
  write.policy.actor = "ops";
  const WriteResult put = Execute(write);
  ASSERT_EQ(put.outcome, Outcome::kDone) << put.detail;
  EXPECT_EQ(Execute(write).outcome, Outcome::kRefused);
  PolicyWrite undo = write;
  undo.read = undo.changed = put.revision;
  undo.policy.present = false;
  const WriteResult removed = Execute(undo);
  EXPECT_EQ(removed.outcome, Outcome::kDone);
  EXPECT_FALSE(std::get<PolicyFact>(removed.read_back[0]).present);
  // A copy that was held up finds the key absent, like the first one.
  EXPECT_EQ(Execute(write).outcome, Outcome::kRefused);
  write.changed = removed.revision;
  EXPECT_EQ(Execute(write).outcome, Outcome::kDone);
}

// Plan: garbage in a record; the claim that replaces it keeps the bytes, in the same revision.
TEST_F(KeyspaceWrites, QuarantineADamagedRecordsBytes) {
  const SessionGuard us = Join("n1");
  const Revision damaged = store().Put(keys.ShardKey(ShardId{0}), "garbage");
  ASSERT_EQ(Record(0).readability, Readability::kDamaged);
  Claim claim = ClaimOf(0, damaged);
  claim.quarantined = Record(0).damaged_value;
  const WriteResult result = Execute(ClaimBatch{.guard = us, .claims = {claim}});
  ASSERT_EQ(result.outcome, Outcome::kDone) << result.detail;
  EXPECT_EQ(result.read_back.size(), 1u);
  const auto kept = store().Get(keys.QuarantineKey(ShardId{0}));
  ASSERT_EQ(kept.kvs_size(), 1);
  EXPECT_EQ(kept.kvs(0).value(), "garbage");
  EXPECT_EQ(kept.kvs(0).mod_revision(), result.revision.value);
  // The next damage of this record takes the same key, so that no writer fills etcd.
  claim.read = store().Put(keys.ShardKey(ShardId{0}), "worse");
  claim.quarantined = Record(0).damaged_value;
  ASSERT_EQ(Execute(ClaimBatch{.guard = us, .claims = {claim}}).outcome, Outcome::kDone);
  EXPECT_EQ(store().Get(keys.QuarantineKey(ShardId{0})).kvs(0).value(), "worse");
}

// Plan: a later version's field in a member's value and a record: update, claim, transfer and
// resign keep it unchanged.
TEST_F(KeyspaceWrites, KeepALaterVersionsFields) {
  const std::string later = "\xa2\x06\x03new";  // field 100, "new"
  const SessionGuard us = Join("n1");
  const SessionGuard target = Join("n2");
  MemberFact member = MemberOf("n1", us.session);
  member.unknown_fields = later;
  const WriteResult updated = Execute(MemberUpdate{.member = member, .guard = us});
  member = MemberIn(updated.read_back);
  EXPECT_EQ(member.unknown_fields, later);
  EXPECT_EQ(MemberIn(Execute(MemberUpdate{.member = member, .guard = us}).read_back).unknown_fields,
            later);

  Claim claim = ClaimOf(0);
  claim.unknown_fields = later;
  ASSERT_EQ(Execute(ClaimBatch{.guard = us, .claims = {claim}}).outcome, Outcome::kDone);
  EXPECT_EQ(Record(0).unknown_fields, later);
  Transfer transfer = Prepare(0, us, target);
  transfer.unknown_fields = Record(0).unknown_fields;
  ASSERT_EQ(Execute(TransferBatch{us.node, {transfer}}).outcome, Outcome::kDone);
  EXPECT_EQ(Record(0).unknown_fields, later);
  Resign resign = ResignOf(0, Record(0).term());
  resign.unknown_fields = Record(0).unknown_fields;
  ASSERT_EQ(Execute(ResignBatch{{"n2", target.session}, {resign}}).outcome, Outcome::kDone);
  EXPECT_EQ(Record(0).unknown_fields, later);
}

// Plan: the claim of one shard has more bytes than etcd takes in a request. All other claims of the
// batch are done, also if one of them is refused for another leader.
TEST_F(KeyspaceWrites, LoseNoOtherShardToOneThatIsTooLarge) {
  const SessionGuard us = Join("n1");
  const SessionGuard other = Join("n2");
  ASSERT_EQ(Execute(ClaimBatch{.guard = other, .claims = {ClaimOf(4)}}).outcome, Outcome::kDone);
  ClaimBatch batch = Claims(us, 40);
  batch.claims[7].unknown_fields = std::string(2'000'000, 'x');
  const WriteResult result = Execute(batch);
  std::vector expected(40, Outcome::kDone);
  expected[4] = expected[7] = Outcome::kRefused;
  EXPECT_EQ(result.items, expected);
  EXPECT_TRUE(result.permanent);
  EXPECT_NE(result.detail.find(keys.ShardKey(ShardId{7}) + " alone is too large"),
            std::string::npos)
      << result.detail;
  EXPECT_EQ(Record(39).leader, "n1");
}

// Plan: the largest batches are accepted, flat (one revision) and nested (one conflict).
TEST_F(KeyspaceWrites, FitTheGreatestBatchesIntoOneTransaction) {
  const SessionGuard us = Join("n1");
  const auto claims = static_cast<std::uint32_t>(MaxClaims(0));
  Lead(us, claims);
  EXPECT_EQ(Record(0).revision, Record(claims - 1).revision);
  const SessionGuard heir = Join("n9");
  store().Revoke(us.session);
  store().Put(keys.ShardKey(ShardId{7}), "conflict");
  ClaimBatch batch{.guard = heir, .claims = {}};
  for (std::uint32_t shard = 0; shard < MaxClaims(1); ++shard) {
    batch.claims.push_back(ClaimOf(shard, Record(0).revision, SessionRef{"n1", us.session}));
  }
  const WriteResult claimed = Execute(batch);
  EXPECT_EQ(std::count(claimed.items.begin(), claimed.items.end(), Outcome::kDone),
            static_cast<long>(MaxClaims(1)) - 1);
  EXPECT_EQ(claimed.items[7], Outcome::kRefused);

  TransferBatch transfers{.from = heir.node, .transfers = {}};
  std::vector<SessionGuard> targets;
  for (int i = 0; i < 4; ++i) targets.push_back(Join("t" + std::to_string(i)));
  for (std::uint32_t shard = 8; shard < 8 + MaxTransfers(4); ++shard) {
    transfers.transfers.push_back(Prepare(shard, heir, targets[shard % 4]));
  }
  const WriteResult moved = Execute(transfers);
  EXPECT_EQ(moved.outcome, Outcome::kDone) << moved.detail;
  EXPECT_EQ(Record(8).revision, Record(7 + static_cast<std::uint32_t>(MaxTransfers(4))).revision);
}

}  // namespace
}  // namespace baton::etcd
