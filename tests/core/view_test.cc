// The view: facts by revision, whatever order they come in.
#include "core/view.h"

#include <limits>
#include <optional>

#include <gtest/gtest.h>

#include "core/fact_store.h"
#include "core/may_claim.h"

namespace baton::test {
namespace {

using core::ChangedShards;
using core::View;
using core::ViewChanges;

MemberFact Member(const NodeId& node, std::int64_t lease, std::int64_t revision) {
  MemberFact member;
  member.node = node;
  member.present = lease != 0;
  member.lease = member.session = SessionId{lease};
  member.revision = Revision{revision};
  return member;
}

ShardRecordFact Record(std::uint32_t shard, const NodeId& leader, std::int64_t session,
                       std::int64_t revision) {
  ShardRecordFact fact{.shard = ShardId{shard}, .record = {}};
  fact.record.present = !leader.empty();
  fact.record.leader = leader;
  fact.record.session = SessionId{session};
  fact.record.revision = Revision{revision};
  return fact;
}

ShardRecordFact Unreadable(std::uint32_t shard, std::int64_t revision, std::uint32_t version,
                           std::int64_t created) {
  ShardRecordFact fact = Record(shard, "", 0, revision);
  fact.record.present = true;
  fact.record.readability = Readability::kDamaged;
  fact.record.version = version;
  fact.record.create_revision = Revision{created};
  return fact;
}

const TimePoint kNow{std::chrono::seconds(5)};

// Plan: an answer shows revision 60; then a snapshot read at 50 arrives. The lost leadership stays
// lost.
TEST(View, ASnapshotNeverReplacesLaterFacts) {
  View view(2, "n1");
  view.Merge({Fact(Record(0, "n2", 2, 60)), Fact(Record(1, "", 0, 61))}, kNow);
  Snapshot snapshot{.revision = Revision{50},
                    .facts = {Record(0, "n1", 1, 40), Record(1, "n1", 1, 41), Member("n1", 1, 30)}};
  view.Merge(snapshot, kNow);
  EXPECT_EQ(view.record(ShardId{0}).leader, "n2");
  EXPECT_FALSE(view.record(ShardId{1}).present);
}

// Plan: a key that a snapshot does not contain is absent from then on; later facts stay.
TEST(View, AnAbsenceHasTheRevisionOfItsReading) {
  View view(2, "n1");
  view.Merge({Fact(Record(0, "n1", 1, 40)), Fact(Record(1, "n1", 1, 70))}, kNow);
  view.Merge(Snapshot{.revision = Revision{50}, .facts = {}}, kNow);
  EXPECT_FALSE(view.record(ShardId{0}).present);
  EXPECT_TRUE(view.record(ShardId{1}).present);
  view.Merge({Fact(Record(0, "n1", 1, 45))}, kNow);
  EXPECT_FALSE(view.record(ShardId{0}).present) << "older than the absence";
}

// Plan: a late answer shows a member that the snapshot did not find: it is dead, not new.
TEST(View, ALateFactOfAnUnknownNodeIsNoNews) {
  View view(1, "n1");
  view.Merge(Snapshot{.revision = Revision{50}, .facts = {}}, kNow);
  view.Merge({Fact(Member("n2", 2, 40))}, kNow);
  EXPECT_FALSE(view.SessionAlive({"n2", SessionId{2}}));
  PolicyFact pause{.name = {PolicyKind::kPause},
                   .revision = Revision{40},
                   .present = true,
                   .actor = "",
                   .max_moves = 0};
  view.Merge({Fact(pause)}, kNow);
  EXPECT_EQ(view.policy({PolicyKind::kPause}), nullptr);
  view.Merge({Fact(Member("n2", 2, 51))}, kNow);
  EXPECT_TRUE(view.SessionAlive({"n2", SessionId{2}}));
}

// Plan: a message ends n2's session and names the death, in either order. It counts as proven, in
// the list of departures, too, and how long the guard had known of it stays with its end. A death
// of another session of the node proves nothing about this one, and the next end has no such time.
TEST(View, ADeathThatIsNamedIsProven) {
  for (const bool death_first : {true, false}) {
    View view(1, "n1");
    view.Merge(Snapshot{.revision = Revision{10}, .facts = {Member("n2", 2, 5)}}, kNow);
    const Fact death = DeathFact{.revision = Revision{11},
                                 .present = true,
                                 .node = "n2",
                                 .session = SessionId{2},
                                 .detect = std::chrono::milliseconds(20)};
    std::vector<Fact> facts{Fact(Member("n2", 0, 11)), death};
    if (death_first) std::swap(facts[0], facts[1]);
    view.Merge(Changes{.revision = Revision{11}, .facts = facts}, kNow);
    EXPECT_TRUE(view.ProvenDead({"n2", SessionId{2}}));
    EXPECT_FALSE(view.ProvenDead({"n2", SessionId{3}}));
    ASSERT_EQ(view.departures().Lately(kNow).size(), 1u);
    EXPECT_EQ(view.departures().Lately(kNow).front().why, Reason::kProcessDied);
    ASSERT_NE(view.LastLeaseEnd("n2"), nullptr);
    EXPECT_EQ(view.LastLeaseEnd("n2")->detect, std::chrono::milliseconds(20));
    view.Merge(Changes{.revision = Revision{12}, .facts = {Fact(Member("n2", 3, 12))}}, kNow);
    view.Merge(Changes{.revision = Revision{13}, .facts = {Fact(Member("n2", 0, 13))}}, kNow);
    EXPECT_FALSE(view.LastLeaseEnd("n2")->detect);
  }
}

// Plan: somebody writes `died` for n2's session, which lives, and for a node that does not exist. A
// message, an answer and a read show it. It proves nothing: no member key ended with it. So n2's
// lease, which runs out later, counts as expired, also for a node that starts later. Nor does an
// answer prove it that finds `died` of this moment and the key absent: it may have ended before.
TEST(View, ADeathCountsOnlyIfTheMemberKeyEndedWithIt) {
  const SessionRef session{"n2", SessionId{2}};
  DeathFact death{.revision = Revision{11}, .present = true, .node = "n2"};
  death.session = session.session;
  DeathFact ghost{.revision = Revision{12}, .present = true, .node = "ghost"};
  ghost.session = SessionId{9};
  View view(1, "n1");
  view.Merge(
      Snapshot{.revision = Revision{10}, .facts = {Member("n2", 2, 5), Record(0, "n2", 2, 6)}},
      kNow);
  view.TakeChanges();
  view.Merge(Changes{.revision = Revision{12}, .facts = {death, ghost}}, kNow);
  view.Merge({Fact(death), Fact(ghost)}, kNow);
  EXPECT_FALSE(view.TakeChanges().any());
  view.Merge(Changes{.revision = Revision{20}, .facts = {Member("n2", 0, 20)}}, kNow);
  death.revision = Revision{21};
  view.Merge({Fact(Member("n2", 0, 21)), Fact(death)}, kNow);
  const Snapshot after{.revision = Revision{21}, .facts = {death, Record(0, "n2", 2, 6)}};
  view.Merge(after, kNow);
  View later(1, "n3");
  later.Merge(after, kNow);
  for (const View* each : {&view, &later}) {
    EXPECT_FALSE(each->ProvenDead(session));
    EXPECT_FALSE(each->ProvenDead({"ghost", SessionId{9}}));
  }
  ASSERT_EQ(view.departures().Lately(kNow).size(), 1u);
  EXPECT_EQ(view.departures().Lately(kNow).front().why, Reason::kLeaseExpired);
}

// Plan: a guard ends n2's session. n2 comes back, and its next session ends by its lease. The proof
// is of the first one alone.
TEST(View, AProofOfDeathIsOfOneSessionAlone) {
  DeathFact death{.revision = Revision{20}, .present = true, .node = "n2"};
  death.session = SessionId{2};
  View view(1, "n1");
  view.Merge(Snapshot{.revision = Revision{10}, .facts = {Member("n2", 2, 5)}}, kNow);
  view.Merge(Changes{.revision = Revision{20}, .facts = {Member("n2", 0, 20), death}}, kNow);
  view.Merge(
      Changes{.revision = Revision{26}, .facts = {Member("n2", 3, 25), Record(0, "n2", 3, 26)}},
      kNow);
  view.Merge(Changes{.revision = Revision{30}, .facts = {Member("n2", 0, 30)}}, kNow);
  EXPECT_TRUE(view.ProvenDead({"n2", SessionId{2}}));
  EXPECT_FALSE(view.ProvenDead({"n2", SessionId{3}}));
  EXPECT_FALSE(LastLeaderStopped(view, ShardId{0}));
}

// Plan: a read shows that n2's session has ended; the message in which its guard ended it arrives
// after that, because the watch was late. The death is proven by the message.
TEST(View, ALateWatchProvesADeathOfWhichAReadShowedTheEnd) {
  const SessionRef session{"n2", SessionId{2}};
  DeathFact death{.revision = Revision{11}, .present = true, .node = "n2"};
  death.session = session.session;
  View view(1, "n1");
  const Fact record = Record(0, "n2", 2, 6);
  view.Merge(Snapshot{.revision = Revision{10}, .facts = {Member("n2", 2, 5), record}}, kNow);
  view.Merge(Snapshot{.revision = Revision{20}, .facts = {death, record}}, kNow);
  EXPECT_FALSE(view.ProvenDead(session));
  view.Merge(Changes{.revision = Revision{11}, .facts = {Member("n2", 0, 11), death}}, kNow);
  EXPECT_TRUE(view.ProvenDead(session));
}

// Plan: n2 is gone, and a read finds its record still. Then another node claims the shard. The next
// read forgets n2's sessions, though it drops no member.
TEST(View, ForgetsTheSessionsOfANodeOnceNoRecordNamesIt) {
  View view(1, "n1");
  view.Merge(Snapshot{.revision = Revision{10},
                      .facts = {Member("n2", 2, 5), Member("n3", 3, 6), Record(0, "n2", 2, 7)}},
             kNow);
  const Fact n3 = Member("n3", 3, 6);
  view.Merge(Snapshot{.revision = Revision{20}, .facts = {n3, Record(0, "n2", 2, 7)}}, kNow);
  EXPECT_TRUE(view.SeenAlive({"n2", SessionId{2}})) << "a record names it";
  const Fact claimed = Record(0, "n3", 3, 25);
  view.Merge(Changes{.revision = Revision{25}, .facts = {claimed}}, kNow);
  view.Merge(Snapshot{.revision = Revision{30}, .facts = {n3, claimed}}, kNow);
  EXPECT_FALSE(view.SeenAlive({"n2", SessionId{2}}));
}

// Plan: nodes and drains come and go under ever new names. After a read, only those names are kept
// that exist or that a record names; nothing older than the read brings one back.
TEST(View, ForgetsNamesThatAReadDoesNotFind) {
  View view(1, "n1");
  view.Merge(Snapshot{.revision = Revision{10},
                      .facts = {Member("n1", 1, 5), Member("n2", 2, 6), Record(0, "n2", 2, 7)}},
             kNow);
  for (std::int64_t i = 0; i < 100; ++i) {
    const std::string name = "pod-" + std::to_string(i);
    view.Merge({Fact(Member(name, 100 + i, 20 + 2 * i))}, kNow);
    view.Merge({Fact(Member(name, 0, 21 + 2 * i))}, kNow);
  }
  view.Merge({Fact(Member("n2", 0, 300)), Fact(Member("n1", 0, 301))}, kNow);
  EXPECT_EQ(view.members().size(), 102u);
  view.Merge(Snapshot{.revision = Revision{400}, .facts = {Record(0, "n2", 2, 7)}}, kNow);
  ASSERT_EQ(view.members().size(), 1u) << "our own, whose absence ended a session";
  EXPECT_FALSE(view.member("n1")->present);
  EXPECT_TRUE(view.SeenAlive({"n2", SessionId{2}})) << "a record names it";
  EXPECT_FALSE(view.SeenAlive({"pod-7", SessionId{107}}));
  view.Merge({Fact(Member("pod-7", 107, 34))}, kNow);
  EXPECT_FALSE(view.SessionAlive({"pod-7", SessionId{107}}));
}

// Plan: the watch finds a record damaged, then a read finds another one, and does not tell how
// often it was written. Only the watch has shown all leaders before: between the last known fact
// and the read another node may have led, and may live.
TEST(View, TheLastLeaderBeforeADamageIsKnownOnlyWhereTheWatchShowedIt) {
  View view(2, "n1");
  view.Merge(
      Snapshot{.revision = Revision{50},
               .facts = {Member("n2", 2, 30), Record(0, "n2", 2, 40), Record(1, "n2", 2, 40)}},
      kNow);
  ShardRecordFact seen = Record(0, "", 0, 60);
  seen.record.present = true;
  seen.record.readability = Readability::kDamaged;
  view.Merge(Changes{.revision = Revision{60}, .facts = {seen}}, kNow);
  EXPECT_EQ(view.LastKnownLeader(ShardId{0}), (SessionRef{"n2", SessionId{2}}));

  ShardRecordFact found = seen;
  found.shard = ShardId{1};
  view.Merge(Snapshot{.revision = Revision{70}, .facts = {Member("n2", 2, 30), seen, found}}, kNow);
  EXPECT_EQ(view.LastKnownLeader(ShardId{0}), (SessionRef{"n2", SessionId{2}}));
  EXPECT_EQ(view.LastKnownLeader(ShardId{1}), std::nullopt);
  EXPECT_EQ(view.DamagedSince(ShardId{1}), kNow);
}

// Plan: only a read finds a record damaged. Its last leader is known if the read shows that the key
// was written once since the record was known and was not deleted in between, and if the leader's
// session was known to live. Its end is learnt with the read, or later. A write of this node's own
// gave the record first: it does not tell the version, and the watch does later.
TEST(View, ARecordThatAReadFindsDamagedHasALastLeaderIfItWasWrittenOnce) {
  struct Case {
    std::uint32_t version;
    std::int64_t created;
    bool alive;
    std::optional<SessionRef> last;
  };
  const SessionRef n2{"n2", SessionId{2}};
  constexpr std::uint32_t kMost = std::numeric_limits<std::uint32_t>::max();
  for (const std::uint32_t known : {7u, kMost}) {
    for (const Case& at :
         {Case{8, 35, true, n2}, Case{8, 35, false, n2}, Case{9, 35, true, {}},
          Case{8, 55, true, {}}, Case{0, 35, true, {}}, Case{kMost, 35, true, {}}}) {
      SCOPED_TRACE(std::to_string(known) + " " + std::to_string(at.version));
      View view(1, "n1");
      view.Merge(Snapshot{.revision = Revision{36}, .facts = {Member("n2", 2, 30)}}, kNow);
      ShardRecordFact record = Record(0, "n2", 2, 40);
      view.Merge({Fact(record)}, kNow);
      record.record.version = known;
      record.record.create_revision = Revision{35};
      view.Merge(Changes{.revision = Revision{50}, .facts = {record}}, kNow);
      Snapshot read{.revision = Revision{70}, .facts = {}};
      if (at.alive) read.facts.emplace_back(Member("n2", 2, 30));
      read.facts.emplace_back(Unreadable(0, 60, at.version, at.created));
      const TimePoint then = kNow + std::chrono::seconds(1);
      view.Merge(read, then);
      EXPECT_EQ(view.LastKnownLeader(ShardId{0}), known == kMost ? std::nullopt : at.last);
      EXPECT_EQ(view.DamagedSince(ShardId{0}), then);
      if (known == kMost || !at.last) continue;
      EXPECT_EQ(view.damage().at(ShardId{0}).over_since, at.alive ? TimePoint::max() : then);
      if (!at.alive) continue;
      view.Merge({Fact(Member("n2", 0, 80))}, then + std::chrono::seconds(1));
      EXPECT_EQ(view.damage().at(ShardId{0}).over_since, then + std::chrono::seconds(1));
    }
  }
}

// Plan: the damaged record is damaged again. If a read shows that this was one write, the last
// leader stays; after two writes it is not known any more.
TEST(View, ARecordThatIsDamagedTwiceKeepsItsLastLeaderIfNobodyLedInBetween) {
  for (const std::uint32_t version : {9u, 10u}) {
    View view(1, "n1");
    ShardRecordFact record = Record(0, "n2", 2, 40);
    record.record.version = 7;
    record.record.create_revision = Revision{35};
    view.Merge(Snapshot{.revision = Revision{50}, .facts = {Member("n2", 2, 30), record}}, kNow);
    view.Merge(Changes{.revision = Revision{60}, .facts = {Unreadable(0, 60, 8, 35)}}, kNow);
    const TimePoint then = kNow + std::chrono::seconds(1);
    view.Merge({Fact(Unreadable(0, 70, version, 35))}, then);
    EXPECT_EQ(view.LastKnownLeader(ShardId{0}).has_value(), version == 9);
    EXPECT_EQ(view.DamagedSince(ShardId{0}), version == 9 ? kNow : then);
  }
}

// Plan: the record is known by an answer that is newer than what the watch has shown of members.
// Its leader's session is not known yet, so nobody can say when it ends.
TEST(View, ASessionThatIsNotKnownYetIsNoLastLeader) {
  View view(1, "n1");
  view.Merge(Snapshot{.revision = Revision{36}, .facts = {}}, kNow);
  ShardRecordFact record = Record(0, "n2", 2, 40);
  record.record.version = 7;
  record.record.create_revision = Revision{35};
  view.Merge({Fact(record)}, kNow);
  view.Merge({Fact(Unreadable(0, 60, 8, 35))}, kNow);
  EXPECT_EQ(view.LastKnownLeader(ShardId{0}), std::nullopt);
}

// Plan: a newer version writes a record that this one can't read, and somebody damages it. The
// newer record may have named another leader.
TEST(View, ARecordOfANewerSchemaHidesTheLastLeader) {
  View view(1, "n1");
  view.Merge(
      Snapshot{.revision = Revision{50}, .facts = {Member("n2", 2, 30), Record(0, "n2", 2, 40)}},
      kNow);
  ShardRecordFact newer = Unreadable(0, 60, 0, 0);
  newer.record.readability = Readability::kNewerSchema;
  view.Merge(Changes{.revision = Revision{60}, .facts = {newer}}, kNow);
  view.Merge(Changes{.revision = Revision{61}, .facts = {Unreadable(0, 61, 0, 0)}}, kNow);
  EXPECT_EQ(view.LastKnownLeader(ShardId{0}), std::nullopt);
}

// Plan: lease 0, or a lease that is not the session named: the member is not live, its record not
// in force.
TEST(View, AMemberKeyWithoutItsLeaseIsNoLiveMember) {
  MemberFact permanent = Member("n1", 1, 20);
  permanent.lease = SessionId{0};
  MemberFact other = Member("n2", 2, 21);
  other.lease = SessionId{3};
  View view(2, "n1");
  view.Merge(Snapshot{.revision = Revision{50},
                      .facts = {permanent, other, Record(0, "n1", 1, 22), Record(1, "n2", 2, 23)}},
             kNow);
  EXPECT_FALSE(permanent.Live());
  EXPECT_FALSE(other.Live());
  EXPECT_FALSE(view.InForce(ShardId{0}));
  EXPECT_FALSE(view.InForce(ShardId{1}));
}

// ---- the store that the tests rely on ----------------------------------------------------------

class StoreTest : public ::testing::Test {
 protected:
  SessionGuard Join(const NodeId& node, std::int64_t lease) {
    store_.Grant(SessionId{lease}, std::chrono::seconds(10), kNow);
    MemberFact member;
    member.node = node;
    member.session = SessionId{lease};
    EXPECT_EQ(store_.Execute(MemberCreate{member}).outcome, Outcome::kDone);
    return {node, SessionId{lease}, store_.revision()};
  }
  WriteResult ClaimOf(const SessionGuard& guard, Revision read,
                      std::optional<SessionRef> dead = {}) {
    Claim claim;
    claim.shard = ShardId{0};
    claim.read = read;
    claim.dead = dead;
    return store_.Execute(ClaimBatch{.guard = guard, .claims = {claim}});
  }
  FactStore store_;
};

// Plan: a claim that was read while nobody led is sent late, after somebody led and that record was
// deleted. A guard on existence would let it pass; the revision does not.
TEST_F(StoreTest, GuardsCompareRevisionsNotExistence) {
  const SessionGuard n1 = Join("n1", 1);
  const SessionGuard n2 = Join("n2", 2);
  ASSERT_EQ(ClaimOf(n1, Revision{}).outcome, Outcome::kDone);
  const Revision first = store_.revision();
  EXPECT_EQ(ClaimOf(n2, first, SessionRef{"n1", SessionId{1}}).outcome, Outcome::kRefused)
      << "n1 lives";
  store_.Revoke(SessionId{1});
  ASSERT_EQ(ClaimOf(n2, first, SessionRef{"n1", SessionId{1}}).outcome, Outcome::kDone);
  EXPECT_EQ(ClaimOf(n2, first, SessionRef{"n1", SessionId{1}}).outcome, Outcome::kRefused)
      << "a late copy";
  EXPECT_EQ(ClaimOf(n1, store_.revision()).outcome, Outcome::kRefused) << "n1's session is gone";
}

// Plan: claim, delete, claim: a term counted by clients would be 1 again; the store's never
// repeats.
TEST_F(StoreTest, TermsNeverRepeatAcrossDeletion) {
  const SessionGuard n1 = Join("n1", 1);
  ClaimOf(n1, Revision{});
  const Term first = store_.Record(ShardId{0}).term();
  store_.Delete(ShardKey(ShardId{0}));
  ClaimOf(n1, Revision{});
  EXPECT_GT(store_.Record(ShardId{0}).term(), first);
}

// Plan: the target of a transfer has begun a new session since it prepared: refused.
TEST_F(StoreTest, ATransferNamesTheVerySessionThatPrepared) {
  const SessionGuard n1 = Join("n1", 1);
  Join("n2", 2);
  ClaimOf(n1, Revision{});
  const Term term = store_.Record(ShardId{0}).term();
  MoveFact move;
  move.shard = ShardId{0};
  move.present = true;
  ASSERT_EQ(store_.Execute(MoveBatch{{}, {}, {{move, Revision{}}}}).outcome, Outcome::kDone);
  Transfer transfer{.shard = ShardId{0},
                    .term = term,
                    .move_read = store_.revision(),
                    .to = {"n2", SessionId{3}},
                    .reason = Reason::kRebalance,
                    .actor = "",
                    .unknown_fields = ""};
  EXPECT_EQ(store_.Execute(TransferBatch{"n1", {transfer}}).outcome, Outcome::kRefused);
  transfer.to.session = SessionId{2};
  EXPECT_EQ(store_.Execute(TransferBatch{"n1", {transfer}}).outcome, Outcome::kDone);
  EXPECT_EQ(store_.Execute(TransferBatch{"n1", {transfer}}).outcome, Outcome::kRefused)
      << "a late copy";
}

// ---- what a change concerns ---------------------------------------------------------------------

ViewChanges TouchedBy(std::vector<ShardId> shards) {
  ViewChanges changes;
  changes.shards = std::move(shards);
  return changes;
}

std::vector<ShardId> Shards(std::uint32_t first, std::uint32_t count) {
  std::vector<ShardId> result;
  for (std::uint32_t i = 0; i < count; ++i) result.push_back(ShardId{first + i});
  return result;
}

// Plan: at first all shards count as changed. Then shards come in two parts, one of them in both.
TEST(ChangedShards, AreGatheredSortedAndOnce) {
  ChangedShards changed;
  EXPECT_TRUE(changed.all());
  changed.Clear();
  EXPECT_FALSE(changed.all());
  changed.Note(TouchedBy({ShardId{3}, ShardId{7}}));
  changed.Note(TouchedBy({ShardId{1}, ShardId{3}, ShardId{9}}));
  EXPECT_FALSE(changed.all());
  EXPECT_EQ(changed.shards(),
            (std::vector<ShardId>{ShardId{1}, ShardId{3}, ShardId{7}, ShardId{9}}));
  changed.Clear();
  EXPECT_TRUE(changed.shards().empty());
}

// Plan: a member, a policy, and more shards than are collected: each stands for every shard until
// Clear.
TEST(ChangedShards, AreAllOnceAnyMayBeConcerned) {
  ViewChanges member;
  member.members = true;
  ViewChanges policy;
  policy.policy = true;
  for (const ViewChanges& changes : {member, policy, TouchedBy(Shards(0, 4097))}) {
    ChangedShards changed;
    changed.Clear();
    changed.Note(TouchedBy({ShardId{3}}));
    changed.Note(changes);
    changed.Note(TouchedBy({ShardId{5}}));
    EXPECT_TRUE(changed.all());
    EXPECT_TRUE(changed.shards().empty());
    changed.Clear();
    EXPECT_FALSE(changed.all());
  }
  ChangedShards changed;
  changed.Clear();
  changed.Note(TouchedBy(Shards(0, 4096)));
  EXPECT_FALSE(changed.all());
}

}  // namespace
}  // namespace baton::test
