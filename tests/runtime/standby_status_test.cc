// The status board: what a status says of shards and their standbys, and which shards it renders
// again.
#include "runtime/status_board.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <atomic>
#include <set>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "core/view.h"
#include "runtime/node_status.h"
#include "runtime/rules_not_kept.h"

namespace baton::runtime {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;
using ::testing::IsNull;

const TimePoint kNow{std::chrono::seconds(5)};
constexpr std::chrono::seconds kSettle{1};
constexpr std::uint32_t kShards = 600;  // more than a block of SharedBlocks

PlacementRule StandbyRule(std::uint32_t standbys) {
  PlacementRule rule;
  rule.standbys = standbys;
  return rule;
}

ConfigFact ConfigWith(const Placement& placement, std::int64_t revision) {
  ConfigFact config;
  config.revision = Revision{revision};
  config.present = true;
  config.shards = kShards;
  config.cluster_id = 9;
  config.placement = placement;
  return config;
}

MemberFact Node(const NodeId& id, std::int64_t session, std::int64_t revision) {
  MemberFact member;
  member.node = id;
  member.present = true;
  member.lease = member.session = SessionId{session};
  member.revision = Revision{revision};
  member.service_address = id + ":80";
  return member;
}

ShardRecordFact LedBy(const NodeId& id, std::int64_t session, std::uint32_t shard) {
  ShardRecordFact fact{.shard = ShardId{shard}, .record = {}};
  fact.record.present = true;
  fact.record.leader = id;
  fact.record.session = SessionId{session};
  fact.record.revision = Revision{20 + shard};
  return fact;
}

/// n1 leads all shards; n1, n2 and n3 are there.
class StatusBoardTest : public ::testing::Test {
 protected:
  void Begin(const Placement& placement) {
    std::vector<Fact> facts = {ConfigWith(placement, 2)};
    for (int i = 1; i <= 3; ++i) facts.push_back(Node("n" + std::to_string(i), i, 10 + i));
    for (std::uint32_t s = 0; s < kShards; ++s) facts.push_back(LedBy("n1", 1, s));
    Snapshot snapshot{.revision = Revision{1000}, .facts = std::move(facts)};
    view_.Merge(snapshot, kNow);
    board_.Note(view_, view_.TakeChanges());
    Look();
  }
  void Tell(Fact fact) {
    view_.Merge(std::vector<Fact>{std::move(fact)}, kNow);
    board_.Note(view_, view_.TakeChanges());
  }
  void TellReady(const NodeId& id, std::int64_t session, std::vector<ShardId> shards) {
    MemberFact member = Node(id, session, ++revision_);
    member.ready = std::move(shards);
    Tell(member);
  }
  void TellUnreadable(std::uint32_t shard, Readability readability) {
    ShardRecordFact fact{.shard = ShardId{shard}, .record = {}};
    fact.record.present = true;
    fact.record.readability = readability;
    fact.record.revision = Revision{++revision_};
    Tell(fact);
  }
  /// A status as a relay makes it. Afterwards `rendered_` has the shards that it rendered.
  const NodeStatus& Look() {
    rendered_.clear();
    const auto look = [&](ShardId shard) {
      rendered_.push_back(shard.value);
      return ShardOf(view_, shard, now_);
    };
    status_ = {};
    AddView(view_, {.shard = look, .settle = kSettle, .now = now_}, board_, &status_);
    return status_;
  }
  const std::vector<StandbyStatus>& StandbysOf(std::uint32_t shard) const {
    return *status_.shards[shard].standbys;
  }

