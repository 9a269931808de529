// Records that this version can't read, or reads only in part: which are kept, which are replaced.
#include <algorithm>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "baton/v1/records.pb.h"
#include "e2e/cluster.h"
#include "e2e/etcd_client.h"

namespace baton::e2e {
namespace {

using std::chrono::seconds;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::Not;

/// Field 1000, of a later minor version: tag (1000 << 3 | 2), length, bytes.
const std::string kNewField =
    "\xC2\x3E\x0D"
    "what comes on";

std::string Varint(std::size_t number) {
  std::string bytes;
  for (; number > 127; number >>= 7) bytes += static_cast<char>((number & 127) | 128);
  return bytes + static_cast<char>(number);
}
/// A field of bytes or text, as protobuf stores it.
std::string Field(std::size_t number, const std::string& bytes) {
  return Varint(number << 3 | 2) + Varint(bytes.size()) + bytes;
}

class Records : public testing::Test {
 protected:
  std::string ShardKey(int shard) const { return cluster_.Key("shards/" + std::to_string(shard)); }
  bool HasNewField(const std::string& key) {
    const auto stored = etcd_.Get(key);
    return stored && stored->value().find(kNewField) != std::string::npos;
  }
  /// Rewrites a key as a later version would: the same value with one more field.
  void AddNewField(const std::string& key) {
    const auto stored = etcd_.Get(key);
    ASSERT_TRUE(stored.has_value()) << key;
    etcd_.Put(key, stored->value() + kNewField, stored->lease());
  }
  static std::size_t At(int shard) { return static_cast<std::size_t>(shard); }

