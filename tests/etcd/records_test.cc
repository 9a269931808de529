// Facts to records and back: nothing is lost, and unreadable values are marked as such.
#include "etcd/records.h"

#include <gtest/gtest.h>

#include "baton/v1/records.pb.h"

namespace baton::etcd {
namespace {

namespace pb = ::baton::v1;

// A next minor version's field as we see it: field 100, a string.
std::string LaterField(const std::string& text) {
  google::protobuf::UnknownFieldSet fields;
  fields.AddLengthDelimited(100, text);
  std::string bytes;
  fields.SerializeToString(&bytes);
  return bytes;
}

MemberFact SomeMember() {
  MemberFact member;
  member.node = "n1";
  member.session = SessionId{77};
  member.state = MemberState::kDead;
  member.dead_reason = Reason::kCallbackTimeout;
  member.ttl = std::chrono::milliseconds(9'999);
  member.address = "127.0.0.1:1";
  member.http_address = "127.0.0.1:2";
  member.service_address = "127.0.0.1:3";
  member.zone = "z";
  member.weight = 0;
  member.software_version = "0.1.0";
  member.protocol_version = 4;
  member.assignment_version = 5;
  member.external = true;
  member.failing = true;
  member.unhealthy = true;
  member.directory = ~std::uint64_t{0};
  return member;
}

RecordFact SomeRecord() {
  RecordFact record;
  record.leader = "n1";
  record.session = SessionId{77};
  record.previous = "n0";
  record.reason = Reason::kOperator;
  record.actor = "ops";
  record.directory = 99;
  return record;
}

ConfigFact SomeConfig() {
  ConfigFact config;
  config.shards = 12;
  config.schema = kConfigSchema;
  config.failover = {.policy = FailoverPolicy::kAfter,
                     .delay = std::chrono::minutes(10),
                     .lock_delay = std::chrono::milliseconds(1'500)};
  config.actor = "ann@desk";
  config.before_settings = Revision{40};
  return config;
}

MoveFact SomeMove() {
  MoveFact move;
  move.shard = ShardId{3};
  move.ends = Term{9};
  move.from = "n1";
  move.to = "n2";
  move.reason = Reason::kDrain;
  move.actor = "ops";
  move.phase = MovePhase::kPrepared;
  move.prepared_session = SessionId{88};
  move.void_reason = "";
  return move;
}

pb::LeadershipRecord StoredRecord() {
  pb::LeadershipRecord record;
  record.set_schema(kSchema);
  record.set_shard(3);
  record.set_leader("n1");
  record.set_session(77);
  return record;
}

Readability ReadAsShard3(const pb::LeadershipRecord& record) {
  return DecodeRecord(record.SerializeAsString(), ShardId{3}).readability;
}

// Plan: encode, decode, and compare every field of each kind of record.
TEST(Records, ComeBackAsTheyWereWritten) {
  const MemberFact member = SomeMember();
  const MemberFact read = DecodeMember(EncodeMember(member), "n1");
  EXPECT_EQ(read.readability, Readability::kReadable);
  EXPECT_EQ(read.node, "n1");
  EXPECT_EQ(read.session, member.session);
  EXPECT_EQ(read.state, member.state);
  EXPECT_EQ(read.dead_reason, member.dead_reason);
  EXPECT_EQ(read.ttl, member.ttl);
  EXPECT_EQ(read.address, member.address);
  EXPECT_EQ(read.http_address, member.http_address);
  EXPECT_EQ(read.service_address, member.service_address);
  EXPECT_EQ(read.zone, member.zone);
  EXPECT_EQ(read.weight, member.weight);
  EXPECT_EQ(read.software_version, member.software_version);
  EXPECT_EQ(read.protocol_version, member.protocol_version);
  EXPECT_EQ(read.assignment_version, member.assignment_version);
  EXPECT_TRUE(read.external);
  EXPECT_TRUE(read.failing);
  EXPECT_TRUE(read.unhealthy);
  EXPECT_EQ(read.directory, member.directory);
  EXPECT_EQ(read.unknown_fields, "");

  const RecordFact record = DecodeRecord(EncodeRecord(SomeRecord(), ShardId{3}), ShardId{3});
  EXPECT_EQ(record.readability, Readability::kReadable);
  EXPECT_EQ(record.leader, "n1");
  EXPECT_EQ(record.session, SessionId{77});
  EXPECT_EQ(record.previous, "n0");
  EXPECT_EQ(record.reason, Reason::kOperator);
  EXPECT_EQ(record.actor, "ops");
  EXPECT_EQ(record.directory, 99u);
  EXPECT_FALSE(record.released);

  const MoveFact move = DecodeMove(EncodeMove(SomeMove()), ShardId{3});
  EXPECT_EQ(move.readability, Readability::kReadable);
  EXPECT_EQ(move.shard, ShardId{3});
  EXPECT_EQ(move.ends, Term{9});
  EXPECT_EQ(move.from, "n1");
  EXPECT_EQ(move.to, "n2");
  EXPECT_EQ(move.reason, Reason::kDrain);
  EXPECT_EQ(move.actor, "ops");
  EXPECT_EQ(move.phase, MovePhase::kPrepared);
  EXPECT_EQ(move.prepared_session, SessionId{88});

  ConfigFact config;
  config.shards = 12;
  config.hash = HashFunction::kModulo;
  config.cluster_id = ~std::uint64_t{0};
  const ConfigFact read_config = DecodeConfig(EncodeConfig(config));
  EXPECT_EQ(read_config.readability, Readability::kReadable);
  EXPECT_EQ(read_config.shards, 12u);
  EXPECT_EQ(read_config.hash, HashFunction::kModulo);
  EXPECT_EQ(read_config.schema, kSchema);
  EXPECT_EQ(read_config.cluster_id, config.cluster_id);
  EXPECT_EQ(read_config.unknown_fields, "");

  PolicyFact policy;
  policy.name = {PolicyKind::kLimits};
  policy.actor = "ops";
  policy.max_moves = 7;
  policy.expected_nodes = 9;
  policy.change = "max-moves 7";
  policy.rebalance_delay = std::chrono::milliseconds(0);
  policy.cooldown = std::chrono::hours(24);
  const PolicyFact read_policy = DecodePolicy(EncodePolicy(policy), {PolicyKind::kLimits});
  EXPECT_EQ(read_policy.actor, "ops");
  EXPECT_EQ(read_policy.max_moves, 7u);
  EXPECT_EQ(read_policy.expected_nodes, 9u);
  EXPECT_EQ(read_policy.change, "max-moves 7");
  EXPECT_EQ(read_policy.rebalance_delay, std::chrono::milliseconds(0));
  EXPECT_EQ(read_policy.cooldown, std::chrono::hours(24));
  EXPECT_EQ(read_policy.unknown_fields, "");
  EXPECT_FALSE(DecodePolicy(EncodePolicy({}), {PolicyKind::kLimits}).cooldown) << "not set";
}

// Plan: delays that no version writes don't count; the other fields do.
TEST(Records, OfLimitsIgnoreDelaysOutOfRange) {
  PolicyFact limits{.name = {PolicyKind::kLimits}, .max_moves = 7};
  for (const std::int64_t wrong :
       {std::int64_t{-1}, std::int64_t{86'400'001}, std::numeric_limits<std::int64_t>::min(),
        std::numeric_limits<std::int64_t>::max()}) {
    limits.rebalance_delay = limits.cooldown = std::chrono::milliseconds(wrong);
    const PolicyFact read = DecodePolicy(EncodePolicy(limits), limits.name);
    EXPECT_FALSE(read.rebalance_delay) << wrong;
    EXPECT_FALSE(read.cooldown) << wrong;
    EXPECT_EQ(read.max_moves, 7u);
  }
}

// Plan: a later version has a field more.
TEST(Records, OfLimitsKeepUnknownFields) {
  const std::string bytes = EncodePolicy({.max_moves = 7}) + "\xfa\x07\x05later";
  const PolicyFact read = DecodePolicy(bytes, {PolicyKind::kLimits});
  EXPECT_EQ(read.unknown_fields, "\xfa\x07\x05later");
  EXPECT_EQ(EncodePolicy(read), bytes);
}

// Plan: each policy with its settings, in a config of the schema that has them; and one of the
// schema before, in which other versions may have kept what they did not know.
TEST(Records, OfAConfigSayHowTheGroupFailsOver) {
  for (const FailoverPolicy policy :
       {FailoverPolicy::kImmediate, FailoverPolicy::kAfter, FailoverPolicy::kNever}) {
    ConfigFact config = SomeConfig();
    config.failover.policy = policy;
    if (policy != FailoverPolicy::kAfter) config.failover.delay = {};
    const ConfigFact read = DecodeConfig(EncodeConfig(config));
    EXPECT_EQ(read.readability, Readability::kReadable);
    EXPECT_EQ(read.schema, kConfigSchema);
    EXPECT_EQ(read.failover, config.failover);
    EXPECT_EQ(read.actor, "ann@desk");
    EXPECT_EQ(read.Incarnation(), Revision{40});
    EXPECT_EQ(read.unknown_fields, "");
  }
  pb::ConfigRecord older;
  ASSERT_TRUE(older.ParseFromString(EncodeConfig(SomeConfig())));
  older.set_schema(1);
  ConfigFact read = DecodeConfig(older.SerializeAsString());
  EXPECT_EQ(read.readability, Readability::kReadable);
  EXPECT_EQ(read.failover, FailoverSettings{});
  read.revision = Revision{50};
  EXPECT_EQ(read.actor, "");
  EXPECT_EQ(read.Incarnation(), Revision{50});
  older.set_lock_delay_ms(-1);
  EXPECT_EQ(DecodeConfig(older.SerializeAsString()).readability, Readability::kReadable);
  read.failover = SomeConfig().failover;
  EXPECT_EQ(DecodeConfig(EncodeConfig(read)).failover, FailoverSettings{}) << "not its schema's";
}

// Plan: each setting that no version writes, alone in a config that is sound without it.
TEST(Records, OfAConfigWithSettingsThatNobodyCanKeepToAreDamaged) {
  pb::ConfigRecord good;
  ASSERT_TRUE(good.ParseFromString(EncodeConfig(SomeConfig())));
  const auto read = [&](const auto& spoil) {
    pb::ConfigRecord record = good;
    spoil(record);
    const ConfigFact fact = DecodeConfig(record.SerializeAsString());
    EXPECT_EQ(fact.schema, kConfigSchema);
    return fact.readability;
  };
  const std::int64_t longest = std::chrono::milliseconds(std::chrono::hours(24 * 366)).count();
  EXPECT_EQ(read([&](auto& record) { record.set_lock_delay_ms(longest); }), Readability::kReadable);
  EXPECT_EQ(read([](auto& record) { record.clear_failover(); }), Readability::kReadable);
  for (const int policy : {4, 99, -1}) {
    EXPECT_EQ(
        read([&](auto& record) { record.set_failover(static_cast<pb::RecordFailover>(policy)); }),
        Readability::kDamaged)
        << policy;
  }
  EXPECT_EQ(read([](auto& record) { record.set_before_settings(-1); }), Readability::kDamaged);
  for (const std::int64_t time :
       {std::int64_t{-1}, longest + 1, std::numeric_limits<std::int64_t>::max()}) {
    EXPECT_EQ(read([&](auto& record) { record.set_lock_delay_ms(time); }), Readability::kDamaged);
    EXPECT_EQ(read([&](auto& record) { record.set_failover_delay_ms(time); }),
              Readability::kDamaged);
  }
}

// Plan: a mark; then values that say nothing, or speak of another node.
TEST(Records, OfARipeNodeSayNothingIfTheyCantBeRead) {
  RipeFact ripe;
  ripe.node = "n1";
  ripe.up_to = Revision{700};
  const std::string bytes = EncodeRipe(ripe);
  EXPECT_EQ(DecodeRipe(bytes, "n1").up_to, Revision{700});
  EXPECT_EQ(DecodeRipe(bytes, "n1").node, "n1");
  EXPECT_EQ(DecodeRipe(bytes, "n2").up_to, Revision{});
  EXPECT_EQ(DecodeRipe("garbage", "n1").up_to, Revision{});
  EXPECT_EQ(DecodeRipe("", "n1").up_to, Revision{});
  ripe.up_to = Revision{-5};
  EXPECT_EQ(DecodeRipe(EncodeRipe(ripe), "n1").up_to, Revision{});
}

// Plan: a death with the time that its guard measured; one without, as early versions wrote it;
// then times that no version writes. Those don't count, but the death is proven all the same.
TEST(Records, OfADeathKeepHowLongItWasKnown) {
  DeathFact death{.node = "n1", .session = SessionId{77}, .detect = std::chrono::microseconds(40)};
  EXPECT_EQ(DecodeDeath(EncodeDeath(death)).session, SessionId{77});
  EXPECT_EQ(DecodeDeath(EncodeDeath(death)).detect, death.detect);
  death.detect = Duration{0};
  EXPECT_EQ(DecodeDeath(EncodeDeath(death)).detect, Duration{0});
  death.detect.reset();
  EXPECT_FALSE(DecodeDeath(EncodeDeath(death)).detect);
  pb::DeathRecord record;
  ASSERT_TRUE(record.ParseFromString(EncodeDeath(death)));
  for (const std::int64_t time : {std::int64_t{-1}, std::numeric_limits<std::int64_t>::max(),
                                  std::numeric_limits<std::int64_t>::min()}) {
    record.set_detect_us(time);
    EXPECT_EQ(DecodeDeath(record.SerializeAsString()).session, SessionId{77});
    EXPECT_FALSE(DecodeDeath(record.SerializeAsString()).detect);
  }
}

// Plan: each order, and taking it back.
TEST(Records, OfAChangeHaveItsWords) {
  const auto words = [](PolicyName name, bool present, std::uint32_t number = 0) {
    return ChangeWords({.name = std::move(name),
                        .present = present,
                        .max_moves = number,
                        .expected_nodes = number});
  };
  EXPECT_EQ(words({PolicyKind::kDrain, "n3"}, true), "drain n3");
  EXPECT_EQ(words({PolicyKind::kDrain, "n3"}, false), "undrain n3");
  EXPECT_EQ(words({PolicyKind::kPause}, true), "pause");
  EXPECT_EQ(words({PolicyKind::kPause}, false), "resume");
  EXPECT_EQ(words({PolicyKind::kRebalance}, true), "rebalance");
  EXPECT_EQ(words({PolicyKind::kRebalance}, false), "cancel rebalance");
  EXPECT_EQ(words({PolicyKind::kLimits}, true, 7), "max-moves 7");
  EXPECT_EQ(words({PolicyKind::kLimits}, false), "default limits");
  EXPECT_EQ(ChangeWords({.name = {PolicyKind::kLimits},
                         .present = true,
                         .rebalance_delay = std::chrono::milliseconds(0),
                         .cooldown = std::chrono::minutes(10)}),
            "rebalance-delay 0s, cooldown 10m");
  EXPECT_EQ(words({PolicyKind::kExpectedNodes}, true, 9), "expected-nodes 9");
  EXPECT_EQ(words({PolicyKind::kExpectedNodes}, false), "expected-nodes 0");
}

// Plan: every reason survives, so that labels and words never shift.
TEST(Records, KeepEveryReason) {
  for (int i = 0; i < kReasonCount; ++i) {
    RecordFact record = SomeRecord();
    record.reason = static_cast<Reason>(i);
    EXPECT_EQ(DecodeRecord(EncodeRecord(record, ShardId{3}), ShardId{3}).reason, record.reason);
  }
}

// Plan: nobody leads after a resignation; the record names who resigned.
TEST(Records, SayWhoResigned) {
  RecordFact record;
  record.session = SessionId{77};
  record.resigned_by = "n1";
  record.reason = Reason::kShutdown;
  const RecordFact read = DecodeRecord(EncodeRecord(record, std::nullopt), std::nullopt);
  EXPECT_EQ(read.readability, Readability::kReadable);
  EXPECT_EQ(read.leader, "");
  EXPECT_EQ(read.resigned_by, "n1");
  EXPECT_EQ(read.session, SessionId{77});
  EXPECT_FALSE(read.released);
}

// Plan: a resignation after the application had released the shard; then what older versions make
// of its record: they keep the field under another session, or beside a leader.
TEST(Records, SayThatTheApplicationHadReleasedInTheirOwnResignationOnly) {
  RecordFact record;
  record.session = SessionId{77};
  record.resigned_by = "n1";
  record.released = true;
  record.directory = 99;
  const std::string bytes = EncodeRecord(record, ShardId{3});
  const RecordFact read = DecodeRecord(bytes, ShardId{3});
  EXPECT_TRUE(read.released);
  EXPECT_EQ(read.directory, 99u);
  EXPECT_EQ(read.unknown_fields, "");

  pb::LeadershipRecord older;
  ASSERT_TRUE(older.ParseFromString(bytes));
  older.set_session(78);
  EXPECT_FALSE(DecodeRecord(older.SerializeAsString(), ShardId{3}).released);
  older.set_session(77);
  older.clear_resigned_by();
  older.set_leader("n1");
  const RecordFact led = DecodeRecord(older.SerializeAsString(), ShardId{3});
  EXPECT_EQ(led.readability, Readability::kReadable);
  EXPECT_FALSE(led.released);
}

// Plan: nobody leads, and nobody resigned either. Without one of the words that a force-release
// writes, the record is damaged.
TEST(Records, SayThatAnOperatorReleasedTheShardOfADeadLeader) {
  RecordFact record;
  record.session = SessionId{77};
  record.previous = "n1";
  record.reason = Reason::kOperator;
  record.actor = "ops";
  const auto read = [](const RecordFact& fact) {
    return DecodeRecord(EncodeRecord(fact, ShardId{3}), ShardId{3});
  };
  EXPECT_EQ(read(record).readability, Readability::kReadable);
  EXPECT_EQ(read(record).leader, "");
  EXPECT_EQ(read(record).resigned_by, "");
  EXPECT_EQ(read(record).previous, "n1");
  EXPECT_EQ(DecodeRecord(EncodeRecord(record, std::nullopt), std::nullopt).readability,
            Readability::kDamaged)
      << "only of shards";
  RecordFact ordinary = record;
  ordinary.reason = Reason::kShutdown;
  EXPECT_EQ(read(ordinary).readability, Readability::kDamaged);
  RecordFact nobodys = record;
  nobodys.previous = "";
  EXPECT_EQ(read(nobodys).readability, Readability::kDamaged);
}

// Plan: a force-release for a leader whose death was proven; then one of a damaged record, of which
// nobody knows who led. A session without a node, or a node without a session, says nothing.
TEST(Records, SayWhatIsKnownOfTheLeaderThatAShardWasReleasedFor) {
  RecordFact record;
  record.session = SessionId{77};
  record.previous = "n1";
  record.reason = Reason::kOperator;
  const auto read = [](const RecordFact& fact) {
    return DecodeRecord(EncodeRecord(fact, ShardId{3}), ShardId{3});
  };
  EXPECT_FALSE(read(record).released);
  record.released = true;
  EXPECT_TRUE(read(record).released);
  record.session = {};
  EXPECT_EQ(read(record).readability, Readability::kDamaged);
  record.previous = "";
  record.released = false;
  EXPECT_EQ(read(record).readability, Readability::kReadable);
  EXPECT_FALSE(read(record).released);
  record.resigned_by = "n1";
  EXPECT_EQ(read(record).readability, Readability::kDamaged);
}

// Plan: a next minor version adds a field to each kind; we read and rewrite, and it is still there,
// once.
TEST(Records, KeepALaterVersionsFields) {
  const std::string later = LaterField("from the future");
  const MemberFact member = DecodeMember(EncodeMember(SomeMember()) + later, "n1");
  EXPECT_EQ(member.readability, Readability::kReadable);
  EXPECT_EQ(member.unknown_fields, later);
  EXPECT_EQ(DecodeMember(EncodeMember(member), "n1").unknown_fields, later);

  const RecordFact record =
      DecodeRecord(EncodeRecord(SomeRecord(), ShardId{3}) + later, ShardId{3});
  EXPECT_EQ(record.readability, Readability::kReadable);
  EXPECT_EQ(record.unknown_fields, later);
  EXPECT_EQ(DecodeRecord(EncodeRecord(record, ShardId{3}), ShardId{3}).unknown_fields, later);

  const MoveFact move = DecodeMove(EncodeMove(SomeMove()) + later, ShardId{3});
  EXPECT_EQ(move.readability, Readability::kReadable);
  EXPECT_EQ(DecodeMove(EncodeMove(move), ShardId{3}).unknown_fields, later);
}

// Plan: the count of deaths, as it was written; then in a record that an older version has written,
// which keeps fields that it does not know and puts its own session beside them.
TEST(Records, TheCountOfDeathsBelongsToTheSessionItWasWrittenFor) {
  RecordFact counted = SomeRecord();
  counted.tally = {.deaths = 3, .begun = WallTime(std::chrono::seconds(1'800'000'000))};
  const std::string bytes = EncodeRecord(counted, ShardId{3});
  EXPECT_EQ(DecodeRecord(bytes, ShardId{3}).tally, counted.tally);

  pb::LeadershipRecord older;
  ASSERT_TRUE(older.ParseFromString(bytes));
  older.set_session(counted.session.value + 1);
  const RecordFact read = DecodeRecord(older.SerializeAsString(), ShardId{3});
  EXPECT_EQ(read.readability, Readability::kReadable);
  EXPECT_EQ(read.tally, DeathTally{});
  EXPECT_EQ(read.unknown_fields, "");
}

// Plan: a version that does not know the field claims the shard with a session of its own, and
// keeps the field.
TEST(Records, TheDirectoryIsThatOfTheLeaderItWasWrittenFor) {
  pb::LeadershipRecord older;
  ASSERT_TRUE(older.ParseFromString(EncodeRecord(SomeRecord(), ShardId{3})));
  older.set_leader("n2");
  older.set_session(78);
  EXPECT_EQ(DecodeRecord(older.SerializeAsString(), ShardId{3}).directory, 0u);
}

// Plan: stamps that no clock shows.
TEST(Records, StampsOutOfRangeAreCutOff) {
  pb::LeadershipRecord record = StoredRecord();
  record.set_counted_session(record.session());
  for (const std::int64_t stamp : {std::int64_t{-5}, std::numeric_limits<std::int64_t>::min()}) {
    record.set_begun_at(stamp);
    EXPECT_EQ(DecodeRecord(record.SerializeAsString(), ShardId{3}).tally.begun, WallTime{});
  }
  record.set_begun_at(std::numeric_limits<std::int64_t>::max());
  const RecordFact read = DecodeRecord(record.SerializeAsString(), ShardId{3});
  EXPECT_EQ(read.tally.begun, WallTime(std::chrono::seconds(253'402'300'799)));
}

// Plan: the word of an earlier session, as a version that doesn't know the field copies it.
TEST(Records, FailingUnhealthyAndTheDirectoryCountForTheirOwnSessionOnly) {
  MemberFact before = SomeMember();
  before.session = SessionId{76};
  pb::MemberRecord record;
  ASSERT_TRUE(record.ParseFromString(EncodeMember(before)));
  record.set_session(77);
  const MemberFact read = DecodeMember(record.SerializeAsString(), "n1");
  EXPECT_EQ(read.readability, Readability::kReadable);
  EXPECT_FALSE(read.failing);
  EXPECT_FALSE(read.unhealthy);
  EXPECT_EQ(read.directory, 0u);
  EXPECT_EQ(read.unknown_fields, "");
}

// Plan: each text of a member that nobody can use. It alone reads as empty, and the member lives
// on.
TEST(Records, AMembersUnusableTextsReadAsEmpty) {
  pb::MemberRecord good;
  ASSERT_TRUE(good.ParseFromString(EncodeMember(SomeMember())));
  const auto read = [&](const auto& spoil) {
    pb::MemberRecord record = good;
    spoil(record);
    const MemberFact fact = DecodeMember(record.SerializeAsString(), "n1");
    EXPECT_EQ(fact.readability, Readability::kReadable);
    EXPECT_EQ(fact.session, SomeMember().session);
    return fact;
  };
  EXPECT_FALSE(read([](auto&) {}).unusable_text);
  EXPECT_FALSE(read([](auto& record) { record.set_zone(""); }).unusable_text);
  for (const std::string& bad : {std::string(513, 'x'), std::string("a b:1"), std::string("a\nb:1"),
                                 std::string("caf\xc3\xa9:1")}) {
    const MemberFact address = read([&](auto& record) { record.set_address(bad); });
    EXPECT_TRUE(address.unusable_text);
    EXPECT_EQ(address.address, "");
    EXPECT_EQ(address.service_address, SomeMember().service_address);
    EXPECT_EQ(read([&](auto& record) { record.set_http_address(bad); }).http_address, "");
    EXPECT_EQ(read([&](auto& record) { record.set_service_address(bad); }).service_address, "");
    const MemberFact zone = read([&](auto& record) { record.set_zone(bad); });
    EXPECT_TRUE(zone.unusable_text);
    EXPECT_EQ(zone.zone, "");
    const MemberFact version = read([&](auto& record) { record.set_software_version(bad); });
    EXPECT_TRUE(version.unusable_text);
    EXPECT_EQ(version.software_version, "");
  }
}

// Plan: a schema above ours, in each kind of record that carries a readability.
TEST(Records, OfANewerSchemaAreLeftAlone) {
  pb::LeadershipRecord record = StoredRecord();
  record.set_schema(kSchema + 1);
  const std::string bytes = record.SerializeAsString();
  const RecordFact read = DecodeRecord(bytes, ShardId{3});
  EXPECT_EQ(read.readability, Readability::kNewerSchema);
  EXPECT_EQ(read.leader, "");
  EXPECT_EQ(read.damaged_value, bytes);

  // Field 1 is the schema in all of them: these bytes are a newer record of any kind.
  const ConfigFact config = DecodeConfig(EncodeConfig({.schema = kConfigSchema + 1}));
  EXPECT_EQ(config.readability, Readability::kNewerSchema);
  EXPECT_EQ(config.schema, kConfigSchema + 1);
  EXPECT_EQ(DecodeMember(bytes.substr(0, 2), "n1").readability, Readability::kNewerSchema);
  EXPECT_EQ(DecodeMove(bytes.substr(0, 2), ShardId{3}).readability, Readability::kNewerSchema);
}

// Plan: bytes that are no record keep their bytes, for quarantine.
TEST(Records, ThatDoNotParseAreDamagedAndKeepTheirBytes) {
  for (const std::string bytes : {"", "garbage", "\xff\xff\xff"}) {
    const RecordFact read = DecodeRecord(bytes, ShardId{3});
    EXPECT_EQ(read.readability, Readability::kDamaged) << bytes;
    EXPECT_EQ(read.damaged_value, bytes);
    EXPECT_EQ(DecodeMember(bytes, "n1").readability, Readability::kDamaged) << bytes;
    EXPECT_EQ(DecodeMove(bytes, ShardId{3}).readability, Readability::kDamaged) << bytes;
    EXPECT_EQ(DecodeConfig(bytes).readability, Readability::kDamaged) << bytes;
  }
}

// Plan: text that is not UTF-8, about which protobuf would write to stderr.
TEST(Records, WhoseTextIsNoUtf8AreDamagedWithoutAWordToStderr) {
  const std::string not_utf8 = "\xff\xfe";
  const std::string leader = "\x08\x01\x1a\x02" + not_utf8;  // fields 1 and 3
  const std::string node = "\x08\x01\x12\x02" + not_utf8;    // fields 1 and 2
  testing::internal::CaptureStderr();
  EXPECT_EQ(DecodeRecord(leader, std::nullopt).readability, Readability::kDamaged);
  EXPECT_EQ(DecodeMember(node, "n1").readability, Readability::kDamaged);
  EXPECT_EQ(testing::internal::GetCapturedStderr(), "");
}

// Plan: each contradiction alone, in a record that is sound without it.
TEST(Records, ThatContradictThemselvesOrTheirKeyAreDamaged) {
  EXPECT_EQ(ReadAsShard3(StoredRecord()), Readability::kReadable);
  pb::LeadershipRecord record = StoredRecord();
  record.clear_session();
  EXPECT_EQ(ReadAsShard3(record), Readability::kDamaged) << "a leader without a session";
  record = StoredRecord();
  record.set_resigned_by("n1");
  EXPECT_EQ(ReadAsShard3(record), Readability::kDamaged) << "leads and has resigned";
  record = StoredRecord();
  record.clear_leader();
  EXPECT_EQ(ReadAsShard3(record), Readability::kDamaged) << "a session of nobody";
  record = StoredRecord();
  record.set_shard(4);
  EXPECT_EQ(ReadAsShard3(record), Readability::kDamaged) << "of another shard";
  record.clear_shard();
  EXPECT_EQ(ReadAsShard3(record), Readability::kDamaged) << "the balancer's";

  const std::string move = EncodeMove(SomeMove());
  EXPECT_EQ(DecodeMove(move, ShardId{4}).readability, Readability::kDamaged) << "another shard";
  MoveFact unprepared = SomeMove();
  unprepared.prepared_session = SessionId{};
  EXPECT_EQ(DecodeMove(EncodeMove(unprepared), ShardId{3}).readability, Readability::kDamaged);
  MoveFact circular = SomeMove();
  circular.to = circular.from;
  EXPECT_EQ(DecodeMove(EncodeMove(circular), ShardId{3}).readability, Readability::kDamaged);

  EXPECT_EQ(DecodeMember(EncodeMember(SomeMember()), "n2").readability, Readability::kDamaged)
      << "of another node";
  ConfigFact config;
  EXPECT_EQ(DecodeConfig(EncodeConfig(config)).readability, Readability::kDamaged) << "no shards";
}

// Plan: a policy's presence alone has its effect; damage to its value does not undo a drain.
TEST(Records, OfAPolicyStandEvenIfTheirValueIsUnreadable) {
  const PolicyFact policy = DecodePolicy("garbage", {PolicyKind::kLimits});
  EXPECT_EQ(policy.name, PolicyName{PolicyKind::kLimits});
  EXPECT_EQ(policy.max_moves, 0u);
}

}  // namespace
}  // namespace baton::etcd