  core::View view_{kShards, "n1"};
  StatusBoard board_;
  NodeStatus status_;
  std::vector<std::uint32_t> rendered_;
  std::int64_t revision_ = 2000;
  TimePoint now_ = kNow;
};

// Plan: no rule asks for standbys, and then one does of other shards.
TEST_F(StatusBoardTest, AShardWithoutStandbysHasNoList) {
  Begin({});
  for (const ShardStatus& shard : status_.shards) EXPECT_THAT(shard.standbys, IsNull());
  EXPECT_EQ(status_.without_ready_standby, 0u);
  PlacementRule rule = StandbyRule(1);
  rule.shards = {{7, 7}};
  Tell(ConfigWith({rule}, 2001));
  Look();
  EXPECT_THAT(status_.shards[6].standbys, IsNull());
  EXPECT_FALSE(status_.shards[6].without_ready_standby);
  EXPECT_EQ(StandbysOf(7).size(), 1u);
  EXPECT_TRUE(status_.shards[7].without_ready_standby);
  EXPECT_EQ(status_.without_ready_standby, 1u);
}

// Plan: one node says that it is ready for two shards, and later for one. Only what changed is
// rendered, and the count follows.
TEST_F(StatusBoardTest, ReadinessIsShownAndRendersOnlyItsShards) {
  Begin({StandbyRule(2)});
  ASSERT_EQ(StandbysOf(3).size(), 2u) << "n2 and n3";
  EXPECT_EQ(status_.without_ready_standby, kShards);
  TellReady("n2", 2, {ShardId{3}, ShardId{500}});
  Look();
  EXPECT_THAT(rendered_, ElementsAre(3, 500));
  for (const StandbyStatus& standby : StandbysOf(500)) {
    EXPECT_EQ(standby.ready, standby.node == "n2");
    EXPECT_EQ(standby.address, standby.node + ":80");
  }
  EXPECT_FALSE(status_.shards[500].without_ready_standby);
  EXPECT_EQ(status_.without_ready_standby, kShards - 2);
  for (const MemberStatus& member : status_.members) EXPECT_THAT(member.fact.ready, IsEmpty());
  TellReady("n2", 2, {ShardId{500}});
  Look();
  EXPECT_THAT(rendered_, ElementsAre(3));
  EXPECT_EQ(status_.without_ready_standby, kShards - 1);
}

// Plan: a rule asks for three standbys in different zones, and there are three nodes, in none. A
// node comes, and then they have zones.
TEST_F(StatusBoardTest, AStandbyRuleThatCantBeKeptIsFound) {
  PlacementRule rule = StandbyRule(3);
  rule.spread = "zone";
  Begin({rule});
  EXPECT_THAT(FindRulesNotKept(status_),
              ElementsAre(testing::Pair(1, RuleGaps{.without_ready_standby = kShards,
                                                    .fewer_standbys = kShards,
                                                    .not_apart = kShards})));
  Tell(Node("n4", 4, ++revision_));
  EXPECT_THAT(FindRulesNotKept(Look()),
              ElementsAre(testing::Pair(1, RuleGaps{.without_ready_standby = kShards,
                                                    .fewer_ready_standbys = kShards,
                                                    .not_apart = kShards})));
  for (int i = 1; i <= 4; ++i) {
    MemberFact member = Node("n" + std::to_string(i), i, ++revision_);
    member.zone = std::string(1, static_cast<char>('a' + i));
    Tell(member);
  }
  EXPECT_EQ(FindRulesNotKept(Look()).at(1).not_apart, 0u);
}

// Plan: all shards have the same standbys in one of two orders. Shards that did not change share
// them with one that did.
TEST_F(StatusBoardTest, EqualListsAreOne) {
  Begin({StandbyRule(2)});
  std::set<const void*> lists;
  for (const ShardStatus& shard : status_.shards) lists.insert(shard.standbys.get());
  EXPECT_EQ(lists.size(), 2u);
  TellReady("n2", 2, {ShardId{3}});
  Look();
  TellReady("n2", 2, {});
  Look();
  for (const ShardStatus& shard : status_.shards) lists.insert(shard.standbys.get());
  EXPECT_LE(lists.size(), 3u);
  std::vector<ShardId> ready;
  for (std::uint32_t s = 0; s < 20; ++s) {
    ready.push_back(ShardId{s});
    TellReady("n2", 2, ready);
    Look();
  }
  lists.clear();
  for (const ShardStatus& shard : status_.shards) lists.insert(shard.standbys.get());
  EXPECT_LE(lists.size(), 4u) << "two orders, ready or not";
}

// Plan: n2 begins a session with another service address; its shards as a standby show it.
TEST_F(StatusBoardTest, AStandbysNewAddressIsShown) {
  Begin({StandbyRule(2)});
  MemberFact member = Node("n2", 22, ++revision_);
  member.service_address = "elsewhere:80";
  Tell(member);
  Look();
  EXPECT_EQ(rendered_.size(), kShards);
  for (std::uint32_t s = 0; s < kShards; ++s) {
    for (const StandbyStatus& standby : StandbysOf(s)) {
      EXPECT_EQ(standby.address, standby.node == "n2" ? "elsewhere:80" : "n3:80");
    }
  }
}

// Plan: n2 goes and comes back elsewhere, between two statuses and over one.
TEST_F(StatusBoardTest, AStandbyThatComesBackShowsItsNewAddress) {
  Begin({StandbyRule(2)});
  for (const bool between : {false, true}) {
    MemberFact gone;
    gone.node = "n2";
    gone.revision = Revision{++revision_};
    Tell(gone);
    if (between) Look();
    MemberFact member = Node("n2", revision_, revision_ + 1);
    member.service_address = between ? "there:80" : "here:80";
    ++revision_;
    Tell(member);
    Look();
    for (std::uint32_t s = 0; s < kShards; ++s) {
      ASSERT_EQ(StandbysOf(s).size(), 2u);
      for (const StandbyStatus& standby : StandbysOf(s)) {
        EXPECT_EQ(standby.address, standby.node == "n2" ? member.service_address : "n3:80");
      }
    }
  }
}

// Plan: a rule asks for standbys, and no node but the leader is left.
TEST_F(StatusBoardTest, AShardWithTooFewNodesLacksAReadyStandby) {
  Begin({StandbyRule(1)});
  for (const char* gone : {"n2", "n3"}) {
    MemberFact member;
    member.node = gone;
    member.revision = Revision{++revision_};
    Tell(member);
  }
  Look();
  for (const ShardStatus& shard : status_.shards) {
    EXPECT_THAT(shard.standbys, IsNull());
    EXPECT_TRUE(shard.without_ready_standby);
  }
  EXPECT_EQ(status_.without_ready_standby, kShards);
}

// Plan: with failover never, n1 leads a shard and is gone. It comes back without a state directory,
// then with another one, and then with the one that led. Each time the status is looked at before.
TEST_F(StatusBoardTest, AShardSaysIfItsNodeIsBackWithoutItsDirectory) {
  Begin({});
  ConfigFact config = ConfigWith({}, ++revision_);
  config.failover.policy = FailoverPolicy::kNever;
  Tell(config);
  ShardRecordFact led = LedBy("n1", 1, 7);
  led.record.directory = 42;
  led.record.revision = Revision{++revision_};
  Tell(led);
  const auto back_with = [&](std::uint64_t directory) {
    MemberFact gone = Node("n1", 1, ++revision_);
    gone.present = false;
    Tell(gone);
    EXPECT_EQ(Look().shards[7].waits_for, "n1");
    EXPECT_FALSE(status_.shards[7].waits_for_directory);
    MemberFact back = Node("n1", revision_, revision_ + 1);
    back.directory = directory;
    ++revision_;
    Tell(back);
    EXPECT_EQ(Look().shards[7].waits_for, "n1");
    return status_.shards[7].waits_for_directory;
  };
  EXPECT_TRUE(back_with(0));
  EXPECT_TRUE(back_with(41));
  EXPECT_FALSE(back_with(42));
}

// Plan: somebody writes two bytes to a shard's key. Time never lets anybody claim that shard, so a
// later status needs no new assignment.
TEST_F(StatusBoardTest, ARecordOfANewerSchemaCostsOneAssignment) {
  Begin({});
  TellUnreadable(7, Readability::kNewerSchema);
  const auto assignment = Look().assignment;
  EXPECT_EQ(assignment->Whole().shard_of.size(), kShards - 1);
  now_ += std::chrono::hours(1);
  EXPECT_EQ(Look().assignment, assignment);
}

// Plan: the record of a shard that nobody led is damaged. The assignment is made again at the time
// from which any node may claim the shard, and not before. With a lock delay that is later.
TEST_F(StatusBoardTest, ADamagedRecordCostsAnotherAssignmentOnceAnyNodeMayClaim) {
  Begin({});
  Tell(ShardRecordFact{.shard = ShardId{7}, .record = {.revision = Revision{++revision_}}});
  TellUnreadable(7, Readability::kDamaged);
  const TimePoint from = kNow + std::chrono::seconds(10) + kSettle;
  for (const auto lock_delay : {std::chrono::seconds(0), std::chrono::seconds(5)}) {
    ConfigFact config = ConfigWith({}, ++revision_);
    config.failover.lock_delay = lock_delay;
    Tell(config);
    now_ = kNow;
    const auto assignment = Look().assignment;
    EXPECT_EQ(assignment->Whole().shard_of.size(), kShards - 1);
    now_ = from + lock_delay - std::chrono::nanoseconds(1);
    EXPECT_EQ(Look().assignment, assignment);
    now_ += std::chrono::nanoseconds(1);
    EXPECT_EQ(Look().assignment->Whole().shard_of.size(), kShards);
  }
}

// Plan: shards go to n2 one after the other. Of each status, three threads ask for the targets and
// for the whole assignment while the board goes on. (For the thread sanitizer.)
TEST_F(StatusBoardTest, ReadersComputeTargetsWhileItGoesOn) {
  Begin({});
  std::vector<std::jthread> readers;
  std::atomic<int> right{0};
  for (std::uint32_t s = 0; s < 40; ++s) {
    ShardRecordFact moved = LedBy("n2", 2, s);
    moved.record.revision = Revision{++revision_};
    Tell(moved);
    const NodeStatus status = Look();
    for (int reader = 0; reader < 3; ++reader) {
      readers.emplace_back([status, s, &right] {
        std::uint32_t targets = 0;
        for (const MemberStatus& member : status.members) targets += status.TargetOf(member);
        const core::AssignmentOfView whole = status.assignment->Whole();
        right += targets == kShards && whole.input.shards[s].leader == 1 ? 1 : 0;
      });
    }
  }
  readers.clear();
  EXPECT_EQ(right, 120);
}

// Plan: a write's answer shows a record of a session that the watch has not shown. It may live, so
// the end of the shard's wait is not known. The status shows how long the wait will be.
TEST_F(StatusBoardTest, ShowsTheWholeWaitWhileItsBeginningIsNotKnown) {
  Begin({});
  ShardRecordFact record = LedBy("n9", 9, 3);
  record.record.revision = Revision{++revision_};
  record.record.tally.deaths = 1;
  Tell(record);
  const Duration wait = core::DeathBackoff::WaitAfter(ShardId{3}, 2);
  for (int minute = 0; minute < 2; ++minute) {
    Look();
    EXPECT_EQ(status_.shards[3].deaths, 2u);
    EXPECT_EQ(status_.shards[3].claims_wait, wait);
    EXPECT_EQ(status_.waiting, 1u);
    now_ += std::chrono::minutes(1);
  }
}

// Plan: the group has a lock delay, and the leader of all shards leaves. The shards wait by the
// settings until the delay is over, though none is rendered again.
TEST_F(StatusBoardTest, CountsShardsThatWaitByTheSettings) {
  Begin({});
  EXPECT_EQ(status_.waiting_by_settings, 0u);
  ConfigFact config = ConfigWith({}, ++revision_);
  config.failover.lock_delay = std::chrono::seconds(5);
  Tell(config);
  MemberFact gone;
  gone.node = "n1";
  gone.revision = Revision{++revision_};
  Tell(gone);
  EXPECT_EQ(Look().waiting_by_settings, kShards);
  now_ += std::chrono::seconds(5);
  EXPECT_EQ(Look().waiting_by_settings, 0u);
  EXPECT_THAT(rendered_, IsEmpty());
}

}  // namespace
}  // namespace baton::runtime
