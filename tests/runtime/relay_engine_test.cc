// The relay's engine with a transport whose answers the test writes, and with the test's clock:
// what proves its view, and situations that a real etcd can't be brought into at will.
#include "runtime/relay_engine.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <utility>

#include "core/options.h"
#include "etcd/fake_transport.h"
#include "etcd/records.h"
#include "runtime/manual_time.h"
#include "runtime/route_feed.h"

namespace baton::runtime {
namespace {

using etcdserverpb::RangeResponse;
using etcdserverpb::WatchResponse;
using std::chrono::seconds;
using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::HasSubstr;

class Incarnations : public RouteObserver {
 public:
  void OnRoutes(const RouteBatch& batch) override { incarnation = batch.group->incarnation; }
  void OnRoutesEnded(const Error&) override {}
  std::uint64_t incarnation = 0;
};

const etcd::Keyspace kKeys("/baton/v1", "orders");
constexpr std::uint64_t kCluster = 9;

class RelayEngineTest : public ::testing::Test {
 protected:
  void SetUp() override {
    engine_ = std::make_shared<RelayEngine>(FollowerParts{.group = "orders",
                                                          .name = "r1",
                                                          .keyspace = kKeys,
                                                          .transport = transport_,
                                                          .clock = time_,
                                                          .executor = time_,
                                                          .random = [] { return 0; },
                                                          .history = history_});
    engine_->OnProven([this](TimePoint at) { proven_.push_back(at); });
    engine_->Start();
  }