  EtcdClient etcd_{SharedEtcd().endpoints()};
  Cluster cluster_{SharedEtcd(), {.shards = 6, .ttl = seconds(2)}};
};

// A led shard's record is overwritten with garbage. The bytes go to quarantine/, metric, log and
// history say so, the same leader leads on with a higher term, and no other shard changes.
TEST_F(Records, ADamagedOneIsQuarantinedAndReplaced) {
  cluster_.StartAll({"n1", "n2"});
  const Table before = cluster_.AwaitBalanced({"n1", "n2"});
  const std::string leader = before[0].leader;
  const std::int64_t damaged = etcd_.Put(ShardKey(0), "\xff\xff garbage");
  cluster_.Await("shard 0 is led with a later term", [&](const Table& now) {
    return now.size() == 6 && now[0].state == "led" && now[0].term > damaged;
  });
  const Table after = cluster_.AwaitBalanced({"n1", "n2"});
  EXPECT_THAT(Retermed(before, after), ElementsAre(0));
  EXPECT_EQ(after[0].leader, leader) << "its last known leader replaces it";
  const auto kept = etcd_.List(cluster_.Key("quarantine/"));
  ASSERT_EQ(kept.size(), 1u);
  EXPECT_EQ(kept[0].value(), "\xff\xff garbage");
  EXPECT_EQ(cluster_.Metric(leader, "baton_records_quarantined_total"), 1);
  EXPECT_THAT(cluster_.node(leader).Log(), HasSubstr("record of shard 0"));
  EXPECT_THAT(cluster_.Ctl(leader, {"history", "0"}).out,
              HasSubstr("baton (damaged record replaced)  the damaged record was replaced\n"));
}

// The leader of a damaged record dies before it can replace it. Another node does, once the dead
// node's lease is over.
TEST_F(Records, ADamagedOneOfADeadLeaderIsReplacedByAnother) {
  for (const char* id : {"n1", "n2"}) cluster_.Start(id, kNoGuard);
  const Table before = cluster_.AwaitBalanced({"n1", "n2"});
  const int shard = *LedBy(before, "n2").begin();
  cluster_.node("n2").Pause();
  const std::int64_t damaged = etcd_.Put(ShardKey(shard), "\xff\xff garbage");
  cluster_.node("n2").Kill();
  cluster_.Await("n1 leads it", [&](const Table& now) {
    return now.size() == 6 && now[At(shard)].leader == "n1" && now[At(shard)].term > damaged;
  });
  cluster_.AwaitBalanced({"n1"});
  EXPECT_EQ(etcd_.List(cluster_.Key("quarantine/")).size(), 1u);
}

// A record of a newer schema is never replaced, neither while its leader lives nor after a restart.
// These nodes show no leader for its shard; all other shards are led.
TEST_F(Records, OneOfANewerSchemaIsLeftAlone) {
  cluster_.StartAll({"n1", "n2"});
  cluster_.AwaitBalanced({"n1", "n2"});
  baton::v1::LeadershipRecord newer;
  newer.set_schema(2);
  newer.set_shard(3);
  newer.set_leader("n9");
  newer.set_session(9);
  const std::string value = newer.SerializeAsString();
  const std::int64_t written = etcd_.Put(ShardKey(3), value);
  const auto others_led = [](const Table& now) {
    if (now.size() != 6 || now[3].state != "leaderless") return false;
    return std::count_if(now.begin(), now.end(),
                         [](const Row& row) { return row.state == "led"; }) == 5;
  };
  cluster_.Await("nobody leads shard 3", others_led);
  cluster_.node("n2").Kill();
  cluster_.Await(
      "n1 leads all others",
      [&](const Table& now) { return others_led(now) && LedBy(now, "n1").size() == 5; },
      cluster_.FailoverBound() + kPatience);
  EXPECT_EQ(etcd_.Get(ShardKey(3))->value(), value);
  EXPECT_EQ(etcd_.Get(ShardKey(3))->mod_revision(), written);
  EXPECT_THAT(cluster_.node("n1").Log(), HasSubstr("newer schema"));
}

// Fields of the next minor version are in a shard's record. They are still there after an
// operator's transfer, after the claim that follows a death, and after the resigns of a drain.
TEST_F(Records, KeepUnknownFieldsThroughTransferClaimAndResign) {
  cluster_.StartAll({"n1", "n2"});
  const Table before = cluster_.AwaitBalanced({"n1", "n2"});
  const int shard = *LedBy(before, "n1").begin();
  AddNewField(ShardKey(shard));
  cluster_.Await("n1 leads on with the new revision", [&](const Table& now) {
    return now.size() == 6 && now[At(shard)].leader == "n1" && now[At(shard)].state == "led" &&
           now[At(shard)].term > before[At(shard)].term;
  });
  ASSERT_EQ(cluster_.Ctl("n1", {"pause"}).exit, 0);
  const app::Ran moved =
      cluster_.Ctl("n1", {"shards", "transfer", std::to_string(shard), "--to", "n2"});
  ASSERT_EQ(moved.exit, 0) << moved.err;
  EXPECT_TRUE(HasNewField(ShardKey(shard))) << "lost by the transfer";
  cluster_.node("n2").Kill();
  cluster_.AwaitBalanced({"n1"});
  EXPECT_TRUE(HasNewField(ShardKey(shard))) << "lost by the claim";
  cluster_.node("n1").Signal(SIGTERM);
  ASSERT_TRUE(cluster_.node("n1").WaitExit().has_value());
  EXPECT_TRUE(HasNewField(ShardKey(shard))) << "lost by the resign";
}

// Somebody adds a field of 1.5 MB to a record of n2, so that no transaction can hold it beside
// others, and n2 dies. n1 leads all its shards at once, also that one, whose record is small again.
TEST_F(Records, AFatOneCostsNoOtherShardItsLeader) {
  cluster_.StartAll({"n1", "n2"});
  const Table before = cluster_.AwaitBalanced({"n1", "n2"});
  const int shard = *LedBy(before, "n2").begin();
  const std::string fat(1'572'000, 'x');
  const std::int64_t written =
      etcd_.Put(ShardKey(shard), etcd_.Get(ShardKey(shard))->value() + Field(1000, fat));
  cluster_.Await("n2 leads on with the new revision", [&](const Table& now) {
    return now.size() == 6 && now[At(shard)].leader == "n2" && now[At(shard)].term == written;
  });
  cluster_.node("n2").Kill();
  cluster_.AwaitBalanced({"n1"});
  EXPECT_LT(etcd_.Get(ShardKey(shard))->value().size(), 1000u);
  EXPECT_THAT(cluster_.node("n1").Log(), Not(HasSubstr("too large")));
}

// Somebody writes 1.4 MB as the actor of a led record, ten times, and then 1.4 MB of garbage. The
// log and the history have a line of each, and quarantine/ has the first 4 KiB.
TEST_F(Records, AFatOneIsCutInLogsAndHistories) {
  cluster_.StartAll({"n1", "n2"});
  cluster_.AwaitBalanced({"n1", "n2"});
  const std::string fat(1'400'000, 'x');
  const std::string stored = etcd_.Get(ShardKey(0))->value();
  std::int64_t written = 0;
  for (int i = 0; i < 10; ++i) written = etcd_.Put(ShardKey(0), stored + Field(8, fat));
  const auto await_led_after = [&](std::int64_t revision) {
    cluster_.Await("shard 0 is led", [revision](const Table& now) {
      return now.size() == 6 && now[0].state == "led" && now[0].term >= revision;
    });
  };
  await_led_after(written);
  await_led_after(etcd_.Put(ShardKey(0), fat) + 1);
  const auto kept = etcd_.List(cluster_.Key("quarantine/"));
  ASSERT_EQ(kept.size(), 1u);
  EXPECT_EQ(kept[0].value(), fat.substr(0, 4096));
  for (const char* node : {"n1", "n2"}) {
    EXPECT_LT(cluster_.node(node).Log().size(), 200'000u);
    std::string history;
    cluster_.Await("the history has who wrote it", [&] {
      history = cluster_.Ctl(node, {"history", "0", "-o", "json"}).out;
      return history.find(std::string(253, 'x') + "...") != std::string::npos;
    });
    EXPECT_LT(history.size(), 200'000u);
  }
}

// A later version plans a move, with one more field. The target marks it "prepared" and keeps the
// field, which etcd's history shows; then the shard moves.
TEST_F(Records, KeepUnknownFieldsOfAMove) {
  cluster_.StartAll({"n1", "n2"});
  const Table before = cluster_.AwaitBalanced({"n1", "n2"});
  ASSERT_EQ(cluster_.Ctl("n1", {"pause"}).exit, 0);
  const int shard = *LedBy(before, "n1").begin();
  v1::MoveRecord move;
  move.set_schema(1);
  move.set_shard(static_cast<std::uint32_t>(shard));
  move.set_ends_term(before[At(shard)].term);
  move.set_from("n1");
  move.set_to("n2");
  move.set_reason(v1::RECORD_REASON_OPERATOR);
  move.set_phase(v1::RECORD_MOVE_PHASE_PLANNED);
  const std::string key = cluster_.Key("moves/" + std::to_string(shard));
  std::int64_t revision = etcd_.Put(key, move.SerializeAsString() + kNewField);
  cluster_.Await("n2 leads it", [&](const Table& now) {
    return now.size() == 6 && now[At(shard)].leader == "n2" && now[At(shard)].state == "led";
  });
  bool prepared = false;
  for (auto stored = etcd_.Get(key, revision); stored; stored = etcd_.Get(key, ++revision)) {
    ASSERT_THAT(stored->value(), HasSubstr(kNewField)) << "at revision " << revision;
    ASSERT_TRUE(move.ParseFromString(stored->value()));
    prepared = prepared || move.phase() == v1::RECORD_MOVE_PHASE_PREPARED;
  }
  EXPECT_TRUE(prepared);
}

// The balancer's record keeps unknown fields through the death of the balancer.
TEST_F(Records, KeepUnknownFieldsOfTheBalancersRecord) {
  cluster_.StartAll({"n1", "n2"});
  cluster_.AwaitBalanced({"n1", "n2"});
  const std::string key = cluster_.Key("balancer");
  cluster_.Await("a balancer", [&] { return etcd_.Get(key).has_value(); });
  AddNewField(key);
  baton::v1::LeadershipRecord record;
  ASSERT_TRUE(record.ParseFromString(etcd_.Get(key)->value()));
  const std::string balancer = record.leader();
  cluster_.node(balancer).Kill();
  cluster_.Await("another balancer", [&] {
    baton::v1::LeadershipRecord now;
    return now.ParseFromString(etcd_.Get(key)->value()) && now.leader() != balancer &&
           !now.leader().empty();
  });
  EXPECT_TRUE(HasNewField(key));
}

// A later version has added a field to a node's member value, as before a downgrade. The node keeps
// the field when it rewrites the value to say that it drains. The key's last version shows that.
TEST_F(Records, KeepUnknownFieldsOfAMember) {
  cluster_.StartAll({"n1", "n2"});
  cluster_.AwaitBalanced({"n1", "n2"});
  const std::string key = cluster_.Key("members/n2");
  AddNewField(key);
  const std::int64_t extended = etcd_.Get(key)->mod_revision();
  cluster_.Await("n2 has seen it", [&] {
    return cluster_.Metric("n2", "baton_watch_revision") >= static_cast<double>(extended);
  });
  cluster_.node("n2").Signal(SIGTERM);
  ASSERT_TRUE(cluster_.node("n2").WaitExit().has_value());
  bool rewritten = false;
  for (std::int64_t at = extended + 1; at <= etcd_.Revision(); ++at) {
    const auto stored = etcd_.Get(key, at);
    if (!stored || stored->mod_revision() == extended) continue;
    rewritten = true;
    EXPECT_THAT(stored->value(), HasSubstr(kNewField)) << "lost at revision " << at;
  }
  EXPECT_TRUE(rewritten) << "the member never said that it drains";
}

// Another member runs a later version: its value and its records have one more field. It counts
// like any other, and what it wrote stays.
TEST_F(Records, OfALaterNodeBesideUsAreReadForWhatWeKnow) {
  cluster_.StartAll({"n1", "n2"});
  const Table before = cluster_.AwaitBalanced({"n1", "n2"});
  AddNewField(cluster_.Key("members/n2"));
  for (const int shard : LedBy(before, "n2")) AddNewField(ShardKey(shard));
  cluster_.Await("n2 leads with the rewritten records", [&](const Table& now) {
    return now.size() == 6 && Retermed(before, now) == LedBy(before, "n2") &&
           LedBy(now, "n2") == LedBy(before, "n2");
  });
  cluster_.AwaitBalanced({"n1", "n2"});
  cluster_.Start("n3");
  const Table after = cluster_.AwaitBalanced({"n1", "n2", "n3"});
  for (const int shard : LedBy(before, "n2")) EXPECT_TRUE(HasNewField(ShardKey(shard)));
  EXPECT_TRUE(HasNewField(cluster_.Key("members/n2")));
}

// A member value that can't be read while its lease lives is rewritten by its owner.
TEST_F(Records, AnUnreadableMemberIsRewrittenByItsOwner) {
  cluster_.StartAll({"n1", "n2"});
  cluster_.AwaitBalanced({"n1", "n2"});
  const std::string key = cluster_.Key("members/n2");
  const auto stored = etcd_.Get(key);
  ASSERT_TRUE(stored.has_value());
  const std::int64_t damaged = etcd_.Put(key, "\xff garbage", stored->lease());
  cluster_.Await("n2's own value is back", [&] {
    const auto now = etcd_.Get(key);
    baton::v1::MemberRecord member;
    return now && now->mod_revision() > damaged && member.ParseFromString(now->value()) &&
           member.session() == stored->lease();
  });
  cluster_.AwaitBalanced({"n1", "n2"});
}

}  // namespace
}  // namespace baton::e2e
