// A record into which somebody writes far too much: names, words, and bytes that this
// version does not understand.
#include "etcd/stored_text.h"

#include <string>

#include <gtest/gtest.h>

#include "base/escape.h"
#include "base/text_rules.h"
#include "baton/v1/records.pb.h"
#include "etcd/records.h"

namespace baton::etcd {
namespace {

namespace pb = ::baton::v1;

constexpr ShardId kShard{3};
const std::string kFat(1'400'000, 'x');

// Field 100 of a later version, with this many bytes in all.
std::string LaterField(std::size_t bytes) {
  std::string field = "\xa2\x06";
  for (std::size_t length = bytes - 4;; length >>= 7) {
    field += static_cast<char>(length > 127 ? (length & 127) | 128 : length);
    if (length <= 127) break;
  }
  return field + std::string(bytes - 4, 'l');
}

RecordFact Led() {
  RecordFact record;
  record.leader = "n1";
  record.session = SessionId{77};
  record.previous = "n2";
  record.reason = Reason::kOperator;
  return record;
}

RecordFact Resigned() {
  RecordFact record;
  record.session = SessionId{77};
  record.resigned_by = record.previous = "n1";
  return record;
}

MoveFact Move() {
  return {.shard = kShard,
          .ends = Term{9},
          .from = "n1",
          .to = "n2",
          .actor = "ops",
          .phase = MovePhase::kVoid,
          .void_reason = "prepare failed on n2"};
}

RecordFact Read(const RecordFact& record) {
  return DecodeRecord(EncodeRecord(record, kShard), kShard);
}

// Plan: each name in a record of a leader and of a resignation, as no node can be called: too long,
// with a slash, with a space, or far too long.
TEST(StoredText, ARecordWithANameThatNoNodeCanHaveIsDamaged) {
  const RecordFact sound = Read(Led());
  ASSERT_EQ(sound.readability, Readability::kReadable);
  ASSERT_EQ(Read(Resigned()).readability, Readability::kReadable);
  for (const std::string& name : {std::string(129, 'x'), std::string("a/b"), std::string("a b"),
                                  std::string(".."), std::string("n1\n"), kFat}) {
    RecordFact record = Led();
    record.leader = name;
    EXPECT_EQ(Read(record).readability, Readability::kDamaged);
    record = Led();
    record.previous = name;
    EXPECT_EQ(Read(record).readability, Readability::kDamaged);
    record = Resigned();
    record.resigned_by = name;
    EXPECT_EQ(Read(record).readability, Readability::kDamaged);
    RecordFact released{.session = SessionId{77}, .previous = name, .reason = Reason::kOperator};
    EXPECT_EQ(Read(released).readability, Readability::kDamaged);
    for (NodeId MoveFact::*end : {&MoveFact::from, &MoveFact::to}) {
      MoveFact move = Move();
      move.*end = name;
      EXPECT_EQ(DecodeMove(EncodeMove(move), kShard).readability, Readability::kDamaged);
    }
  }
  RecordFact longest = Led();
  longest.leader = longest.previous = std::string(128, 'x');
  EXPECT_EQ(Read(longest).leader, longest.leader);
}

// Plan: the longest field that is kept, and one that is a byte longer, in each kind of record that
// keeps what it does not know.
TEST(StoredText, UnknownFieldsAreKeptUpToABound) {
  const auto kept = [](const std::string& later) {
    const std::string read[] = {
        DecodeRecord(EncodeRecord(Led(), kShard) + later, kShard).unknown_fields,
        DecodeRecord(EncodeRecord(Led(), std::nullopt) + later, std::nullopt).unknown_fields,
        DecodeMove(EncodeMove(Move()) + later, kShard).unknown_fields,
        DecodeMember(
            EncodeMember({.node = "n1", .session = SessionId{77}, .ttl = std::chrono::seconds(9)}) +
                later,
            "n1")
            .unknown_fields,
        DecodeConfig(EncodeConfig({.shards = 12}) + later).unknown_fields,
        DecodePolicy(EncodePolicy({.max_moves = 7}) + later, {PolicyKind::kLimits}).unknown_fields};
    for (const std::string& fields : read) EXPECT_EQ(fields, read[0]);
    return read[0];
  };
  EXPECT_EQ(kMaxStoredText, 4096u);
  EXPECT_EQ(kept(LaterField(kMaxStoredText)), LaterField(kMaxStoredText));
  EXPECT_EQ(kept(LaterField(kMaxStoredText + 1)), "");
  EXPECT_EQ(kept(LaterField(3000) + LaterField(3000)), "") << "all of them or nothing";
  const RecordFact fat = DecodeRecord(EncodeRecord(Led(), kShard) + LaterField(1'400'000), kShard);
  EXPECT_EQ(fat.readability, Readability::kReadable) << "the rest counts";
  EXPECT_EQ(fat.leader, "n1");
}

// Plan: garbage, a record with a long name, and one of a newer schema.
TEST(StoredText, OfAnUnreadableRecordTheFirstBytesAreKept) {
  const std::string garbage = "\xff\xff" + kFat;
  EXPECT_EQ(DecodeRecord(garbage, kShard).damaged_value, garbage.substr(0, kMaxStoredText));
  RecordFact record = Led();
  record.leader = kFat;
  const std::string stored = EncodeRecord(record, kShard);
  EXPECT_EQ(DecodeRecord(stored, kShard).damaged_value, stored.substr(0, kMaxStoredText));
  pb::LeadershipRecord newer;
  newer.set_schema(kSchema + 1);
  newer.set_actor(kFat);
  const RecordFact left = DecodeRecord(newer.SerializeAsString(), kShard);
  EXPECT_EQ(left.readability, Readability::kNewerSchema);
  EXPECT_EQ(left.damaged_value.size(), kMaxStoredText);
}

// Plan: words as nodes write them, then 1.4 MB of them, and words that steer a terminal, in each
// kind of record.
TEST(StoredText, WordsAreOneLineWithABound) {
  const auto words = [](const std::string& text) {
    RecordFact record = Led();
    record.actor = text;
    MoveFact move = Move();
    move.actor = move.void_reason = text;
    const MoveFact moved = DecodeMove(EncodeMove(move), kShard);
    const PolicyFact policy =
        DecodePolicy(EncodePolicy({.actor = text, .change = text}), {PolicyKind::kChanged});
    const ConfigFact config =
        DecodeConfig(EncodeConfig({.shards = 12, .schema = kConfigSchema, .actor = text}));
    const std::string read[] = {Read(record).actor, moved.actor,   moved.void_reason,
                                policy.actor,       policy.change, config.actor};
    for (const std::string& each : read) EXPECT_EQ(each, read[0]);
    return read[0];
  };
  EXPECT_EQ(words(""), "");
  EXPECT_EQ(words("ann \"the caf\xc3\xa9\" \\o/"), "ann \"the caf\xc3\xa9\" \\o/");
  EXPECT_EQ(words(kFat), std::string(kLongestWords - 3, 'x') + "...");
  EXPECT_EQ(words("a\nb\x1b[2J"), "a\\nb\\u001b[2J");
}

// Plan: texts with characters of one to four bytes around the bound. What was cut once is not cut
// or escaped again: a record reads as it was written.
TEST(StoredText, WordsThatWereCutStayAsTheyAre) {
  for (const std::string& character :
       {std::string("x"), std::string("\xc3\xa9"), std::string("\xe2\x82\xac"),
        std::string("\xf0\x9f\x98\x80"), std::string("\n"), std::string("\xff")}) {
    for (std::size_t before = kLongestWords - 12; before <= kLongestWords + 1; ++before) {
      std::string text(before, 'x');
      for (int i = 0; i < 4; ++i) text += character;
      const std::string once = KeptWords(text);
      EXPECT_LE(once.size(), kLongestWords);
      EXPECT_EQ(KeptWords(once), once);
      EXPECT_EQ(OneLine(once, kLongestLine), once) << "one line of UTF-8";
    }
  }
}

// Plan: all items of the largest transaction as large as a record can make them.
TEST(StoredText, AWholeTransactionFitsBesideAllThatIsKept) {
  RecordFact record = Led();
  record.leader = record.previous = std::string(kLongestName, 'x');
  record.actor = std::string(kLongestWords, 'x');
  record.cause = {.kind = CauseKind::kReadyStandby,
                  .rule = 64,
                  .detail = std::string(kLongestCauseDetail, 'x')};
  record.unknown_fields = LaterField(kMaxStoredText);
  const std::size_t most = EncodeRecord(Read(record), kShard).size();
  EXPECT_GT(most, kMaxStoredText + kLongestName);
  EXPECT_LT(most * kMaxTxnOperations, 1'000'000u) << "etcd takes 1.5 MiB";
}

}  // namespace
}  // namespace baton::etcd
