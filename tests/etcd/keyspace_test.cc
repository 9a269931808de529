// Keys: their spelling is API, and only the canonical spelling counts.
#include "etcd/keyspace.h"

#include <map>
#include <string>

#include <gtest/gtest.h>

#include "etcd/records.h"

namespace baton::etcd {
namespace {

const Keyspace kKeys(kDefaultPrefix, "orders");

etcdserverpb::KeyValue Stored(const std::string& name, const std::string& value = "") {
  etcdserverpb::KeyValue stored;
  stored.set_key(kKeys.begin() + name);
  stored.set_value(value);
  stored.set_mod_revision(42);
  stored.set_create_revision(40);
  return stored;
}

TEST(Keyspace, SpellsItsKeysAsDocumented) {
  EXPECT_EQ(kKeys.begin(), "/baton/v1/orders/");
  EXPECT_EQ(kKeys.end(), "/baton/v1/orders0");
  EXPECT_EQ(kKeys.ConfigKey(), "/baton/v1/orders/config");
  EXPECT_EQ(kKeys.MemberKey("n1"), "/baton/v1/orders/members/n1");
  EXPECT_EQ(kKeys.ShardKey(ShardId{7}), "/baton/v1/orders/shards/7");
  EXPECT_EQ(kKeys.RecordKey(std::nullopt), "/baton/v1/orders/balancer");
  EXPECT_EQ(kKeys.MoveKey(ShardId{7}), "/baton/v1/orders/moves/7");
  EXPECT_EQ(kKeys.PolicyKey({PolicyKind::kDrain, "n1"}), "/baton/v1/orders/policy/drain/n1");
  EXPECT_EQ(kKeys.MembersPrefix(), "/baton/v1/orders/members/");
  EXPECT_EQ(kKeys.RipeKey("n1"), "/baton/v1/orders/ripe/n1");
  EXPECT_EQ(kKeys.QuarantineKey(ShardId{7}), "/baton/v1/orders/quarantine/7");
  EXPECT_EQ(kKeys.QuarantineKey(std::nullopt), "/baton/v1/orders/quarantine/balancer");
}

// Plan: policies in the order of their names have the keys that operators know, in the keys' order.
// Each key gives the fact of its policy, present or absent.
TEST(Keyspace, GivesEachPolicyOneKey) {
  const std::map<PolicyName, std::string> texts{
      {{PolicyKind::kChanged}, "changed"},      {{PolicyKind::kDrain, "n1"}, "drain/n1"},
      {{PolicyKind::kDrain, "n2"}, "drain/n2"}, {{PolicyKind::kExpectedNodes}, "expected-nodes"},
      {{PolicyKind::kLimits}, "limits"},        {{PolicyKind::kPause}, "pause"},
      {{PolicyKind::kRebalance}, "rebalance"}};
  std::string last;
  for (const auto& [name, text] : texts) {
    const std::string key = kKeys.PolicyKey(name);
    EXPECT_EQ(key, "/baton/v1/orders/policy/" + text);
    EXPECT_LT(last, key);
    last = key;
    const Decoded present = kKeys.Decode(Stored("policy/" + text));
    ASSERT_TRUE(present.fact.has_value()) << text;
    EXPECT_EQ(std::get<PolicyFact>(*present.fact).name, name) << text;
    const Decoded absent = kKeys.DecodeAbsent(key, Revision{50});
    ASSERT_TRUE(absent.fact.has_value()) << text;
    EXPECT_EQ(std::get<PolicyFact>(*absent.fact).name, name) << text;
  }
}

// Plan: every key of one group sorts inside its own range and outside another group's, even if one
// group's name begins with the other's.
TEST(Keyspace, KeepsGroupsApart) {
  const Keyspace longer(kDefaultPrefix, "orders2");
  EXPECT_FALSE(longer.ConfigKey() >= kKeys.begin() && longer.ConfigKey() < kKeys.end());
  EXPECT_TRUE(kKeys
                  .Decode([&] {
                    etcdserverpb::KeyValue foreign;
                    foreign.set_key(longer.ConfigKey());
                    return foreign;
                  }())
                  .stray);
}

TEST(Keyspace, RefusesPrefixesAndGroupsThatWouldMixKeys) {
  EXPECT_TRUE(Keyspace::Validate("/a", "b").ok());
  EXPECT_FALSE(Keyspace::Validate("", "b").ok());
  EXPECT_FALSE(Keyspace::Validate("a", "b").ok());
  EXPECT_FALSE(Keyspace::Validate("/a/", "b").ok());
  EXPECT_FALSE(Keyspace::Validate("/a", "").ok());
  EXPECT_FALSE(Keyspace::Validate("/a", "b/c").ok());
  EXPECT_FALSE(Keyspace::Validate("/a", std::string(129, 'x')).ok());
}

// Plan: a shard has one key. Other spellings of its number, and unknown keys, are strays without
// facts.
TEST(Keyspace, IgnoresKeysThatAreNotCanonicalAndCountsThemAsStrays) {
  for (const char* name : {"shards/07",
                           "shards/+7",
                           "shards/-7",
                           "shards/ 7",
                           "shards/",
                           "shards/4294967296",
                           "shards/7x",
                           "shards/7/8",
                           "moves/01",
                           "members/",
                           "members/a/b",
                           "members/a b",
                           "policy/unheard",
                           "policy/drain/",
                           "policy/pause/n1",
                           "policy/pauses",
                           "ripe/",
                           "ripe/a/b",
                           "config/x",
                           "balancers",
                           "",
                           "else"}) {
    const Decoded decoded = kKeys.Decode(Stored(name));
    EXPECT_TRUE(decoded.stray) << name;
    EXPECT_FALSE(decoded.fact.has_value()) << name;
  }
  const Decoded last = kKeys.Decode(Stored("shards/4294967295"));
  ASSERT_TRUE(last.fact.has_value());
  EXPECT_EQ(std::get<ShardRecordFact>(*last.fact).shard, ShardId{4294967295u});
}

TEST(Keyspace, KnowsQuarantinedBytesForNeitherFactNorStray) {
  const Decoded decoded = kKeys.Decode(Stored("quarantine/7-99", "bytes"));
  EXPECT_FALSE(decoded.fact.has_value());
  EXPECT_FALSE(decoded.stray);
}

// Plan: revisions and lease are the key's, whatever the value says.
TEST(Keyspace, TakesRevisionsAndLeaseFromTheKey) {
  MemberFact member;
  member.node = "n1";
  member.session = SessionId{77};
  etcdserverpb::KeyValue stored = Stored("members/n1", EncodeMember(member));
  stored.set_lease(77);
  MemberFact read = std::get<MemberFact>(*kKeys.Decode(stored).fact);
  EXPECT_TRUE(read.present);
  EXPECT_EQ(read.revision, Revision{42});
  EXPECT_EQ(read.create_revision, Revision{40});
  EXPECT_EQ(read.lease, SessionId{77});
  EXPECT_TRUE(read.Live());

  // If a key hangs on no lease, or on another than its value names, the member is not live.
  stored.set_lease(0);
  EXPECT_FALSE(std::get<MemberFact>(*kKeys.Decode(stored).fact).Live());
  stored.set_lease(78);
  EXPECT_FALSE(std::get<MemberFact>(*kKeys.Decode(stored).fact).Live());
}

// Plan: a record's version is the key's, and stops at the greatest number. An absent key has none.
TEST(Keyspace, TakesTheVersionOfARecordFromTheKey) {
  etcdserverpb::KeyValue stored = Stored("shards/7");
  for (const auto& [version, expected] :
       std::map<std::int64_t, std::uint32_t>{{-1, 0}, {3, 3}, {1LL << 32, 0xffffffff}}) {
    stored.set_version(version);
    const RecordFact record = std::get<ShardRecordFact>(*kKeys.Decode(stored).fact).record;
    EXPECT_EQ(record.version, expected);
    EXPECT_EQ(record.create_revision, Revision{40});
  }
  const Decoded absent = kKeys.DecodeAbsent(kKeys.ShardKey(ShardId{7}), Revision{50});
  EXPECT_EQ(std::get<ShardRecordFact>(*absent.fact).record.version, 0u);
}

// Plan: a mark of the key's node; then one of another node under the same key.
TEST(Keyspace, KnowsWhichNodeIsRipe) {
  RipeFact ripe;
  ripe.node = "n1";
  ripe.up_to = Revision{30};
  const auto read = std::get<RipeFact>(*kKeys.Decode(Stored("ripe/n1", EncodeRipe(ripe))).fact);
  EXPECT_TRUE(read.present);
  EXPECT_EQ(read.node, "n1");
  EXPECT_EQ(read.revision, Revision{42});
  EXPECT_EQ(read.up_to, Revision{30});
  const auto other = std::get<RipeFact>(*kKeys.Decode(Stored("ripe/n2", EncodeRipe(ripe))).fact);
  EXPECT_TRUE(other.present);
  EXPECT_EQ(other.node, "n2");
  EXPECT_EQ(other.up_to, Revision{});
}

// Plan: a deletion of each kind of key says which fact is absent, and since when.
TEST(Keyspace, ReadsDeletionsAsAbsencesAtTheirRevision) {
  const auto absent = [](const std::string& key) {
    return *kKeys.DecodeAbsent(key, Revision{50}).fact;
  };
  const auto config = std::get<ConfigFact>(absent(kKeys.ConfigKey()));
  EXPECT_FALSE(config.present);
  EXPECT_EQ(config.revision, Revision{50});
  const auto member = std::get<MemberFact>(absent(kKeys.MemberKey("n1")));
  EXPECT_FALSE(member.present);
  EXPECT_EQ(member.node, "n1");
  EXPECT_EQ(member.revision, Revision{50});
  EXPECT_EQ(member.lease, SessionId{});
  const auto record = std::get<ShardRecordFact>(absent(kKeys.ShardKey(ShardId{7})));
  EXPECT_FALSE(record.record.present);
  EXPECT_EQ(record.shard, ShardId{7});
  EXPECT_EQ(record.record.revision, Revision{50});
  EXPECT_EQ(record.record.readability, Readability::kReadable);
  const auto move = std::get<MoveFact>(absent(kKeys.MoveKey(ShardId{7})));
  EXPECT_FALSE(move.present);
  EXPECT_EQ(move.shard, ShardId{7});
  const auto balancer = std::get<BalancerFact>(absent(kKeys.BalancerKey()));
  EXPECT_FALSE(balancer.record.present);
  const auto policy = std::get<PolicyFact>(absent(kKeys.PolicyKey({PolicyKind::kPause})));
  EXPECT_FALSE(policy.present);
  EXPECT_EQ(policy.name, PolicyName{PolicyKind::kPause});
  EXPECT_EQ(policy.revision, Revision{50});
  const auto ripe = std::get<RipeFact>(absent(kKeys.RipeKey("n1")));
  EXPECT_FALSE(ripe.present);
  EXPECT_EQ(ripe.node, "n1");
  EXPECT_EQ(ripe.revision, Revision{50});
}

}  // namespace
}  // namespace baton::etcd
