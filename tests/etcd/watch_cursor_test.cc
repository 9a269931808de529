// The cursor on scripted answers: repeated events, overtaking progress answers, streams that end,
// compactions, silence. On a real etcd: tests/contract.
#include "etcd/watch_cursor.h"

#include <gtest/gtest.h>

#include <algorithm>

#include "etcd/progress_proof.h"
#include "etcd/records.h"
#include "fake_loop.h"
#include "fake_transport.h"

namespace baton::etcd {
namespace {

using etcdserverpb::RangeResponse;
using etcdserverpb::WatchResponse;
using std::chrono::milliseconds;
using testing::FakeLoop;
using testing::FakeRange;
using testing::FakeWatch;

const Keyspace kKeys(kDefaultPrefix, "orders");

class WatchCursorTest : public ::testing::Test {
 protected:
  WatchCursorTest() { Make(); }

  void Make() {
    WatchCursorOptions options;
    options.page_limit = 2;
    options.max_pending_messages = 2;
    cursor = std::make_unique<WatchCursor>(
        transport, kKeys, loop.executor(), options,
        WatchCursorHandler{
            .snapshot =
                [this](Snapshot snapshot, std::uint64_t cluster_id) {
                  Note("snapshot", snapshot.revision, snapshot.facts, cluster_id);
                },
            .changes =
                [this](Changes changes, std::uint64_t cluster_id) {
                  Note("changes", changes.revision, changes.facts, cluster_id);
                },
            .delivered = [this](Revision revision) { proven.push_back(revision.value); },
            .trouble = [this](const std::string& detail) { trouble.push_back(detail); }});
  }

  // "snapshot 10: 1@5 2-@10" is shard 1's record of revision 5 and shard 2's absence at 10.
  void Note(const std::string& what, Revision revision, const std::vector<Fact>& facts,
            std::uint64_t cluster_id) {
    std::string text = what + " " + std::to_string(revision.value) + ":";
    for (const Fact& fact : facts) {
      const auto& record = std::get<ShardRecordFact>(fact);
      text += " " + std::to_string(record.shard.value) + (record.record.present ? "" : "-") + "@" +
              std::to_string(record.record.revision.value);
    }
    EXPECT_EQ(cluster_id, 9u);
    delivered.push_back(text);
  }

  void AnswerPage(RangeResponse page) {
    transport.TakeRange().Answer(std::move(page));
    loop.Run();
  }
  void Tell(WatchResponse response) {
    Watch().handler.response(std::move(response));
    loop.Run();
  }
  void End(const std::string& why) {
    Watch().handler.ended({.outcome = Outcome::kUnknown, .code = 14, .message = why});
    loop.Run();
  }
  FakeWatch& Watch() { return *transport.watches.back(); }

  // Starts with an empty snapshot at revision 10 and a watch that was created.
  void Begin();