  static void AddConfig(RangeResponse& page, std::uint32_t shards, std::uint64_t cluster) {
    AddConfig(page, {.present = true, .shards = shards, .cluster_id = cluster});
  }
  static void AddConfig(RangeResponse& page, const ConfigFact& config) {
    auto* const stored = page.add_kvs();
    stored->set_key(kKeys.ConfigKey());
    stored->set_value(etcd::EncodeConfig(config));
    stored->set_mod_revision(2);
    stored->set_create_revision(2);
  }
  static RangeResponse Page(std::int64_t revision) {
    RangeResponse page;
    page.mutable_header()->set_revision(revision);
    page.mutable_header()->set_cluster_id(kCluster);
    return page;
  }
  /// Answers the oldest read, and runs what follows from it.
  void Answer(RangeResponse page) {
    transport_.TakeRange().Answer(std::move(page));
    time_.Elapse(Duration{0});
  }
  /// Answers the two reads of the start: everything, and the proof.
  void ReadGroup(std::int64_t revision) {
    RangeResponse page = Page(revision);
    AddConfig(page, 4, kCluster);
    Answer(std::move(page));
    Answer(Page(revision));
    Tell(revision);
  }
  /// The watch reports its revision.
  void Tell(std::int64_t revision) {
    WatchResponse response;
    response.mutable_header()->set_revision(revision);
    response.mutable_header()->set_cluster_id(kCluster);
    transport_.watches.back()->handler.response(response);
    time_.Elapse(Duration{0});
  }
  /// The watch reports a config of this many shards.
  void TellConfig(std::int64_t revision, std::uint32_t shards) {
    TellConfig(revision, {.present = true, .shards = shards, .cluster_id = kCluster});
  }
  void TellConfig(std::int64_t revision, const ConfigFact& config) {
    RangeResponse page;
    AddConfig(page, config);
    WatchResponse response;
    response.mutable_header()->set_revision(revision);
    response.mutable_header()->set_cluster_id(kCluster);
    *response.add_events()->mutable_kv() = page.kvs(0);
    response.mutable_events(0)->mutable_kv()->set_mod_revision(revision);
    transport_.watches.back()->handler.response(response);
    time_.Elapse(Duration{0});
  }
  /// The watch's report about a key: its new value and lease, or its deletion.
  struct KeyNews {
    std::string key;
    std::string value = {};
    std::int64_t lease = 0;
  };
  void TellKeys(std::int64_t revision, const std::vector<KeyNews>& news) {
    WatchResponse response;
    response.mutable_header()->set_revision(revision);
    response.mutable_header()->set_cluster_id(kCluster);
    for (const KeyNews& of_key : news) {
      auto& event = *response.add_events();
      if (of_key.value.empty()) event.set_type(etcdserverpb::Event::DELETE);
      event.mutable_kv()->set_key(of_key.key);
      event.mutable_kv()->set_value(of_key.value);
      event.mutable_kv()->set_lease(of_key.lease);
      event.mutable_kv()->set_mod_revision(revision);
      event.mutable_kv()->set_create_revision(of_key.value.empty() ? 0 : revision);
    }
    transport_.watches.back()->handler.response(response);
    time_.Elapse(Duration{0});
  }
  /// The watch reports the revision of another etcd, and a key of it if `change`.
  void TellOfAnotherCluster(std::int64_t revision, bool change) {
    WatchResponse other;
    other.mutable_header()->set_revision(revision);
    other.mutable_header()->set_cluster_id(kCluster + 1);
    if (change) {
      auto& event = *other.add_events();
      event.set_type(etcdserverpb::Event::DELETE);
      event.mutable_kv()->set_key(kKeys.MemberKey("n1"));
      event.mutable_kv()->set_mod_revision(revision);
    }
    transport_.watches.back()->handler.response(other);
    time_.Elapse(Duration{0});
  }
  void FollowsOnThough(bool change) {
    ReadGroup(10);
    TellOfAnotherCluster(50, change);
    time_.Elapse(RelayEngine::kProveEvery);
    while (!transport_.ranges.empty()) {
      RangeResponse page = Page(10);
      AddConfig(page, 4, kCluster);
      Answer(std::move(page));
    }
    proven_.clear();
    time_.Elapse(RelayEngine::kProveEvery);
    Answer(Page(15));
    EXPECT_TRUE(proven_.empty());
    MemberFact member{.node = "n1", .session = SessionId{71}, .ttl = seconds(9)};
    TellKeys(15, {{kKeys.MemberKey("n1"), etcd::EncodeMember(member), 71}});
    EXPECT_EQ(proven_.size(), 1u);
    EXPECT_EQ(Status().members.size(), 1u);
    EXPECT_FALSE(Status().halted);
  }
  void HaltsWhereAnotherClusterAnswersWith(std::int64_t revision) {
    ReadGroup(10);
    proven_.clear();
    int answers = 0;
    for (; answers < 10 && !Status().halted; ++answers) {
      time_.Elapse(RelayEngine::kProveEvery);
      RangeResponse other = Page(revision);
      other.mutable_header()->set_cluster_id(kCluster + 1);
      Answer(std::move(other));
    }
    EXPECT_GT(answers, 2) << "one answer is not enough";
    EXPECT_TRUE(proven_.empty());
    ASSERT_TRUE(Status().halted);
    EXPECT_THAT(Status().halted->message,
                AllOf(HasSubstr("belongs to etcd cluster 9"), HasSubstr("cluster 10 answers")));
  }
  /// For this long, each question for the store's revision is answered at once.
  void Prove(std::int64_t revision, Duration length) {
    for (const TimePoint end = time_.Now() + length; time_.Now() < end;) {
      while (!transport_.ranges.empty()) Answer(Page(revision));
      time_.Elapse(RelayEngine::kProveEvery);
    }
  }
  NodeStatus Status() {
    time_.Elapse(seconds(0) + std::chrono::milliseconds(51));
    return *engine_->follower().Status();
  }

