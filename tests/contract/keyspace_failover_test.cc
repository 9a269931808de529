// The writes of failover settings on a real etcd: each guard prevents what it is for, and a copy
// that comes late does nothing.
#include "keyspace_fixture.h"

namespace baton::etcd {
namespace {

class FailoverWrites : public testing::LeadersTest {
 protected:
  // The first node's config, and its revision.
  Revision CreateConfig() {
    ConfigFact config;
    config.shards = 12;
    const WriteResult created = Execute(ConfigCreate{config});
    EXPECT_EQ(created.outcome, Outcome::kDone) << created.detail;
    return created.revision;
  }

  ConfigFact Config() {
    const auto range = store().Get(keys.ConfigKey());
    return std::get<ConfigFact>(*keys.Decode(range.kvs(0)).fact);
  }

  static ConfigChange ChangeOf(Revision read, Revision members) {
    ConfigChange change;
    change.config.shards = 12;
    change.config.schema = kConfigSchema;
    change.config.failover = {.policy = FailoverPolicy::kAfter,
                              .delay = std::chrono::minutes(10),
                              .lock_delay = std::chrono::seconds(5)};
    change.read = read;
    change.members = members;
    return change;
  }

  ForceRelease ReleaseOf(const SessionGuard& dead) {
    ForceRelease release;
    release.shard = ShardId{0};
    release.term = Record(0).term();
    release.dead = {dead.node, dead.session};
    release.actor = "ops";
    return release;
  }
};

template <typename Kind>
std::vector<Kind> AllIn(const std::vector<Fact>& facts) {
  std::vector<Kind> found;
  for (const Fact& fact : facts) {
    if (const auto* kind = std::get_if<Kind>(&fact)) found.push_back(*kind);
  }
  return found;
}

// Plan: a change, its copy that comes late, and one that was decided by an older config. What is
// read back shows the config that stands.
TEST_F(FailoverWrites, ChangeTheConfigAsItWasReadAndOnce) {
  const Revision created = CreateConfig();
  Join("n1");
  const ConfigChange change = ChangeOf(created, Now());
  const WriteResult first = Execute(change);
  ASSERT_EQ(first.outcome, Outcome::kDone) << first.detail;
  EXPECT_EQ(AllIn<ConfigFact>(first.read_back).at(0).revision, first.revision);
  EXPECT_EQ(Config().schema, kConfigSchema);
  EXPECT_EQ(Config().failover, change.config.failover);

  const WriteResult again = Execute(change);
  EXPECT_EQ(again.outcome, Outcome::kRefused);
  EXPECT_EQ(again.detail, "the group's config was changed");
  const ConfigFact told = AllIn<ConfigFact>(again.read_back).at(0);
  EXPECT_EQ(told.revision, first.revision) << "what the first copy wrote";
  EXPECT_EQ(told.failover, change.config.failover);
  EXPECT_EQ(Now(), first.revision);
}

// [checked] Plan: a node joins after the members were read, one updates its key, one leaves. Only
// who is written may be too old for the change; who has left does not matter.
TEST_F(FailoverWrites, ChangeTheConfigOnlyWhileNoMemberWasWritten) {
  const Revision created = CreateConfig();
  const SessionGuard us = Join("n1");
  const Revision seen = Now();
  const SessionGuard other = Join("n2");
  const WriteResult joined = Execute(ChangeOf(created, seen));
  EXPECT_EQ(joined.outcome, Outcome::kRefused);
  EXPECT_EQ(joined.detail, "a member was written since the members were read");
  EXPECT_EQ(AllIn<ConfigFact>(joined.read_back).at(0).revision, created);

  const Revision both = Now();
  MemberFact draining = MemberOf("n1", us.session);
  draining.state = MemberState::kDraining;
  ASSERT_EQ(Execute(MemberUpdate{.member = draining, .guard = us}).outcome, Outcome::kDone);
  EXPECT_EQ(Execute(ChangeOf(created, both)).outcome, Outcome::kRefused);

  const Revision updated = Now();
  store().Revoke(other.session);
  const WriteResult left = Execute(ChangeOf(created, updated));
  EXPECT_EQ(left.outcome, Outcome::kDone) << left.detail;
}

// Plan: a group without members; its neighbours in order have newer keys.
TEST_F(FailoverWrites, ChangeTheConfigOfAGroupWithoutMembers) {
  const Revision created = CreateConfig();
  store().Put(keys.begin() + "member", "x");
  store().Put(keys.MoveKey(ShardId{0}), "x");
  const WriteResult result = Execute(ChangeOf(created, created));
  EXPECT_EQ(result.outcome, Outcome::kDone) << result.detail;
}

// Plan: claims decided by the config as read; then an operator changes it while claims are on
// their way, in a batch and alone. All are refused, and the answer shows the config that stands.
TEST_F(FailoverWrites, ClaimOnlyUnderTheConfigThatAllowsIt) {
  const Revision created = CreateConfig();
  const SessionGuard us = Join("n1");
  ClaimBatch batch = Claims(us, 3);
  batch.config = created;
  batch.directory = 99;
  ASSERT_EQ(Execute(batch).outcome, Outcome::kDone);
  EXPECT_EQ(Record(2).directory, 99u);

  const WriteResult changed = Execute(ChangeOf(created, Now()));
  ASSERT_EQ(changed.outcome, Outcome::kDone) << changed.detail;
  batch.claims = {ClaimOf(3), ClaimOf(4)};
  for (int i = 0; i < 2; ++i) {
    const WriteResult late = Execute(batch);
    EXPECT_EQ(late.items, std::vector(batch.claims.size(), Outcome::kRefused));
    EXPECT_EQ(late.detail, "the group's config was changed");
    EXPECT_EQ(AllIn<ConfigFact>(late.read_back).at(0).revision, changed.revision);
    EXPECT_FALSE(Record(3).present);
    batch.claims.pop_back();
  }
  batch.claims = {ClaimOf(3), ClaimOf(4)};
  batch.config = changed.revision;
  EXPECT_EQ(Execute(batch).outcome, Outcome::kDone);
}

// Plan: one shard is taken already, so that the rest is put nested.
TEST_F(FailoverWrites, LoseOneShardToOneConflictUnderTheConfig) {
  const Revision created = CreateConfig();
  const SessionGuard us = Join("n1");
  Lead(Join("n2"), 1);
  ClaimBatch batch = Claims(us, 3);
  batch.config = created;
  const WriteResult result = Execute(batch);
  EXPECT_EQ(result.items, (std::vector{Outcome::kRefused, Outcome::kDone, Outcome::kDone}));
  EXPECT_EQ(result.detail, "a guard was false");
  EXPECT_EQ(Record(2).leader, "n1");
}

// Plan: there is no config, which counts as 0, and then there is one.
TEST_F(FailoverWrites, ClaimUnderNoConfigOnlyWhileThereIsNone) {
  const SessionGuard us = Join("n1");
  ClaimBatch batch = Claims(us, 1);
  batch.config = Revision{};
  EXPECT_EQ(Execute(batch).outcome, Outcome::kDone);
  CreateConfig();
  batch.claims = {ClaimOf(1)};
  EXPECT_EQ(Execute(batch).outcome, Outcome::kRefused);
}

// Plan: the largest batches of claims with all guards, flat and nested, as etcd counts.
TEST_F(FailoverWrites, FitTheGreatestBatchesOfClaimsUnderTheConfig) {
  const Revision created = CreateConfig();
  const SessionGuard us = Join("n1");
  ClaimBatch batch = Claims(us, static_cast<std::uint32_t>(MaxClaims(0)));
  batch.config = created;
  ASSERT_EQ(Execute(batch).outcome, Outcome::kDone);
  const Revision led = Record(0).revision;
  EXPECT_EQ(Record(static_cast<std::uint32_t>(MaxClaims(0)) - 1).revision, led);
  store().Revoke(us.session);
  store().Put(keys.ShardKey(ShardId{7}), "conflict");
  ClaimBatch heirs{.guard = Join("n9"), .config = created, .claims = {}};
  for (std::uint32_t shard = 0; shard < MaxClaims(1); ++shard) {
    heirs.claims.push_back(ClaimOf(shard, led, SessionRef{"n1", us.session}));
  }
  const WriteResult claimed = Execute(heirs);
  std::vector<Outcome> expected(MaxClaims(1), Outcome::kDone);
  expected[7] = Outcome::kRefused;
  EXPECT_EQ(claimed.items, expected) << claimed.detail;
}

// Plan: transfers decided by the config as read; then an operator changes its rules while they are
// on their way, in a batch and alone. All are refused, and the leader stays the leader.
TEST_F(FailoverWrites, TransferOnlyUnderTheConfigThatAllowsIt) {
  const Revision created = CreateConfig();
  const SessionGuard us = Join("n1");
  const SessionGuard target = Join("n2");
  Lead(us, 2);
  TransferBatch batch{us.node, {Prepare(0, us, target), Prepare(1, us, target)}};
  for (Transfer& transfer : batch.transfers) transfer.config = created;
  ConfigChange change = ChangeOf(created, Now());
  change.config.placement = {{.shards = {}, .require = {{"zone", {"a"}}}, .prefer = {}}};
  const WriteResult changed = Execute(change);
  ASSERT_EQ(changed.outcome, Outcome::kDone) << changed.detail;
  EXPECT_EQ(Config().placement, change.config.placement);
  TransferBatch alone{us.node, {batch.transfers.front()}};
  for (const TransferBatch& late : {batch, alone}) {
    const WriteResult result = Execute(late);
    EXPECT_EQ(result.items, std::vector(late.transfers.size(), Outcome::kRefused));
    EXPECT_EQ(AllIn<ConfigFact>(result.read_back).at(0).revision, changed.revision);
    EXPECT_EQ(Record(0).leader, "n1");
  }
  for (Transfer& transfer : batch.transfers) transfer.config = changed.revision;
  EXPECT_EQ(Execute(batch).outcome, Outcome::kDone);
  EXPECT_EQ(Record(1).leader, "n2");
}

// Plan: the target's directory goes into the record, and the resignation says that the shard was
// released; the directory was the leader's.
TEST_F(FailoverWrites, NameTheLeadersDirectoryAndWhatWasReleased) {
  const SessionGuard us = Join("n1");
  const SessionGuard target = Join("n2");
  Lead(us, 1);
  Transfer transfer = Prepare(0, us, target);
  transfer.directory = ~std::uint64_t{0};
  ASSERT_EQ(Execute(TransferBatch{us.node, {transfer}}).outcome, Outcome::kDone);
  EXPECT_EQ(Record(0).directory, ~std::uint64_t{0});
  Resign resign = ResignOf(0, Record(0).term());
  resign.released = true;
  ASSERT_EQ(Execute(ResignBatch{{"n2", target.session}, {resign}}).outcome, Outcome::kDone);
  EXPECT_TRUE(Record(0).released);
  EXPECT_EQ(Record(0).directory, 0u);
}

// Plan: two nodes mark the same node; the second reads back what the first wrote. A late copy of
// the first mark does not replace a later one.
TEST_F(FailoverWrites, MarkANodeRipeAsItsKeyWasRead) {
  const RipeMark first{.node = "n2", .up_to = Revision{30}, .read = {}};
  const WriteResult marked = Execute(first);
  ASSERT_EQ(marked.outcome, Outcome::kDone) << marked.detail;
  EXPECT_EQ(AllIn<RipeFact>(marked.read_back).at(0).up_to, Revision{30});
  const WriteResult second = Execute(RipeMark{.node = "n2", .up_to = Revision{31}, .read = {}});
  EXPECT_EQ(second.outcome, Outcome::kRefused);
  const RipeFact told = AllIn<RipeFact>(second.read_back).at(0);
  EXPECT_EQ(told.up_to, Revision{30});
  EXPECT_EQ(told.revision, marked.revision);

  const RipeMark later{.node = "n2", .up_to = Revision{50}, .read = marked.revision};
  const WriteResult replaced = Execute(later);
  ASSERT_EQ(replaced.outcome, Outcome::kDone) << replaced.detail;
  EXPECT_EQ(Execute(first).outcome, Outcome::kRefused);
  EXPECT_EQ(Execute(later).outcome, Outcome::kRefused);
  EXPECT_EQ(Now(), replaced.revision);
}

// Plan: of a living leader nothing is released. Once its session is gone, the record names nobody,
// although the node runs again in another session.
TEST_F(FailoverWrites, ForceReleaseTheShardOfADeadSessionOnly) {
  const SessionGuard dead = Join("n2");
  Lead(dead, 1);
  const ForceRelease release = ReleaseOf(dead);
  const WriteResult early = Execute(release);
  EXPECT_EQ(early.outcome, Outcome::kRefused);
  EXPECT_EQ(AllIn<MemberFact>(early.read_back).at(0).lease, dead.session);
  EXPECT_EQ(AllIn<ShardRecordFact>(early.read_back).at(0).record.leader, "n2");

  store().Revoke(dead.session);
  Join("n2");
  const WriteResult done = Execute(release);
  ASSERT_EQ(done.outcome, Outcome::kDone) << done.detail;
  const RecordFact record = Record(0);
  EXPECT_EQ(record.readability, Readability::kReadable);
  EXPECT_EQ(record.leader, "");
  EXPECT_EQ(record.resigned_by, "");
  EXPECT_EQ(record.previous, "n2");
  EXPECT_EQ(record.session, dead.session);
  EXPECT_EQ(record.reason, Reason::kOperator);
  EXPECT_EQ(record.actor, "ops");
  EXPECT_EQ(record.revision, done.revision);
}

// [checked] Plan: somebody has claimed the shard meanwhile, so a copy that comes late takes nothing
// from it. Nor does one of a release that is done.
TEST_F(FailoverWrites, ForceReleaseTheLeadershipThatWasSeenOnly) {
  const SessionGuard dead = Join("n2");
  Lead(dead, 1);
  store().Revoke(dead.session);
  const ForceRelease release = ReleaseOf(dead);
  ASSERT_EQ(Execute(release).outcome, Outcome::kDone);
  const WriteResult again = Execute(release);
  EXPECT_EQ(again.outcome, Outcome::kRefused);
  const RecordFact told = AllIn<ShardRecordFact>(again.read_back).at(0).record;
  EXPECT_EQ(told.reason, Reason::kOperator) << "what the first copy wrote";
  EXPECT_EQ(told.actor, "ops");

  const SessionGuard us = Join("n1");
  const Claim claim = ClaimOf(0, Record(0).revision);
  ASSERT_EQ(Execute(ClaimBatch{.guard = us, .claims = {claim}}).outcome, Outcome::kDone);
  EXPECT_EQ(Execute(release).outcome, Outcome::kRefused);
  EXPECT_EQ(Record(0).leader, "n1");
}

}  // namespace
}  // namespace baton::etcd
