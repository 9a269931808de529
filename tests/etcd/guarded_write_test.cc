// The guards and operations of each write, written out.
#include "etcd/guarded_txn.h"

#include <gtest/gtest.h>

#include "baton/v1/records.pb.h"
#include "describe.h"
#include "etcd/records.h"
#include "our_session.h"

namespace baton::etcd {
namespace {

MemberFact Us() {
  MemberFact member;
  member.node = "n1";
  member.session = SessionId{77};
  return member;
}

Claim ClaimOf(std::uint32_t shard, std::int64_t read, std::optional<SessionRef> dead = {}) {
  Claim claim;
  claim.shard = ShardId{shard};
  claim.read = Revision{read};
  claim.dead = std::move(dead);
  return claim;
}

Transfer TransferOf(std::uint32_t shard, SessionRef to) {
  Transfer transfer;
  transfer.shard = ShardId{shard};
  transfer.term = Term{100 + shard};
  transfer.move_read = Revision{200 + shard};
  transfer.to = std::move(to);
  transfer.config = Revision{50};
  return transfer;
}

MoveWrite MoveOf(std::uint32_t shard, std::int64_t read, bool present) {
  MoveWrite write;
  write.move.shard = ShardId{shard};
  write.move.present = present;
  write.move.ends = Term{9};
  write.move.from = "n1";
  write.move.to = "n2";
  write.read = Revision{read};
  return write;
}

ForceRelease Released() {
  return {.shard = ShardId{3},
          .term = Term{8},
          .dead = {"n2", SessionId{66}},
          .actor = "ann",
          .tally = {.deaths = 2}};
}

etcdserverpb::TxnRequest Put(const Write& write, Shape shape) {
  const GuardedWrite guarded = MakeGuardedWrite(kKeys, write);
  return *MakeTxn({.write = &guarded, .first = 0, .count = guarded.items.size(), .shape = shape});
}

std::string Flat(const Write& write) { return testing::Describer(kKeys)(Put(write, Shape::kFlat)); }
std::string Nested(const Write& write) {
  return testing::Describer(kKeys)(Put(write, Shape::kNested));
}

TEST(GuardedWrite, CreatesConfigOnce) {
  EXPECT_EQ(Flat(ConfigCreate{}), R"(if create config = 0
then put config
else get config
)");
}

TEST(GuardedWrite, PutsTheConfigBackUnderItsSession) {
  EXPECT_EQ(Flat(ConfigMend{{}, Revision{40}, kUs}), R"(if lease members/n1 = 77
if create members/n1 = 5
if mod config = 40
then put config
else get members/n1
else get config
)");
}

// [checked] Who became a member or changed after the members were read may be too old for it.
TEST(GuardedWrite, ChangesTheConfigAsReadAndOnlyWhileTheMembersAreThoseThatWereSeen) {
  EXPECT_EQ(Flat(ConfigChange{.config = {}, .read = Revision{40}, .members = Revision{50}}),
            R"(if mod config = 40
if mod members/ to members0 < 51
then put config
else get config
)");
}

TEST(GuardedWrite, MarksANodeRipeOnceForEachStateOfItsKey) {
  EXPECT_EQ(Flat(RipeMark{.node = "n2", .up_to = Revision{30}, .read = Revision{20}}),
            R"(if mod ripe/n2 = 20
then put ripe/n2
else get ripe/n2
)");
}

// [checked] A mark that was written again is another one.
TEST(GuardedWrite, DeletesAMarkAsItWasRead) {
  EXPECT_EQ(Flat(RipeMark{.node = "n2", .up_to = {}, .read = Revision{20}}),
            R"(if mod ripe/n2 = 20
then delete ripe/n2
else get ripe/n2
)");
}

// [checked] The damaged bytes that were seen: any other write to the key has another revision. Who
// led is compared, too, if that is known.
TEST(GuardedWrite, ForceReleasesADamagedRecordAsItWasRead) {
  ForceRelease release = Released();
  release.quarantined = "garbage";
  EXPECT_EQ(Flat(release), R"(if mod shards/3 = 8
if lease members/n2 != 66
then put shards/3
then put quarantine/3
else get shards/3
else get members/n2
)");
  release.dead = {};
  EXPECT_EQ(Flat(release), R"(if mod shards/3 = 8
then put shards/3
then put quarantine/3
else get shards/3
)");
}

// [checked] The death of the very session that leads: the node itself may live again, and not be
// back yet.
TEST(GuardedWrite, ForceReleasesAShardByItsTermAndItsDeadSession) {
  EXPECT_EQ(Flat(Released()), R"(if mod shards/3 = 8
if lease members/n2 != 66
then put shards/3
else get shards/3
else get members/n2
)");
}

TEST(GuardedWrite, CreatesAMemberKeyOnItsLeaseWhereNoneIs) {
  EXPECT_EQ(Flat(MemberCreate{Us()}), R"(if create members/n1 = 0
then put members/n1 on 77
then get members/n1
else get members/n1
)");
}

TEST(GuardedWrite, TakesAMemberKeyOverAsItWasRead) {
  EXPECT_EQ(Flat(MemberTakeover{.member = Us(), .read = Revision{30}}), R"(if mod members/n1 = 30
then put members/n1 on 77
then get members/n1
else get members/n1
)");
}

// [checked] A put without the lease would make the key permanent.
TEST(GuardedWrite, NamesTheLeaseAgainInAMemberUpdate) {
  EXPECT_EQ(Flat(MemberUpdate{.member = Us(), .guard = kUs}), R"(if lease members/n1 = 77
if create members/n1 = 5
then put members/n1 on 77
else get members/n1
)");
}

// [checked] The dead session is compared by its lease, never by the mere existence of its key: a
// restarted node's key exists again.
TEST(GuardedWrite, ClaimsARecordAsReadOfADeadSessionWhileOursLives) {
  EXPECT_EQ(
      Flat(ClaimBatch{.guard = kUs, .claims = {ClaimOf(3, 8, SessionRef{"n2", SessionId{66}})}}),
      R"(if lease members/n1 = 77
if create members/n1 = 5
if mod shards/3 = 8
if lease members/n2 != 66
then put shards/3
else get members/n1
else get shards/3
else get members/n2
)");
}

// Plan: claims under the config as read, and of a group that has none yet. Nested, the config is
// compared once for all.
TEST(GuardedWrite, ClaimsOnlyUnderTheConfigThatAllowsIt) {
  ClaimBatch batch{.guard = kUs, .config = Revision{40}, .claims = {ClaimOf(3, 8)}};
  EXPECT_EQ(Flat(batch), R"(if lease members/n1 = 77
if create members/n1 = 5
if mod config = 40
if mod shards/3 = 8
then put shards/3
else get members/n1
else get config
else get shards/3
)");
  EXPECT_EQ(Nested(batch), R"(if lease members/n1 = 77
if create members/n1 = 5
if mod config = 40
then txn
  if mod shards/3 = 8
  then put shards/3
  else get shards/3
else get members/n1
else get config
)");
  batch.config = Revision{};
  EXPECT_NE(Flat(batch).find("if mod config = 0\n"), std::string::npos);
}

TEST(GuardedWrite, ClaimsAnAbsentRecordByItsModRevisionAlone) {
  EXPECT_EQ(Flat(ClaimBatch{.guard = kUs, .claims = {ClaimOf(3, 0)}}), R"(if lease members/n1 = 77
if create members/n1 = 5
if mod shards/3 = 0
then put shards/3
else get members/n1
else get shards/3
)");
}

TEST(GuardedWrite, ClaimsTheBalancersRecordLikeAShards) {
  Claim claim = ClaimOf(0, 8);
  claim.shard.reset();
  EXPECT_EQ(Flat(ClaimBatch{.guard = kUs, .claims = {claim}}), R"(if lease members/n1 = 77
if create members/n1 = 5
if mod balancer = 8
then put balancer
else get members/n1
else get balancer
)");
}

TEST(GuardedWrite, QuarantinesADamagedRecordInTheClaimThatReplacesIt) {
  Claim claim = ClaimOf(3, 8);
  claim.quarantined = "bytes";
  EXPECT_EQ(Flat(ClaimBatch{.guard = kUs, .claims = {claim}}), R"(if lease members/n1 = 77
if create members/n1 = 5
if mod shards/3 = 8
then put shards/3
then put quarantine/3
else get members/n1
else get shards/3
)");
  const etcdserverpb::TxnRequest txn =
      Put(ClaimBatch{.guard = kUs, .claims = {claim}}, Shape::kFlat);
  EXPECT_EQ(txn.success(1).request_put().value(), "bytes");
  v1::LeadershipRecord record;
  ASSERT_TRUE(record.ParseFromString(txn.success(0).request_put().value()));
  EXPECT_EQ(record.actor(), "baton (damaged record replaced)");
}

// Plan: two claims from the same dead session: shared guards and that session once.
TEST(GuardedWrite, StatesSharedGuardsOnceInAFlatBatch) {
  const SessionRef dead{"n2", SessionId{66}};
  EXPECT_EQ(Flat(ClaimBatch{.guard = kUs, .claims = {ClaimOf(3, 8, dead), ClaimOf(4, 9, dead)}}),
            R"(if lease members/n1 = 77
if create members/n1 = 5
if mod shards/3 = 8
if lease members/n2 != 66
if mod shards/4 = 9
then put shards/3
then put shards/4
else get members/n1
)");
}

TEST(GuardedWrite, PutsEachClaimUnderTheSharedGuardsWhenNested) {
  EXPECT_EQ(
      Nested(ClaimBatch{.guard = kUs,
                        .claims = {ClaimOf(3, 8, SessionRef{"n2", SessionId{66}}), ClaimOf(4, 0)}}),
      R"(if lease members/n1 = 77
if create members/n1 = 5
then txn
  if mod shards/3 = 8
  if lease members/n2 != 66
  then put shards/3
  else get shards/3
  else get members/n2
then txn
  if mod shards/4 = 0
  then put shards/4
  else get shards/4
else get members/n1
)");
}

// [checked] The very session that prepared, not just the target's name; and the move as read.
TEST(GuardedWrite, TransfersToTheVerySessionThatPrepared) {
  EXPECT_EQ(Flat(TransferBatch{"n1", {TransferOf(3, {"n2", SessionId{66}})}}),
            R"(if mod shards/3 = 103
if mod moves/3 = 203
if lease members/n2 = 66
if mod config = 50
then put shards/3
then delete moves/3
else get shards/3
else get moves/3
else get members/n2
else get config
)");
  EXPECT_EQ(Nested(TransferBatch{"n1", {TransferOf(3, {"n2", SessionId{66}})}}), R"(then txn
  if mod shards/3 = 103
  if mod moves/3 = 203
  if lease members/n2 = 66
  if mod config = 50
  then put shards/3
  then delete moves/3
  else get shards/3
  else get moves/3
  else get members/n2
  else get config
)");
}

TEST(GuardedWrite, AbandonsByTermAlone) {
  EXPECT_EQ(Flat(AbandonBatch{{Abandon{.shard = ShardId{3}, .term = Term{8}}}}),
            R"(if mod shards/3 = 8
then delete moves/3
else get shards/3
)");
}

TEST(GuardedWrite, ResignsByTermAlone) {
  Resign balancer;
  balancer.term = Term{9};
  Resign shard;
  shard.shard = ShardId{3};
  shard.term = Term{8};
  EXPECT_EQ(Nested(ResignBatch{{"n1", SessionId{77}}, {shard, balancer}}), R"(then txn
  if mod shards/3 = 8
  then put shards/3
  else get shards/3
then txn
  if mod balancer = 9
  then put balancer
  else get balancer
)");
}

TEST(GuardedWrite, WritesMovesUnderTheBalancersTermOrTheTargetsSession) {
  MoveBatch batch;
  batch.balancer_term = Term{50};
  batch.moves = {MoveOf(3, 0, true), MoveOf(4, 9, false)};
  EXPECT_EQ(Flat(batch), R"(if mod balancer = 50
if mod moves/3 = 0
if mod moves/4 = 9
then put moves/3
then delete moves/4
else get balancer
)");
  batch.policies = Revision{12};
  EXPECT_EQ(Flat(batch), R"(if mod balancer = 50
if mod policy/changed = 12
if mod moves/3 = 0
if mod moves/4 = 9
then put moves/3
then delete moves/4
else get balancer
else get policy/changed
)");
  batch.balancer_term.reset();
  batch.policies.reset();
  batch.target = kUs;
  batch.moves = {MoveOf(3, 7, true)};
  EXPECT_EQ(Flat(batch), R"(if lease members/n1 = 77
if create members/n1 = 5
if mod moves/3 = 7
then put moves/3
else get members/n1
else get moves/3
)");
}

TEST(GuardedWrite, GuardsAPolicyByItsModRevisionAndThatOfTheLastChange) {
  PolicyWrite write;
  write.policy.name = {PolicyKind::kDrain, "n2"};
  write.policy.present = true;
  EXPECT_EQ(Flat(write), R"(if mod policy/drain/n2 = 0
if mod policy/changed = 0
then put policy/drain/n2
then put policy/changed
else get policy/drain/n2
else get policy/changed
)");
  write.policy.present = false;
  write.read = Revision{4};
  write.changed = Revision{4};
  EXPECT_EQ(Flat(write), R"(if mod policy/drain/n2 = 4
if mod policy/changed = 4
then delete policy/drain/n2
then put policy/changed
else get policy/drain/n2
else get policy/changed
)");
}

// Plan: a drain and its end, each ordered once and twice. Only what changes something is news for
// histories. A number may be another one than before.
TEST(GuardedWrite, TellsOfAnOrderOnlyIfItChangesSomething) {
  const auto told = [](PolicyFact policy, std::int64_t read) {
    policy.actor = "ann";
    const GuardedWrite made = MakeGuardedWrite(
        kKeys, PolicyWrite{.policy = policy, .read = Revision{read}, .changed = Revision{9}});
    const std::string& changed = made.items.front().effects.back().value;
    return DecodePolicy(changed, {PolicyKind::kChanged}).change;
  };
  const PolicyName drain{PolicyKind::kDrain, "n2"};
  EXPECT_EQ(told({.name = drain, .present = true}, 0), "drain n2");
  EXPECT_EQ(told({.name = drain, .present = true}, 7), "");
  EXPECT_EQ(told({.name = drain, .present = false}, 7), "undrain n2");
  EXPECT_EQ(told({.name = drain, .present = false}, 0), "");
  EXPECT_EQ(told({.name = {PolicyKind::kPause}, .present = true}, 7), "");
  EXPECT_EQ(told({.name = {PolicyKind::kExpectedNodes}, .present = true, .expected_nodes = 3}, 7),
            "expected-nodes 3");
}

// [checked] Every guard is stable: a mod revision, a create revision or a lease. No guard compares
// a version or a value, which could become true again. (That of a range may, once a member's key is
// deleted: it stands beside the config's mod revision.)
TEST(GuardedWrite, HasStableGuardsOnly) {
  const SessionRef dead{"n2", SessionId{66}};
  Abandon abandon;
  abandon.term = Term{8};
  Resign resign;
  resign.term = Term{8};
  MoveBatch moves;
  moves.target = kUs;
  moves.balancer_term = Term{50};
  moves.moves = {MoveOf(3, 7, true)};
  PolicyWrite policy;
  policy.policy.name = {PolicyKind::kPause};
  for (const Write& write :
       {Write(ConfigCreate{}), Write(ConfigMend{{}, Revision{40}, kUs}), Write(MemberCreate{Us()}),
        Write(MemberTakeover{.member = Us(), .read = Revision{30}}),
        Write(MemberUpdate{.member = Us(), .guard = kUs}),
        Write(ClaimBatch{.guard = kUs, .claims = {ClaimOf(3, 8, dead)}}),
        Write(TransferBatch{"n1", {TransferOf(3, dead)}}), Write(AbandonBatch{{abandon}}),
        Write(ResignBatch{dead, {resign}}), Write(moves), Write(policy),
        Write(ConfigChange{{}, Revision{40}, Revision{50}}),
        Write(RipeMark{"n2", Revision{30}, Revision{}}),
        Write(RipeMark{"n2", Revision{}, Revision{20}}), Write(Released())}) {
    for (const Shape shape : {Shape::kFlat, Shape::kNested}) {
      const std::string text = testing::Describer(kKeys)(Put(write, shape));
      EXPECT_EQ(text.find("UNSTABLE"), std::string::npos) << text;
      EXPECT_EQ(text.find("?"), std::string::npos) << text;
      EXPECT_NE(text.find("if "), std::string::npos) << "unguarded: " << text;
    }
  }
}

ClaimBatch Claims(std::size_t count, std::size_t dead_sessions) {
  ClaimBatch batch{.guard = kUs, .config = Revision{40}, .claims = {}};
  for (std::size_t i = 0; i < count; ++i) {
    const std::string node = "d" + std::to_string(i % std::max<std::size_t>(1, dead_sessions));
    std::optional<SessionRef> dead;
    if (dead_sessions > 0) dead = SessionRef{node, SessionId{66}};
    batch.claims.push_back(ClaimOf(static_cast<std::uint32_t>(i), 8, dead));
  }
  return batch;
}

TransferBatch Transfers(std::size_t count, std::size_t targets) {
  TransferBatch batch{.from = "n1", .transfers = {}};
  for (std::size_t i = 0; i < count; ++i) {
    batch.transfers.push_back(TransferOf(static_cast<std::uint32_t>(i),
                                         {"t" + std::to_string(i % targets), SessionId{66}}));
  }
  return batch;
}

std::size_t Operations(const Write& write, Shape shape) {
  return CountOperations(Put(write, shape));
}

// Plan: the largest batches that writes.h promises, in both shapes, counted as etcd counts.
TEST(GuardedWrite, FitsTheGreatestBatchesIntoTheLimitFlatAndNested) {
  EXPECT_EQ(Operations(Claims(MaxClaims(0), 0), Shape::kFlat), kMaxTxnOperations);
  EXPECT_EQ(Operations(Claims(124, 1), Shape::kFlat), kMaxTxnOperations);
  EXPECT_EQ(Operations(Claims(MaxClaims(2), 2), Shape::kFlat), kMaxTxnOperations);
  EXPECT_EQ(Operations(Claims(124, 1), Shape::kNested), 126u);
  EXPECT_EQ(Operations(Transfers(61, 4), Shape::kFlat), kMaxTxnOperations - 1);
  EXPECT_EQ(Operations(Transfers(61, 4), Shape::kNested), 65u);
  EXPECT_EQ(MaxTransfers(4), 61u);
  ResignBatch resigns{.from = {"n1", SessionId{77}}, .resigns = {}};
  for (std::uint32_t i = 0; i < kMaxResigns; ++i) {
    Resign resign;
    resign.shard = ShardId{i};
    resign.term = Term{8};
    resigns.resigns.push_back(resign);
  }
  EXPECT_EQ(Operations(resigns, Shape::kFlat), kMaxTxnOperations);
  MoveBatch moves;
  moves.target = kUs;
  moves.balancer_term = Term{50};
  for (std::uint32_t i = 0; i < kMaxMoveWrites; ++i) moves.moves.push_back(MoveOf(i, 0, true));
  EXPECT_EQ(Operations(moves, Shape::kFlat), kMaxTxnOperations);
  EXPECT_LE(Operations(moves, Shape::kNested), kMaxTxnOperations);
}

// Plan: cut writes far above the limit into portions, for many limits. Each portion fits, as etcd
// counts, and holds as many items as fit; together they are the write.
TEST(GuardedWrite, IsCutIntoPortionsThatFitAndLoseNothing) {
  ClaimBatch damaged = Claims(300, 7);
  for (Claim& claim : damaged.claims) claim.quarantined = "bytes";
  for (const Write& write : {Write(Claims(300, 7)), Write(Transfers(300, 9)), Write(damaged)}) {
    const GuardedWrite guarded = MakeGuardedWrite(kKeys, write);
    for (const Shape shape : {Shape::kFlat, Shape::kNested}) {
      for (const std::size_t limit : {8u, 13u, 64u, 128u}) {
        std::size_t first = 0;
        while (first < guarded.items.size()) {
          Portion portion = Fit(guarded, shape, first, guarded.items.size(), limit);
          ASSERT_GT(portion.count, 0u);
          ASSERT_LE(CountOperations(*MakeTxn(portion)), limit);
          first += portion.count;
          if (first == guarded.items.size()) break;
          ++portion.count;
          ASSERT_GT(CountOperations(*MakeTxn(portion)), limit) << "one more would have fit";
        }
      }
    }
  }
}

// A fact's words, except for its revision.
std::string Said(const Fact& fact) {
  const auto* shard = std::get_if<ShardRecordFact>(&fact);
  const RecordFact& record = shard != nullptr ? shard->record : std::get<BalancerFact>(fact).record;
  return (shard != nullptr ? std::to_string(shard->shard.value) : "balancer") + "|" +
         (record.present ? "present" : "absent") + "|" + record.leader + "|" +
         std::to_string(record.session.value) + "|" + record.resigned_by + "|" + record.previous +
         "|" + ToString(record.reason) + "|" + record.actor + "|" +
         std::to_string(record.tally.deaths) + "|" + std::to_string(record.directory) + "|" +
         (record.released ? "released" : "") + "|" + record.unknown_fields + "|" +
         record.damaged_value;
}

// Plan: for every kind of write that leaves a record, of a shard and of the balancer, with and
// without fields of a later version: the fact that it leaves is the one that its value decodes to.
TEST(GuardedWrite, LeavesTheFactThatItsValueDecodesTo) {
  std::vector<Write> writes;
  for (const std::string unknown : {"", "\xC2\x3E\x03new"}) {
    Claim claim = ClaimOf(3, 8, SessionRef{"n2", SessionId{66}});
    claim.previous = "n2";
    claim.reason = Reason::kProcessDied;
    claim.unknown_fields = unknown;
    writes.push_back(ClaimBatch{.guard = kUs, .directory = 11, .claims = {claim}});
    claim.shard.reset();
    writes.push_back(ClaimBatch{.guard = kUs, .claims = {claim}});
    Transfer transfer = TransferOf(4, {"n2", SessionId{66}});
    transfer.reason = Reason::kOperator;
    transfer.actor = "ann";
    transfer.directory = ~std::uint64_t{0};
    transfer.unknown_fields = unknown;
    writes.push_back(TransferBatch{.from = "n1", .transfers = {transfer}});
    writes.push_back(ResignBatch{
        .from = {"n1", SessionId{77}},
        .resigns = {
            {.shard = ShardId{6}, .term = Term{9}, .released = true, .unknown_fields = unknown},
            {.shard = std::nullopt, .term = Term{9}, .unknown_fields = unknown}}});
    ForceRelease released = Released();
    released.unknown_fields = unknown;
    writes.push_back(released);
    released.stopped = true;
    writes.push_back(released);
    released.dead = {};
    released.stopped = false;
    released.quarantined = "garbage";
    writes.push_back(released);
  }
  for (const Write& write : writes) {
    for (const GuardedItem& item : MakeGuardedWrite(kKeys, write).items) {
      const Effect& effect = item.effects.front();
      etcdserverpb::KeyValue stored;
      stored.set_key(effect.key);
      stored.set_value(effect.value);
      stored.set_mod_revision(7);
      const Decoded decoded = kKeys.Decode(stored);
      ASSERT_TRUE(effect.fact && decoded.fact) << effect.key;
      EXPECT_EQ(Said(*effect.fact), Said(*decoded.fact)) << effect.key;
    }
  }
}

}  // namespace
}  // namespace baton::etcd
