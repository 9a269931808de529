// The causes of leaderships and moves in their records: they are read back as written, count for
// one leadership alone, and hostile text gets nowhere.
#include <gtest/gtest.h>

#include <string>

#include "baton/v1/records.pb.h"
#include "etcd/guarded_write.h"
#include "etcd/records.h"

namespace baton::etcd {
namespace {

namespace pb = ::baton::v1;

const Cause kSomeCause{.kind = CauseKind::kReadyStandby, .rule = 2, .detail = "zone=b"};

RecordFact LedFor(const Cause& cause) {
  RecordFact record;
  record.leader = "n1";
  record.session = SessionId{77};
  record.cause = cause;
  return record;
}

MoveFact MovedFor(const Cause& cause) {
  MoveFact move;
  move.shard = ShardId{3};
  move.ends = Term{9};
  move.from = "n1";
  move.to = "n2";
  move.cause = cause;
  return move;
}

pb::LeadershipRecord StoredRecord(const Cause& cause) {
  pb::LeadershipRecord stored;
  EXPECT_TRUE(stored.ParseFromString(EncodeRecord(LedFor(cause), ShardId{3})));
  return stored;
}

Cause ReadBack(const pb::LeadershipRecord& stored) {
  const RecordFact record = DecodeRecord(stored.SerializeAsString(), ShardId{3});
  EXPECT_EQ(record.readability, Readability::kReadable);
  return record.cause;
}

TEST(CauseRecords, EveryKindIsReadBack) {
  for (int i = 0; i < kCauseCount; ++i) {
    const Cause cause{.kind = static_cast<CauseKind>(i), .rule = 5, .detail = "zone=b"};
    if (cause.kind == CauseKind::kUnknown) continue;
    EXPECT_EQ(DecodeRecord(EncodeRecord(LedFor(cause), ShardId{3}), ShardId{3}).cause, cause) << i;
    EXPECT_EQ(DecodeMove(EncodeMove(MovedFor(cause)), ShardId{3}).cause, cause) << i;
  }
}

// Plan: a record without a cause has the same bytes as those of a version without causes.
TEST(CauseRecords, AnUnknownCauseIsNotWritten) {
  const pb::LeadershipRecord record = StoredRecord({});
  EXPECT_EQ(record.cause_session(), 0);
  EXPECT_EQ(ReadBack(record), Cause{});
  EXPECT_EQ(DecodeMove(EncodeMove(MovedFor({})), ShardId{3}).cause, Cause{});
}

// Plan: an older version claims the shard and keeps the fields that it does not know. Or it
// resigns.
TEST(CauseRecords, ACauseCountsForItsSessionAlone) {
  pb::LeadershipRecord stored = StoredRecord(kSomeCause);
  EXPECT_EQ(ReadBack(stored), kSomeCause);
  stored.set_session(78);
  EXPECT_EQ(ReadBack(stored), Cause{});
  stored.set_session(77);
  stored.clear_leader();
  stored.set_resigned_by("n1");
  EXPECT_EQ(ReadBack(stored), Cause{});
}

TEST(CauseRecords, NobodyLeadsForNoCause) {
  RecordFact resigned = LedFor(kSomeCause);
  resigned.leader.clear();
  resigned.resigned_by = "n1";
  EXPECT_EQ(DecodeRecord(EncodeRecord(resigned, ShardId{3}), ShardId{3}).cause, Cause{});
}

TEST(CauseRecords, AKindOfALaterVersionIsNotKnown) {
  pb::LeadershipRecord stored = StoredRecord(kSomeCause);
  for (const int kind : {kCauseCount, 1'000'000, -1}) {
    stored.set_cause(static_cast<pb::RecordCause>(kind));
    EXPECT_EQ(ReadBack(stored), Cause{}) << kind;
  }
}

// Plan: everybody who may write to etcd can write any text. The leadership stays readable.
TEST(CauseRecords, ADetailThatNoVersionWritesCountsAsEmpty) {
  pb::LeadershipRecord stored = StoredRecord(kSomeCause);
  for (const std::string& detail :
       {std::string("a\x1b[2J"), std::string("a b"), std::string("zone=\xc3\xa4"),
        std::string(kLongestCauseDetail + 1, 'x'), std::string("a\0b", 3)}) {
    stored.set_cause_detail(detail);
    const Cause cause = ReadBack(stored);
    EXPECT_EQ(cause.kind, CauseKind::kReadyStandby);
    EXPECT_EQ(cause.detail, "");
  }
  stored.set_cause_detail(std::string(kLongestCauseDetail, 'x'));
  EXPECT_EQ(ReadBack(stored).detail.size(), kLongestCauseDetail);
}

// Plan: a claim's cause goes into its record, and a transfer's, too.
TEST(CauseRecords, ClaimsAndTransfersWriteTheirCause) {
  const Keyspace keys(kDefaultPrefix, "orders");
  Claim claim;
  claim.shard = ShardId{3};
  claim.cause = kSomeCause;
  const ClaimBatch claims{
      .guard = {"n1", SessionId{77}, Revision{5}}, .config = std::nullopt, .claims = {claim}};
  const GuardedWrite claimed = MakeGuardedWrite(keys, claims);
  const std::string& value = claimed.items.front().effects.front().value;
  EXPECT_EQ(DecodeRecord(value, ShardId{3}).cause, kSomeCause);
  const Cause drain{.kind = CauseKind::kDrain, .detail = "n1"};
  const Transfer transfer{.shard = ShardId{3},
                          .term = Term{9},
                          .move_read = Revision{10},
                          .to = {"n2", SessionId{88}},
                          .cause = drain};
  const GuardedWrite given = MakeGuardedWrite(keys, TransferBatch{"n1", {transfer}});
  EXPECT_EQ(DecodeRecord(given.items.front().effects.front().value, ShardId{3}).cause, drain);
}

}  // namespace
}  // namespace baton::etcd