  etcd::testing::FakeTransport transport_;
  ManualTime time_;
  const std::shared_ptr<History> history_ = std::make_shared<History>("orders", "r1", 8);
  std::shared_ptr<RelayEngine> engine_;
  std::vector<TimePoint> proven_;
};

TEST_F(RelayEngineTest, TakesTheGroupsShapeFromItsConfig) {
  EXPECT_FALSE(Status().ready);
  ReadGroup(10);
  const NodeStatus status = Status();
  EXPECT_TRUE(status.ready);
  EXPECT_EQ(status.shard_count, 4u);
  EXPECT_EQ(status.revision, Revision{10});
  EXPECT_EQ(status.session, SessionPhase::kRelay);
}

// Plan: the first read finds nothing. The config comes by the watch, and then everything is read
// again, to get what was there before it.
TEST_F(RelayEngineTest, WaitsForAGroupThatDoesNotExistYet) {
  Answer(Page(10));
  Answer(Page(10));
  EXPECT_THAT(Status().not_ready, HasSubstr("does not exist yet"));
  RangeResponse page = Page(11);
  AddConfig(page, 4, kCluster);
  page.mutable_kvs(0)->set_mod_revision(11);
  page.mutable_kvs(0)->set_create_revision(11);
  WatchResponse created;
  created.mutable_header()->set_revision(11);
  created.mutable_header()->set_cluster_id(kCluster);
  *created.add_events()->mutable_kv() = page.kvs(0);
  transport_.watches.back()->handler.response(created);
  time_.Elapse(Duration{0});
  ASSERT_EQ(transport_.ranges.size(), 1u);
  Answer(std::move(page));
  EXPECT_TRUE(Status().ready);
}

// The store is ahead of the watch. The engine asks the watch for its progress, and the answer
// proves the view as of the time when the store was asked.
TEST_F(RelayEngineTest, AProofNeedsTheWatchToReachTheStore) {
  ReadGroup(10);
  proven_.clear();
  time_.Elapse(RelayEngine::kProveEvery);
  const TimePoint asked = time_.Now();
  ASSERT_EQ(transport_.ranges.size(), 1u);
  EXPECT_FALSE(transport_.ranges.front().request.serializable());
  time_.Elapse(std::chrono::milliseconds(500));
  Answer(Page(15));
  EXPECT_EQ(transport_.watches.back()->progress_requests, 1);
  EXPECT_TRUE(proven_.empty());
  Tell(14);
  EXPECT_TRUE(proven_.empty());
  Tell(15);
  ASSERT_EQ(proven_.size(), 1u);
  EXPECT_LE(proven_.back(), asked);
}

// Plan: the watch stays below the store, also at the endpoint that is tried next. Each endpoint has
// the same time as in a node.
TEST_F(RelayEngineTest, AWatchThatStandsStillIsOpenedElsewhere) {
  ReadGroup(10);
  time_.Elapse(RelayEngine::kProveEvery);
  Answer(Page(15));
  const std::size_t opened = transport_.watches.size();
  time_.Elapse(core::kWatchStandsStill);
  ASSERT_EQ(transport_.watches.size(), opened + 1);
  EXPECT_EQ(transport_.watches.back()->avoid, transport_.watches[opened - 1]->endpoint);
  time_.Elapse(core::kWatchStandsStill);
  EXPECT_EQ(transport_.watches.size(), opened + 2);
}

// Plan: the watch delivers a revision each second, and is always behind the store.
TEST_F(RelayEngineTest, AWatchThatAdvancesIsNeverReopened) {
  ReadGroup(10);
  time_.Elapse(RelayEngine::kProveEvery);
  Answer(Page(100));
  const std::size_t opened = transport_.watches.size();
  for (std::int64_t revision = 11; revision < 40; ++revision) {
    time_.Elapse(seconds(1));
    Tell(revision);
  }
  EXPECT_EQ(transport_.watches.size(), opened);
}

// Everything is read again after kAuditEvery, because a watch may miss a deletion.
TEST_F(RelayEngineTest, ReadsEverythingAgainFromTimeToTime) {
  ReadGroup(10);
  const TimePoint read = time_.Now();
  const auto reads_all = [this] {
    return std::any_of(transport_.ranges.begin(), transport_.ranges.end(),
                       [](const auto& range) { return !range.request.count_only(); });
  };
  while (!reads_all() && time_.Now() < read + 2 * core::kAuditEvery) {
    transport_.ranges.clear();
    time_.Elapse(RelayEngine::kProveEvery);
  }
  EXPECT_GE(time_.Now(), read + core::kAuditEvery);
  EXPECT_LE(time_.Now(), read + core::kAuditEvery + RelayEngine::kProveEvery);
}

TEST_F(RelayEngineTest, AnUnansweredReadProvesNothing) {
  ReadGroup(10);
  proven_.clear();
  time_.Elapse(RelayEngine::kProveEvery);
  transport_.TakeRange().Fail(etcd::testing::Unknown());
  Tell(10);
  EXPECT_TRUE(proven_.empty());
  time_.Elapse(RelayEngine::kProveEvery);
  EXPECT_EQ(transport_.ranges.size(), 1u) << "it goes on asking";
}

TEST_F(RelayEngineTest, HaltsWhereTheStoreWentBackInTime) {
  ReadGroup(10);
  time_.Elapse(RelayEngine::kProveEvery);
  Answer(Page(9));
  ASSERT_TRUE(Status().halted);
  EXPECT_THAT(Status().halted->message, HasSubstr("went back in time"));
}

TEST_F(RelayEngineTest, HaltsWhereTheGroupIsOfAnotherCluster) {
  RangeResponse page = Page(10);
  AddConfig(page, 4, kCluster + 1);
  Answer(std::move(page));
  ASSERT_TRUE(Status().halted);
  EXPECT_THAT(Status().halted->message, HasSubstr("belongs to etcd cluster 10"));
}

// Plan: the endpoint leads to another etcd, which is ahead or younger, and has nothing of the
// group. Its answers to the relay's questions prove nothing, and make it read everything, which
// shows it.
TEST_F(RelayEngineTest, HaltsWhereAnotherClusterAnswers) {
  HaltsWhereAnotherClusterAnswersWith(50);
}
TEST_F(RelayEngineTest, HaltsWhereAYoungerClusterAnswers) {
  HaltsWhereAnotherClusterAnswersWith(5);
}

// Plan: as above, but no question is answered, and the watch delivers keys of the other etcd.
TEST_F(RelayEngineTest, HaltsWhereAnotherClusterReportsChanges) {
  ReadGroup(10);
  while (!transport_.ranges.empty()) transport_.TakeRange().Fail(etcd::testing::Unknown());
  time_.Elapse(core::kConfigPatience);
  while (!transport_.ranges.empty()) transport_.TakeRange().Fail(etcd::testing::Unknown());
  TellOfAnotherCluster(50, true);
  ASSERT_FALSE(Status().halted);
  RangeResponse page = Page(50);
  page.mutable_header()->set_cluster_id(kCluster + 1);
  Answer(std::move(page));
  ASSERT_TRUE(Status().halted);
  EXPECT_THAT(Status().halted->message, HasSubstr("cluster 10 answers"));
}

// Plan: the watch is opened at another etcd, which is ahead, while questions and reads reach the
// group's. The relay does not take a later revision of the group's etcd for reached, nor its news
// for old, nor its revision for a step back in time.
TEST_F(RelayEngineTest, ProgressOfAnotherClusterProvesNothing) { FollowsOnThough(false); }
TEST_F(RelayEngineTest, ChangesOfAnotherClusterProveNothing) { FollowsOnThough(true); }

// Plan: somebody restores a backup and raises etcd's revision, so only a key's revision shows it.
TEST_F(RelayEngineTest, HaltsWhereAKeyWentBackInTime) {
  ReadGroup(10);
  MemberFact member{.node = "n1", .session = SessionId{71}, .ttl = seconds(9)};
  TellKeys(20, {{kKeys.MemberKey("n1"), etcd::EncodeMember(member), 71}});
  engine_->follower().watch().Audit();
  RangeResponse page = Page(50);
  AddConfig(page, 4, kCluster);
  auto* const stored = page.add_kvs();
  stored->set_key(kKeys.MemberKey("n1"));
  stored->set_value(etcd::EncodeMember(member));
  stored->set_lease(71);
  stored->set_mod_revision(15);
  stored->set_create_revision(15);
  Answer(std::move(page));
  ASSERT_TRUE(Status().halted);
  EXPECT_THAT(Status().halted->message, HasSubstr("a key had revision 20"));
}

// Plan: a bad write replaces the config. It is put back soon the first time, and never the second.
TEST_F(RelayEngineTest, ABadConfigHaltsItOnlyIfItLasts) {
  ReadGroup(10);
  TellConfig(11, 5);
  Prove(11, core::kConfigPatience - seconds(1));
  EXPECT_FALSE(Status().halted);
  TellConfig(12, 4);
  Prove(12, core::kConfigPatience);
  EXPECT_FALSE(Status().halted);
  TellConfig(13, 5);
  time_.Elapse(3 * core::kConfigPatience);
  EXPECT_FALSE(Status().halted) << "it does not know what etcd has now";
  Prove(13, 2 * RelayEngine::kProveEvery);
  ASSERT_TRUE(Status().halted);
  EXPECT_THAT(Status().halted->message, HasSubstr("created again"));
}

// Plan: another bad write follows the first. The nodes have as long to put that one right, as in a
// node that is no member (ConfigKeeper). The same bad config read again gives no more time.
TEST_F(RelayEngineTest, EachBadConfigHasItsOwnTime) {
  ReadGroup(10);
  TellConfig(11, 5);
  Prove(11, core::kConfigPatience - seconds(1));
  TellConfig(12, 6);
  Prove(12, core::kConfigPatience - seconds(1));
  EXPECT_FALSE(Status().halted);
  TellConfig(12, 6);
  Prove(12, seconds(2));
  EXPECT_TRUE(Status().halted);
}

// Plan: a watch that was away for a while has the bad write and the one that put it back in one
// message.
TEST_F(RelayEngineTest, ABadConfigThatIsPutBackInTheSameMessageCountsForNothing) {
  ReadGroup(10);
  RangeResponse page;
  WatchResponse response;
  response.mutable_header()->set_revision(12);
  response.mutable_header()->set_cluster_id(kCluster);
  for (const auto& [revision, shards] : {std::pair(11, 5U), std::pair(12, 4U)}) {
    AddConfig(page, shards, kCluster);
    auto& event = *response.add_events();
    *event.mutable_kv() = page.kvs(page.kvs_size() - 1);
    event.mutable_kv()->set_mod_revision(revision);
  }
  transport_.watches.back()->handler.response(response);
  time_.Elapse(Duration{0});
  Prove(12, 3 * core::kConfigPatience);
  EXPECT_FALSE(Status().halted);
}

// Plan: an operator changes the settings twice, first in the two writes that the first change
// takes. Then a bad write comes, and is put back. The history has the two orders, and who gave
// them. Followers of routes start over only for the config that was put back.
TEST_F(RelayEngineTest, AChangeOfSettingsIsAnOrderAndNoNewGroup) {
  ReadGroup(10);
  const auto routes = std::make_shared<Incarnations>();
  engine_->follower().AddRouteObserver(routes);
  Prove(10, seconds(3));
  const std::uint64_t first = routes->incarnation;
  EXPECT_EQ(first, StoreIncarnationOf(kCluster, Revision{2}));
  ConfigFact config{.present = true, .shards = 4, .schema = kConfigSchema, .cluster_id = kCluster};
  config.before_settings = Revision{2};
  TellConfig(11, config);
  config.failover.policy = FailoverPolicy::kNever;
  config.actor = "ann@desk";
  TellConfig(12, config);
  config.failover.lock_delay = seconds(5);
  config.actor = "bob\n@desk";
  TellConfig(13, config);
  Prove(13, seconds(3));
  EXPECT_EQ(routes->incarnation, first);
  ConfigFact bad = config;
  bad.shards = 5;
  bad.failover = {};
  TellConfig(14, bad);
  config.before_settings = {};
  TellConfig(15, config);
  Prove(15, seconds(3));
  EXPECT_EQ(routes->incarnation, StoreIncarnationOf(kCluster, Revision{15}));
  std::vector<std::string> orders;
  for (const auto& event : history_->Read({}).events) {
    orders.push_back(event->change + ", by " + event->transition.actor);
  }
  EXPECT_THAT(orders, ElementsAre("failover never, lock-delay 0s, by ann@desk",
                                  "failover never, lock-delay 5s, by bob\\n@desk"));
}

// Plan: everything is read, page after page, and meanwhile the watch tells of an order. A later
// read has the order, too. The history has it once.
TEST_F(RelayEngineTest, AnOrderIsToldOnceAlthoughReadsOverlapTheWatch) {
  ReadGroup(10);
  const PolicyFact order{
      .name = {PolicyKind::kChanged}, .present = true, .actor = "ann@desk", .change = "drain n3"};
  const std::string key = kKeys.PolicyKey(order.name);
  engine_->follower().watch().Audit();
  RangeResponse earlier = Page(15);
  AddConfig(earlier, 4, kCluster);
  earlier.set_more(true);
  Answer(std::move(earlier));
  TellKeys(20, {{key, etcd::EncodePolicy(order)}});
  Answer(Page(15));
  engine_->follower().watch().Audit();
  RangeResponse later = Page(30);
  AddConfig(later, 4, kCluster);
  auto& stored = *later.add_kvs();
  stored.set_key(key);
  stored.set_value(etcd::EncodePolicy(order));
  stored.set_mod_revision(20);
  Answer(std::move(later));
  EXPECT_EQ(history_->Read({}).events.size(), 1u);
}

// Plan: n1 leads a shard and dies. Its guard, which knew of it for 40 ms, ends its session, and n2
// takes over a second later. The relay's history has both times.
TEST_F(RelayEngineTest, TellsHowLongAGuardKnewOfADeath) {
  ReadGroup(10);
  MemberFact member{.node = "n1", .session = SessionId{71}, .ttl = seconds(9)};
  TellKeys(11, {{kKeys.MemberKey("n1"), etcd::EncodeMember(member), 71}});
  member = {.node = "n2", .session = SessionId{72}, .ttl = seconds(9)};
  TellKeys(12, {{kKeys.MemberKey("n2"), etcd::EncodeMember(member), 72}});
  RecordFact record{.leader = "n1", .session = SessionId{71}};
  TellKeys(13, {{kKeys.ShardKey(ShardId{3}), etcd::EncodeRecord(record, ShardId{3})}});
  time_.Elapse(seconds(1));
  const DeathFact death{
      .node = "n1", .session = SessionId{71}, .detect = std::chrono::milliseconds(40)};
  TellKeys(14, {{kKeys.MemberKey("n1")}, {kKeys.DeathKey(), etcd::EncodeDeath(death)}});
  time_.Elapse(seconds(1));
  record = {.leader = "n2", .session = SessionId{72}, .previous = "n1"};
  record.reason = Reason::kProcessDied;
  TellKeys(15, {{kKeys.ShardKey(ShardId{3}), etcd::EncodeRecord(record, ShardId{3})}});
  const HistoryPage page = history_->Read({});
  ASSERT_FALSE(page.events.empty());
  EXPECT_EQ(page.events.back()->transition.to, "n2");
  EXPECT_EQ(page.events.back()->gap.detect, std::chrono::milliseconds(40));
  EXPECT_EQ(page.events.back()->gap.elect, seconds(1));
}

TEST_F(RelayEngineTest, HaltsWhereTheShardCountCannotBeOne) {
  RangeResponse page = Page(10);
  AddConfig(page, 4'000'000'000, kCluster);
  Answer(std::move(page));
  ASSERT_TRUE(Status().halted);
  EXPECT_THAT(Status().halted->message, HasSubstr("can't be read"));
}

}  // namespace
}  // namespace baton::runtime
