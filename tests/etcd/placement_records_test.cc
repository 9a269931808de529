// Labels and ready shards in a member's record, and placement rules in a config: nothing is lost,
// and what nobody could use is left out or marked.
#include <gtest/gtest.h>

#include <limits>
#include <string>
#include <vector>

#include "base/facts.h"
#include "base/limits.h"
#include "baton/v1/records.pb.h"
#include "etcd/records.h"

namespace baton::etcd {
namespace {

namespace pb = ::baton::v1;

MemberFact LabelledMember() {
  MemberFact member;
  member.node = "n1";
  member.session = SessionId{77};
  member.ttl = std::chrono::seconds(10);
  member.zone = "a";
  member.labels = {{"disk", "ssd"}, {"example.org/rack", "r7"}};
  return member;
}

ConfigFact RuledConfig() {
  ConfigFact config;
  config.shards = 12;
  config.schema = kPlacementSchema;
  config.failover = {.policy = FailoverPolicy::kNever, .lock_delay = std::chrono::seconds(5)};
  config.placement = {{.shards = {{.first = 0, .last = 3}, {.first = 7, .last = 7}},
                       .require = {{"zone", {"a", "b"}}, {"disk", {"ssd"}}},
                       .prefer = {{{"zone", {"b"}}}, {{"node", {"n1", "n2"}}, {"zone", {"a"}}}}},
                      {.shards = {}, .require = {}, .prefer = {{{"disk", {"hdd"}}}}},
                      {.shards = {}, .require = {}, .prefer = {}, .standbys = 2, .spread = "zone"},
                      {}};
  config.actor = "ann@desk";
  config.before_settings = Revision{40};
  return config;
}

/// The member as it reads after `change` has changed its record.
template <typename Change>
MemberFact ReadAfter(Change change) {
  pb::MemberRecord record;
  EXPECT_TRUE(record.ParseFromString(EncodeMember(LabelledMember())));
  change(record);
  const MemberFact read = DecodeMember(record.SerializeAsString(), "n1");
  EXPECT_EQ(read.readability, Readability::kReadable);
  EXPECT_EQ(read.zone, "a") << "the rest counts";
  EXPECT_EQ(read.unknown_fields, "");
  return read;
}

TEST(LabelRecords, ComeBackAsTheyWereWritten) {
  MemberFact member = LabelledMember();
  const MemberFact read = DecodeMember(EncodeMember(member), "n1");
  EXPECT_EQ(read.labels, member.labels);
  EXPECT_FALSE(read.unusable_text);
  EXPECT_EQ(EncodeMember(read), EncodeMember(member));

  for (std::size_t i = 0; member.labels.size() < kMaxLabels; ++i) {
    member.labels[std::to_string(i)] = std::string(128, 'v');
  }
  EXPECT_EQ(DecodeMember(EncodeMember(member), "n1").labels, member.labels);
  member.labels.clear();
  EXPECT_EQ(DecodeMember(EncodeMember(member), "n1").labels, Labels{});
}

// Plan: the names in etcd, which other versions and tools read.
TEST(LabelRecords, AreTextsInTheOrderOfTheirNames) {
  pb::MemberRecord record;
  ASSERT_TRUE(record.ParseFromString(EncodeMember(LabelledMember())));
  ASSERT_EQ(record.labels_size(), 2);
  EXPECT_EQ(record.labels(0), "disk=ssd");
  EXPECT_EQ(record.labels(1), "example.org/rack=r7");
  EXPECT_EQ(record.labels_session(), 77);
}

// Plan: a version that does not know the fields begins a session of its own, and keeps them.
TEST(LabelRecords, CountForTheirOwnSessionOnly) {
  const MemberFact read = ReadAfter([](pb::MemberRecord& record) { record.set_session(78); });
  EXPECT_EQ(read.session, SessionId{78});
  EXPECT_EQ(read.labels, Labels{});
  EXPECT_FALSE(read.unusable_text) << "nothing is wrong";
}

// Plan: each text that is no label of a node, among two that are.
TEST(LabelRecords, ThatCantBeUsedAreLeftOut) {
  for (const std::string& bad :
       {std::string(), std::string("="), std::string("gpu"), std::string("gpu="),
        std::string("=yes"), std::string("Gpu=yes"), std::string("gpu=a b"), std::string("gpu=a=b"),
        std::string("gpu=") + std::string(129, 'v'), std::string(64, 'g') + "=yes",
        std::string("zone=b"), std::string("node=n2"), std::string("gpu=caf\xc3\xa9"),
        std::string("gpu=\x1b[2J")}) {
    const MemberFact read = ReadAfter([&](pb::MemberRecord& record) {
      record.add_labels(bad);
      record.mutable_labels()->SwapElements(1, 2);
    });
    EXPECT_TRUE(read.unusable_text) << bad;
    EXPECT_EQ(read.labels, LabelledMember().labels) << bad;
  }
}

// Plan: a name with a second value, once with the same.
TEST(LabelRecords, OfOneNameAreOneLabel) {
  for (const char* again : {"disk=hdd", "disk=ssd"}) {
    const MemberFact read = ReadAfter([&](pb::MemberRecord& record) { record.add_labels(again); });
    EXPECT_TRUE(read.unusable_text) << again;
    EXPECT_EQ(read.labels, LabelledMember().labels) << again;
  }
}

// Plan: two more labels than a node may have, then one that could not be used anyway.
TEST(LabelRecords, AreAtMostAsManyAsANodeMayHave) {
  const MemberFact read = ReadAfter([](pb::MemberRecord& record) {
    record.clear_labels();
    for (std::size_t i = 100; i < 102 + kMaxLabels; ++i) {
      record.add_labels("l" + std::to_string(i) + "=v");
    }
    record.add_labels("gpu");
  });
  EXPECT_TRUE(read.unusable_text);
  EXPECT_EQ(read.labels.size(), kMaxLabels);
  EXPECT_EQ(read.labels.begin()->first, "l100");
  EXPECT_EQ(read.labels.rbegin()->first, "l131");
}

MemberFact ReadyMember(const std::vector<std::uint32_t>& shards) {
  MemberFact member = LabelledMember();
  for (const std::uint32_t shard : shards) member.ready.push_back(ShardId{shard});
  return member;
}

TEST(ReadyRecords, ComeBackAsTheyWereWritten) {
  for (const std::vector<std::uint32_t>& shards :
       {std::vector<std::uint32_t>{}, {0}, {7}, {0, 1, 5}, {3, 4, kMaxShards - 1}}) {
    const MemberFact member = ReadyMember(shards);
    const MemberFact read = DecodeMember(EncodeMember(member), "n1");
    EXPECT_EQ(read.readability, Readability::kReadable);
    EXPECT_EQ(read.ready, member.ready);
    EXPECT_FALSE(read.unusable_text);
    EXPECT_EQ(EncodeMember(read), EncodeMember(member));
  }
}

// Plan: the form in etcd, which other versions and tools read.
TEST(ReadyRecords, AreTheFirstNumberAndDifferences) {
  pb::MemberRecord record;
  ASSERT_TRUE(record.ParseFromString(EncodeMember(ReadyMember({0, 1, 5, 900}))));
  EXPECT_EQ(std::vector(record.ready_gaps().begin(), record.ready_gaps().end()),
            (std::vector<std::uint32_t>{0, 1, 4, 895}));
  EXPECT_EQ(record.ready_session(), 77);
  ASSERT_TRUE(record.ParseFromString(EncodeMember(LabelledMember())));
  EXPECT_EQ(record.ready_session(), 0) << "no list, no session";
}

// Plan: a version that does not know the fields begins a session of its own, and keeps them.
TEST(ReadyRecords, CountForTheirOwnSessionOnly) {
  pb::MemberRecord record;
  ASSERT_TRUE(record.ParseFromString(EncodeMember(ReadyMember({1, 2}))));
  record.set_session(78);
  const MemberFact read = DecodeMember(record.SerializeAsString(), "n1");
  EXPECT_EQ(read.readability, Readability::kReadable);
  EXPECT_TRUE(read.ready.empty());
  EXPECT_FALSE(read.unusable_text) << "nothing is wrong";
}

// Plan: each list that no version writes. The member takes part as before, and is ready for
// nothing.
TEST(ReadyRecords, ThatCantBeUsedCountAsEmpty) {
  const std::uint32_t greatest = std::numeric_limits<std::uint32_t>::max();
  const std::vector<std::vector<std::uint32_t>> lists = {
      {5, 0},
      {0, 0},
      {kMaxShards},
      {1, kMaxShards - 1},
      {1, greatest},
      {5, greatest, 1},
      std::vector<std::uint32_t>(kMaxReadyReported + 1, 1)};
  for (const std::vector<std::uint32_t>& gaps : lists) {
    SCOPED_TRACE("gaps of which the last is " + std::to_string(gaps.back()));
    const MemberFact read = ReadAfter([&](pb::MemberRecord& record) {
      record.mutable_ready_gaps()->Assign(gaps.begin(), gaps.end());
      record.set_ready_session(record.session());
    });
    EXPECT_TRUE(read.unusable_text);
    EXPECT_TRUE(read.ready.empty());
    EXPECT_EQ(read.labels, LabelledMember().labels);
  }
}

TEST(ReadyRecords, HaveABound) {
  std::vector<std::uint32_t> shards;
  for (std::uint32_t s = 0; s <= kMaxReadyReported; ++s) shards.push_back(2 * s);
  const MemberFact member = ReadyMember(shards);
  const MemberFact read = DecodeMember(EncodeMember(member), "n1");
  ASSERT_EQ(read.ready.size(), kMaxReadyReported);
  EXPECT_FALSE(read.unusable_text);
  EXPECT_EQ(read.ready.back(), ShardId{shards[kMaxReadyReported - 1]});
}

TEST(PlacementRecords, ComeBackAsTheyWereWritten) {
  const ConfigFact config = RuledConfig();
  const ConfigFact read = DecodeConfig(EncodeConfig(config));
  EXPECT_EQ(read.readability, Readability::kReadable);
  EXPECT_EQ(read.schema, kPlacementSchema);
  EXPECT_EQ(read.placement, config.placement);
  EXPECT_EQ(read.failover, config.failover);
  EXPECT_EQ(read.actor, "ann@desk");
  EXPECT_EQ(read.Incarnation(), Revision{40});
  EXPECT_EQ(read.unknown_fields, "");
  EXPECT_EQ(EncodeConfig(read), EncodeConfig(config));
}

TEST(PlacementRecords, OfNoRulesAreAGroupWithoutRules) {
  ConfigFact config = RuledConfig();
  config.placement.clear();
  const ConfigFact read = DecodeConfig(EncodeConfig(config));
  EXPECT_EQ(read.readability, Readability::kReadable);
  EXPECT_EQ(read.schema, kPlacementSchema);
  EXPECT_EQ(read.placement, Placement{});
}

// Plan: rules, and then rules that nobody could keep to, in configs of the schemas before, where
// versions that do not know the field have kept it. Nor are rules written there.
TEST(PlacementRecords, CountFromTheirSchemaOn) {
  pb::ConfigRecord older;
  ASSERT_TRUE(older.ParseFromString(EncodeConfig(RuledConfig())));
  for (const std::uint32_t schema : {kFailoverSchema, kSchema}) {
    older.set_schema(schema);
    ConfigFact read = DecodeConfig(older.SerializeAsString());
    EXPECT_EQ(read.readability, Readability::kReadable);
    EXPECT_EQ(read.schema, schema);
    EXPECT_EQ(read.placement, Placement{});
    EXPECT_EQ(read.failover,
              schema == kFailoverSchema ? RuledConfig().failover : FailoverSettings{});
    read.placement = RuledConfig().placement;
    pb::ConfigRecord written;
    ASSERT_TRUE(written.ParseFromString(EncodeConfig(read)));
    EXPECT_EQ(written.placement_size(), 0);
  }
  older.mutable_placement(0)->mutable_shards(0)->set_first(5);
  EXPECT_EQ(DecodeConfig(older.SerializeAsString()).readability, Readability::kReadable);
}

// Plan: one fault in each part of a rule, and one of the rules as a whole. What is allowed where is
// tested with CheckPlacement.
TEST(PlacementRecords, ThatNobodyCanKeepToAreDamaged) {
  pb::ConfigRecord good;
  ASSERT_TRUE(good.ParseFromString(EncodeConfig(RuledConfig())));
  const auto read = [&](const auto& spoil) {
    pb::ConfigRecord record = good;
    spoil(record);
    const ConfigFact fact = DecodeConfig(record.SerializeAsString());
    EXPECT_EQ(fact.schema, kPlacementSchema);
    if (fact.readability != Readability::kReadable) {
      EXPECT_EQ(fact.shards, 0u) << "nothing of it is used";
      EXPECT_EQ(fact.placement, Placement{});
    }
    return fact.readability;
  };
  EXPECT_EQ(read([](auto&) {}), Readability::kReadable);
  EXPECT_EQ(
      read([](auto& record) { record.mutable_placement(0)->mutable_shards(0)->set_first(5); }),
      Readability::kDamaged);
  EXPECT_EQ(read([](auto& record) {
              record.mutable_placement(0)->mutable_require()->mutable_terms(0)->set_label("Zone");
            }),
            Readability::kDamaged);
  EXPECT_EQ(read([](auto& record) {
              record.mutable_placement(0)->mutable_require()->mutable_terms(0)->clear_values();
            }),
            Readability::kDamaged);
  EXPECT_EQ(read([](auto& record) { record.mutable_placement(1)->add_prefer(); }),
            Readability::kDamaged);
  EXPECT_EQ(read([](auto& record) { record.mutable_placement(1)->set_standbys(9); }),
            Readability::kDamaged);
  EXPECT_EQ(read([](auto& record) { record.mutable_placement(1)->set_spread("zone"); }),
            Readability::kDamaged);
  EXPECT_EQ(read([](auto& record) {
              while (record.placement_size() <= static_cast<int>(kMaxPlacementRules)) {
                record.add_placement();
              }
            }),
            Readability::kDamaged);
}

}  // namespace
}  // namespace baton::etcd