  testing::FakeTransport transport;
  FakeLoop loop;
  std::unique_ptr<WatchCursor> cursor;
  std::vector<std::string> delivered;
  std::vector<std::int64_t> proven;
  std::vector<std::string> trouble;
};

void Fill(std::uint32_t shard, std::int64_t revision, etcdserverpb::KeyValue& stored) {
  RecordFact record;
  record.leader = "n1";
  record.session = SessionId{77};
  stored.set_key(kKeys.ShardKey(ShardId{shard}));
  stored.set_value(EncodeRecord(record, ShardId{shard}));
  stored.set_mod_revision(revision);
}

RangeResponse Page(std::int64_t revision,
                   const std::vector<std::pair<std::uint32_t, std::int64_t>>& records,
                   bool more = false) {
  RangeResponse page;
  page.mutable_header()->set_revision(revision);
  page.mutable_header()->set_cluster_id(9);
  page.set_more(more);
  for (const auto& [shard, mod] : records) Fill(shard, mod, *page.add_kvs());
  return page;
}

WatchResponse Message(std::int64_t header) {
  WatchResponse message;
  message.mutable_header()->set_revision(header);
  message.mutable_header()->set_cluster_id(9);
  return message;
}

// A put for a positive revision, a deletion for a negative one.
WatchResponse Events(std::int64_t header,
                     const std::vector<std::pair<std::uint32_t, std::int64_t>>& events) {
  WatchResponse message = Message(header);
  for (const auto& [shard, revision] : events) {
    auto* event = message.add_events();
    event->set_type(revision > 0 ? etcdserverpb::Event::PUT : etcdserverpb::Event::DELETE);
    if (revision > 0) Fill(shard, revision, *event->mutable_kv());
    event->mutable_kv()->set_key(kKeys.ShardKey(ShardId{shard}));
    event->mutable_kv()->set_mod_revision(std::abs(revision));
  }
  return message;
}

WatchResponse Answer(std::int64_t header) {
  WatchResponse message = Message(header);
  message.set_watch_id(-1);
  return message;
}

WatchResponse Created() {
  WatchResponse message = Message(10);
  message.set_created(true);
  return message;
}

WatchResponse Compacted(std::int64_t revision) {
  WatchResponse message = Message(50);
  message.set_canceled(true);
  message.set_compact_revision(revision);
  return message;
}

void WatchCursorTest::Begin() {
  cursor->Start();
  AnswerPage(Page(10, {}));
  Tell(Created());
  delivered.clear();
  proven.clear();
}

using Lines = std::vector<std::string>;
using Revisions = std::vector<std::int64_t>;

// Plan: three pages. The first is linearizable and fixes the revision; the others read at it, each
// after the last key. They make one snapshot; then the watch starts at the next revision.
TEST_F(WatchCursorTest, ReadsPagesAtOneRevisionThenWatchesFromTheNext) {
  cursor->Start();
  ASSERT_EQ(transport.ranges.size(), 1u);
  EXPECT_EQ(transport.ranges[0].request.key(), kKeys.begin());
  EXPECT_EQ(transport.ranges[0].request.range_end(), kKeys.end());
  EXPECT_EQ(transport.ranges[0].request.revision(), 0);
  EXPECT_EQ(transport.ranges[0].request.limit(), 2);
  EXPECT_FALSE(transport.ranges[0].request.serializable());
  AnswerPage(Page(10, {{1, 5}, {2, 6}}, true));
  ASSERT_EQ(transport.ranges.size(), 1u);
  EXPECT_EQ(transport.ranges[0].request.key(), kKeys.ShardKey(ShardId{2}) + '\0');
  EXPECT_EQ(transport.ranges[0].request.revision(), 10);
  AnswerPage(Page(12, {{3, 7}, {4, 8}}, true));
  EXPECT_EQ(transport.ranges[0].request.revision(), 10);
  EXPECT_TRUE(delivered.empty());
  AnswerPage(Page(13, {{5, 9}}));
  EXPECT_EQ(delivered, Lines{"snapshot 10: 1@5 2@6 3@7 4@8 5@9"});
  ASSERT_EQ(transport.watches.size(), 1u);
  EXPECT_EQ(Watch().request.start_revision(), 11);
  EXPECT_TRUE(Watch().request.progress_notify());
  EXPECT_FALSE(Watch().request.fragment());
  EXPECT_EQ(cursor->applied(), Revision{10});
}

TEST_F(WatchCursorTest, DeliversSeveralRevisionsOfOneMessageAtOnce) {
  Begin();
  Tell(Events(13, {{1, 11}, {2, 11}, {1, -12}, {3, 13}}));
  EXPECT_EQ(delivered, Lines{"changes 13: 1@11 2@11 1-@12 3@13"});
  EXPECT_EQ(cursor->applied(), Revision{13});
}

// etcd #15271: a member that loaded a snapshot sends old events again.
TEST_F(WatchCursorTest, DropsAndCountsRevisionsAlreadyApplied) {
  Begin();
  Tell(Events(12, {{1, 11}, {1, 12}}));
  Tell(Events(13, {{1, 11}, {1, 12}, {2, 13}}));
  Tell(Events(13, {{1, 12}}));
  EXPECT_EQ(delivered, (Lines{"changes 12: 1@11 1@12", "changes 13: 2@13"}));
  EXPECT_EQ(cursor->counts().repeated_revisions, 3u);
}

// etcd #15220: a progress message says 20 before the event of revision 15 comes; then the stream
// ends and the next one starts where events ended, not at 21.
TEST_F(WatchCursorTest, NeverTakesProgressForABookmark) {
  Begin();
  Tell(Message(20));
  EXPECT_EQ(proven, Revisions{20});
  EXPECT_EQ(cursor->applied(), Revision{10});
  Tell(Events(20, {{1, 15}}));
  EXPECT_EQ(delivered, Lines{"changes 15: 1@15"});
  Tell(Message(30));
  End("gone");
  loop.Advance(milliseconds(100));
  ASSERT_EQ(transport.watches.size(), 2u);
  EXPECT_EQ(Watch().request.start_revision(), 16);
}

// Plan: the watch begins behind, and etcd sends it a part. Each header has the store's revision,
// the message of its creation included.
TEST_F(WatchCursorTest, AHeaderIsNoDelivery) {
  cursor->Start();
  AnswerPage(Page(10, {}));
  WatchResponse created = Message(5000);
  created.set_created(true);
  Tell(created);
  Tell(Events(5000, {{1, 11}, {2, 12}}));
  EXPECT_EQ(delivered, (Lines{"snapshot 10:", "changes 12: 1@11 2@12"}));
  EXPECT_EQ(proven, Revisions{});
}

// Plan: the store has 15, and other groups wrote what came after 10. The first answer is not
// believed yet. The next one was asked for a pause later. Then the cursor stops asking.
TEST_F(WatchCursorTest, ASecondAnswerProvesTheFirst) {
  Begin();
  cursor->RequestProgress(Revision{15});
  Tell(Answer(16));
  loop.Advance(milliseconds(249));
  EXPECT_EQ(Watch().progress_requests, 1);
  loop.Advance(milliseconds(1));
  EXPECT_EQ(Watch().progress_requests, 2);
  EXPECT_EQ(proven, Revisions{});
  Tell(Answer(17));
  EXPECT_EQ(proven, Revisions{16});
  loop.Advance(std::chrono::seconds(10));
  EXPECT_EQ(Watch().progress_requests, 2);
}

// Plan: the first answer takes long, so the cursor asks again, and both answers come together. The
// second one says nothing new.
TEST_F(WatchCursorTest, AnswersThatCameTogetherProveNothing) {
  Begin();
  cursor->RequestProgress(Revision{15});
  loop.Advance(milliseconds(500));
  EXPECT_EQ(Watch().progress_requests, 2);
  Tell(Answer(16));
  Tell(Answer(16));
  EXPECT_EQ(proven, Revisions{});
  loop.Advance(milliseconds(250));
  Tell(Answer(17));
  EXPECT_EQ(proven, Revisions{16});
}

// Plan: the second answer takes so long that the member may have stood still since the first.
TEST_F(WatchCursorTest, ALateAnswerProvesNothing) {
  Begin();
  cursor->RequestProgress(Revision{15});
  Tell(Answer(16));
  loop.Advance(milliseconds(250 + 500));
  EXPECT_EQ(Watch().progress_requests, 3);
  Tell(Answer(16));
  Tell(Answer(16));
  EXPECT_EQ(proven, Revisions{});
  loop.Advance(milliseconds(250));
  Tell(Answer(17));
  EXPECT_EQ(proven, Revisions{16});
}

// Plan: an old member answers while the watch is behind, and events come between the answers.
TEST_F(WatchCursorTest, AnswersBetweenEventsProveNothing) {
  Begin();
  cursor->RequestProgress(Revision{50});
  for (std::int64_t revision = 11; revision < 20; ++revision) {
    Tell(Answer(60));
    loop.Advance(milliseconds(250));
    Tell(Events(60, {{1, revision}}));
  }
  EXPECT_EQ(proven, Revisions{});
  EXPECT_EQ(cursor->applied(), Revision{19});
}

// Plan: the last message was full, so the next one may take long: etcd looks through its history.
TEST_F(WatchCursorTest, AnswersProveNothingAfterAFullBatch) {
  Begin();
  std::vector<std::pair<std::uint32_t, std::int64_t>> batch;
  for (std::size_t i = 0; i < kWatchBatch; ++i) batch.emplace_back(1, 11 + static_cast<int>(i));
  Tell(Events(9000, batch));
  cursor->RequestProgress(Revision{9000});
  for (int i = 0; i < 20; ++i) {
    Tell(Answer(9000));
    loop.Advance(milliseconds(250));
  }
  EXPECT_EQ(proven, Revisions{});
  Tell(Events(9000, {{1, 9000}}));
  EXPECT_EQ(cursor->applied(), Revision{9000});
}

// Plan: etcd 3.5.8 and later leave requests unanswered while a watch is behind. The stream ends
// meanwhile, and what the ended one said does not count for the next, which is asked once it
// exists.
TEST_F(WatchCursorTest, AsksUntilEverythingIsDelivered) {
  Begin();
  cursor->RequestProgress(Revision{15});
  loop.Advance(std::chrono::seconds(2));
  EXPECT_EQ(Watch().progress_requests, 5);
  Tell(Answer(15));
  cursor->Reopen();
  loop.Advance(std::chrono::seconds(2));
  EXPECT_EQ(Watch().progress_requests, 0);
  Tell(Created());
  EXPECT_EQ(Watch().progress_requests, 1);
  Tell(Answer(15));
  EXPECT_EQ(proven, Revisions{});
  Tell(Events(15, {{1, 15}}));
  loop.Advance(std::chrono::seconds(2));
  EXPECT_EQ(Watch().progress_requests, 1);
}

// Plan: three streams end without an event. Each time the cursor uses another endpoint than the
// last, after a pause that doubles; an answer resets it. Later messages of an ended stream are
// ignored.
TEST_F(WatchCursorTest, OpensAnEndedWatchOnAnotherEndpointWithBackoff) {
  Begin();
  FakeWatch& first = Watch();
  End("gone");
  EXPECT_FALSE(first.open);
  loop.Advance(milliseconds(99));
  EXPECT_EQ(transport.watches.size(), 1u);
  loop.Advance(milliseconds(1));
  ASSERT_EQ(transport.watches.size(), 2u);
  EXPECT_EQ(Watch().avoid, "e0");
  first.handler.response(Events(11, {{1, 11}}));
  loop.Run();
  EXPECT_TRUE(delivered.empty());
  End("gone");
  loop.Advance(milliseconds(199));
  EXPECT_EQ(transport.watches.size(), 2u);
  loop.Advance(milliseconds(1));
  ASSERT_EQ(transport.watches.size(), 3u);
  EXPECT_EQ(Watch().avoid, "e1");
  Tell(Created());
  Tell(Events(11, {{1, 11}}));
  End("gone");
  loop.Advance(milliseconds(100));
  EXPECT_EQ(transport.watches.size(), 4u);
  EXPECT_EQ(cursor->counts().reopened, 3u);
  EXPECT_EQ(trouble.size(), 3u);
}

// Plan: with a rejected token a watch is created, then cancelled: the pause must grow.
TEST_F(WatchCursorTest, KeepsBackingOffWhileWatchesAreCreatedAndCancelled) {
  Begin();
  WatchResponse cancelled = Message(10);
  cancelled.set_canceled(true);
  cancelled.set_cancel_reason("permission denied");
  Tell(cancelled);
  loop.Advance(milliseconds(100));
  Tell(Created());
  Tell(cancelled);
  loop.Advance(milliseconds(199));
  EXPECT_EQ(transport.watches.size(), 2u);
  loop.Advance(milliseconds(1));
  EXPECT_EQ(transport.watches.size(), 3u);
  EXPECT_EQ(cursor->counts().resyncs, 0u);
}

// A frozen member accepts the connection and is silent.
TEST_F(WatchCursorTest, LeavesAnEndpointThatDoesNotAnswer) {
  cursor->Start();
  AnswerPage(Page(10, {}));
  loop.Advance(milliseconds(5'000));
  loop.Advance(milliseconds(100));
  ASSERT_EQ(transport.watches.size(), 2u);
  EXPECT_EQ(Watch().avoid, "e0");
  Tell(Created());
  loop.Advance(milliseconds(10'000));
  EXPECT_EQ(transport.watches.size(), 2u) << "a quiet watch is not a broken one";
}

// Plan: the cursor's revision was compacted: a new snapshot is delivered, and the watch goes on
// after it.
TEST_F(WatchCursorTest, ReadsEverythingAgainAfterACompaction) {
  Begin();
  Tell(Compacted(40));
  EXPECT_FALSE(Watch().open);
  AnswerPage(Page(50, {{1, 45}}));
  EXPECT_EQ(delivered, Lines{"snapshot 50: 1@45"});
  EXPECT_EQ(cursor->counts().resyncs, 1u);
  ASSERT_EQ(transport.watches.size(), 2u);
  EXPECT_EQ(Watch().request.start_revision(), 51);
}

// Plan: the watch is opened elsewhere, because its endpoint stands still, and its revision was
// compacted. The read and the next watch also avoid the endpoint that stood still.
TEST_F(WatchCursorTest, ReadsEverythingElsewhereThanWhereTheWatchStoodStill) {
  Begin();
  cursor->Reopen();
  ASSERT_EQ(Watch().avoid, "e0");
  Tell(Compacted(40));
  ASSERT_EQ(transport.ranges.size(), 1u);
  EXPECT_EQ(transport.ranges[0].avoid, "e0");
  AnswerPage(Page(50, {{1, 45}}));
  EXPECT_EQ(Watch().avoid, "e0");
}

// Plan: page 2's revision is compacted during the read. The read starts again at a new revision,
// and nothing of the first attempt is delivered. A page without an answer is read again at the same
// revision.
TEST_F(WatchCursorTest, StartsAPagedReadAgainWhenItsRevisionWasCompacted) {
  cursor->Start();
  AnswerPage(Page(10, {{1, 5}, {2, 6}}, true));
  transport.TakeRange().Fail(testing::Unknown());
  loop.Run();
  loop.Advance(milliseconds(100));
  ASSERT_EQ(transport.ranges.size(), 1u);
  EXPECT_EQ(transport.ranges[0].request.revision(), 10);
  EXPECT_EQ(transport.ranges[0].request.key(), kKeys.ShardKey(ShardId{2}) + '\0');
  transport.TakeRange().Fail(testing::RefusedBecause("required revision has been compacted"));
  loop.Run();
  loop.Advance(milliseconds(200));
  ASSERT_EQ(transport.ranges.size(), 1u);
  EXPECT_EQ(transport.ranges[0].request.revision(), 0);
  EXPECT_EQ(transport.ranges[0].request.key(), kKeys.begin());
  AnswerPage(Page(20, {{3, 15}}));
  EXPECT_EQ(delivered, Lines{"snapshot 20: 3@15"});
  EXPECT_EQ(cursor->counts().failed_reads, 2u);
}

TEST_F(WatchCursorTest, ReopensAWatchThatStandsStillOnAnotherEndpointAtOnce) {
  Begin();
  Tell(Events(11, {{1, 11}}));
  cursor->RequestProgress(Revision{12});
  EXPECT_EQ(Watch().progress_requests, 1);
  cursor->Reopen();
  ASSERT_EQ(transport.watches.size(), 2u);
  EXPECT_FALSE(transport.watches[0]->open);
  EXPECT_EQ(Watch().avoid, "e0");
  EXPECT_EQ(Watch().request.start_revision(), 12);
}

// Plan: an audit reads at 20 while the watch is at 10. Then the watch delivers 11 as usual, because
// the snapshot does not move the cursor.
TEST_F(WatchCursorTest, AuditsBesideTheWatch) {
  Begin();
  cursor->Audit();
  cursor->Audit();
  EXPECT_EQ(transport.ranges.size(), 1u) << "one at a time";
  AnswerPage(Page(20, {{1, 18}}));
  EXPECT_EQ(cursor->applied(), Revision{10});
  Tell(Events(20, {{1, 11}}));
  EXPECT_EQ(delivered, (Lines{"snapshot 20: 1@18", "changes 11: 1@11"}));
  EXPECT_EQ(transport.watches.size(), 1u);
}

// Plan: the watch delivers 11 before the audit's answer of 10 arrives. That is no trouble: the
// audit reads again.
TEST_F(WatchCursorTest, AuditsAgainQuietlyIfTheWatchWasFaster) {
  Begin();
  cursor->Audit();
  Tell(Events(11, {{1, 11}}));
  AnswerPage(Page(10, {}));
  EXPECT_EQ(delivered, Lines{"changes 11: 1@11"});
  loop.Advance(milliseconds(10'000));
  ASSERT_EQ(transport.ranges.size(), 1u);
  AnswerPage(Page(11, {{1, 11}}));
  EXPECT_EQ(delivered, (Lines{"changes 11: 1@11", "snapshot 11: 1@11"}));
  EXPECT_TRUE(trouble.empty());
}

// Plan: an audit is in flight when the watch's revision is compacted: the resync replaces it, and
// the audit's late answer is ignored.
TEST_F(WatchCursorTest, LetsAnAuditGiveWayToAResync) {
  Begin();
  cursor->Audit();
  Tell(Compacted(40));
  ASSERT_EQ(transport.ranges.size(), 2u);
  AnswerPage(Page(45, {{1, 18}}));
  EXPECT_TRUE(delivered.empty());
  AnswerPage(Page(50, {{1, 48}}));
  EXPECT_EQ(delivered, Lines{"snapshot 50: 1@48"});
  EXPECT_EQ(Watch().request.start_revision(), 51);
}

TEST_F(WatchCursorTest, CountsStraysAndDeliversTheRevisionTheyCameWith) {
  Begin();
  WatchResponse message = Events(11, {{1, 11}});
  message.mutable_events(0)->mutable_kv()->set_key(kKeys.begin() + "shards/01");
  Tell(message);
  EXPECT_EQ(delivered, Lines{"changes 11:"});
  EXPECT_EQ(cursor->counts().strays, 1u);
}

// Plan: the watch is opened at another etcd, whose revisions are higher. All that it says ends it,
// and moves nothing. The first message makes the cursor read everything, and the last one again, as
// that comes long after; those between do not.
TEST_F(WatchCursorTest, WhatAnotherClusterSaysProvesNothing) {
  Begin();
  cursor->RequestProgress(Revision{20});
  const std::vector<WatchResponse> others = {Created(), Message(50), Answer(50), Compacted(40),
                                             Events(50, {{1, 50}})};
  for (std::size_t i = 0; i < others.size(); ++i) {
    if (i + 1 == others.size()) {
      Tell(Created());
      loop.Advance(std::chrono::seconds(10));
    }
    WatchResponse other = others[i];
    other.mutable_header()->set_cluster_id(8);
    Tell(other);
    EXPECT_FALSE(Watch().open) << i;
    EXPECT_EQ(transport.ranges.size(), i == 0 || i + 1 == others.size() ? 1u : 0u) << i;
    while (!transport.ranges.empty()) AnswerPage(Page(10, {}));
    loop.Advance(milliseconds(2'000));
    ASSERT_EQ(transport.watches.size(), i + 2);
    EXPECT_EQ(Watch().avoid, transport.watches[i]->endpoint);
  }
  EXPECT_EQ(Watch().request.start_revision(), 11);
  EXPECT_EQ(delivered, (Lines{"snapshot 10:", "snapshot 10:"}));
  EXPECT_TRUE(proven.empty());
  Tell(Events(11, {{1, 11}}));
  EXPECT_EQ(cursor->applied(), Revision{11});
}

// Plan: another etcd answers for the second page, which would lack the group's keys.
TEST_F(WatchCursorTest, ASnapshotIsOfOneCluster) {
  cursor->Start();
  AnswerPage(Page(10, {{1, 5}, {2, 6}}, true));
  RangeResponse other = Page(10, {});
  other.mutable_header()->set_cluster_id(8);
  AnswerPage(std::move(other));
  loop.Advance(milliseconds(100));
  AnswerPage(Page(10, {{1, 5}, {2, 6}}, true));
  AnswerPage(Page(10, {{3, 7}}));
  EXPECT_EQ(delivered, Lines{"snapshot 10: 1@5 2@6 3@7"});
}

// Plan: the loop stands still while three messages come, of which two may wait. The third is
// dropped, and so are all after it on that stream; etcd sends them again on the next.
TEST_F(WatchCursorTest, GivesUpAStreamThatIsFasterThanTheLoopAndMissesNothing) {
  Begin();
  const WatchHandler handler = Watch().handler;
  for (std::int64_t revision = 11; revision <= 14; ++revision) {
    handler.response(Events(revision, {{1, revision}}));
  }
  loop.Run();
  EXPECT_EQ(delivered, (Lines{"changes 11: 1@11", "changes 12: 1@12"}));
  EXPECT_EQ(cursor->counts().overflows, 1u);
  ASSERT_EQ(transport.watches.size(), 2u);
  EXPECT_EQ(Watch().request.start_revision(), 13);
}

// Plan: a page, a message and a timer are pending when the cursor is destroyed.
TEST_F(WatchCursorTest, DoesNothingOnceDestroyed) {
  Begin();
  cursor->Audit();
  const FakeRange page = transport.TakeRange();
  const WatchHandler handler = Watch().handler;
  handler.response(Events(11, {{1, 11}}));
  page.Answer(Page(20, {}));
  End("gone");
  delivered.clear();
  handler.response(Events(12, {{1, 12}}));
  cursor.reset();
  handler.response(Events(13, {{1, 13}}));
  loop.Run();
  loop.Advance(milliseconds(10'000));
  EXPECT_TRUE(delivered.empty());
  EXPECT_EQ(transport.watches.size(), 1u);
}

// Plan: the handler destroys the cursor that calls it.
TEST_F(WatchCursorTest, MayBeDestroyedByItsHandler) {
  cursor = std::make_unique<WatchCursor>(
      transport, kKeys, loop.executor(), WatchCursorOptions{},
      WatchCursorHandler{.snapshot = [this](const Snapshot&, std::uint64_t) { cursor.reset(); },
                         .changes = {},
                         .delivered = {},
                         .trouble = {}});
  cursor->Start();
  AnswerPage(Page(10, {}));
  EXPECT_EQ(cursor, nullptr);
  EXPECT_FALSE(Watch().open);
}

}  // namespace
}  // namespace baton::etcd
