// The parts of the node's page: its files, how long things have lasted, and what needs attention.
#include "http/overview_json.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <boost/json.hpp>

#include <memory>
#include <string>
#include <vector>

#include "http/attention.h"
#include "http/fake_control.h"
#include "http/handler.h"
#include "http/page_file.h"
#include "http/shard_ages.h"
#include "http/status_json.h"

namespace baton::http {
namespace {

namespace json = boost::json;
using std::chrono::milliseconds;
using std::chrono::seconds;
using testing::ElementsAre;
using testing::HasSubstr;

class FixedClock : public Clock {
 public:
  TimePoint Now() const override { return now; }
  TimePoint now{seconds(1'000)};
};

runtime::ShardStatus ShardIn(std::uint32_t number, ShardState state, std::int64_t term = 7) {
  runtime::ShardStatus shard;
  shard.shard = ShardId{number};
  shard.state = state;
  if (state == ShardState::kLeaderless) return shard;
  shard.leader = "n1";
  shard.term = Term{term};
  return shard;
}

/// Tells `ages` the routes of the status, as a node's route feed would.
void Tell(const runtime::NodeStatus& status, ShardAges* ages) {
  auto group = std::make_shared<runtime::RouteGroup>();
  group->shards = static_cast<std::uint32_t>(status.shards.size());
  runtime::RouteBatch batch;
  batch.group = group;
  for (const runtime::ShardStatus& shard : status.shards) {
    batch.routes.push_back({.shard = shard.shard,
                            .leader = nullptr,
                            .term = shard.term,
                            .state = shard.state,
                            .revision = {}});
  }
  ages->OnRoutes(batch);
}

runtime::NodeStatus StatusWith(const std::vector<ShardState>& states) {
  runtime::NodeStatus status;
  status.group = "orders";
  status.node = "n1";
  status.shard_count = static_cast<std::uint32_t>(states.size());
  for (std::uint32_t s = 0; s < states.size(); ++s) status.shards.push_back(ShardIn(s, states[s]));
  return status;
}

std::vector<std::string> Named(const std::vector<SickShard>& sick) {
  std::vector<std::string> names;
  for (const SickShard& one : sick) {
    names.push_back(std::to_string(one.shard->shard.value) + " " + ToString(one.problem));
  }
  return names;
}

TEST(ShardAges, CountFromTheLastChangeOfTermOrState) {
  // Plan: a shard is seen moving for 5 s. A new address changes nothing; a new term does. A status
  // with another term than the last one has no age. A state in which a shard was first
  // seen may have lasted for longer.
  FixedClock clock;
  ShardAges ages(clock);
  runtime::NodeStatus status = StatusWith({ShardState::kMoving});
  const auto age = [&] { return ages.Of({&status.shards[0]}).at(0); };
  EXPECT_EQ(age(), ShardAge{}) << "never told of";
  Tell(status, &ages);
  clock.now += seconds(5);
  EXPECT_EQ(age(), (ShardAge{seconds(5), true}));
  Tell(status, &ages);
  EXPECT_EQ(age(), (ShardAge{seconds(5), true}));
  status.shards[0].term = Term{8};
  EXPECT_EQ(age(), ShardAge{});
  Tell(status, &ages);
  clock.now += seconds(1);
  EXPECT_EQ(age(), (ShardAge{seconds(1), false}));
  status.shards[0].state = ShardState::kSuspended;
  EXPECT_EQ(age(), ShardAge{});
}

TEST(Attention, NamesTheWorstAndTheLongestFirst) {
  // Plan: one shard in each state, two of them leaderless since different times. Moves and
  // callbacks count once they have lasted long.
  FixedClock clock;
  ShardAges ages(clock);
  runtime::NodeStatus status =
      StatusWith({ShardState::kLed, ShardState::kMoving, ShardState::kActivating,
                  ShardState::kSuspended, ShardState::kLed, ShardState::kLeaderless});
  Tell(status, &ages);
  clock.now += kLongMove - milliseconds(1);
  status.shards[4] = ShardIn(4, ShardState::kLeaderless);
  Tell(status, &ages);
  EXPECT_THAT(Named(SickShards(status, ages)),
              ElementsAre("5 leaderless", "4 leaderless", "3 suspended"));
  clock.now += milliseconds(1);
  status.shards[0].quarantined = true;
  EXPECT_THAT(Named(SickShards(status, ages)),
              ElementsAre("0 unreadable", "5 leaderless", "4 leaderless", "3 suspended", "1 moving",
                          "2 activating"));
}

TEST(Attention, NamesAShardThatFailsAtOnceWithItsError) {
  // Plan: one shard activates for the first time, one fails since 3 s, one is suspended and failed
  // before.
  FixedClock clock;
  ShardAges ages(clock);
  FakeControl control;
  runtime::NodeStatus status =
      StatusWith({ShardState::kActivating, ShardState::kActivating, ShardState::kSuspended});
  for (const std::size_t failing : {1, 2}) {
    status.shards[failing].failing = runtime::FailingActivation{
        .attempts = 4, .lasted = seconds(3), .last_error = "the database is down"};
  }
  Tell(status, &ages);
  EXPECT_THAT(Named(SickShards(status, ages)), ElementsAre("2 suspended", "1 failing"));
  const json::value document =
      json::parse(OverviewJson({.status = status, .ages = ages, .control = control, .taken = {}}));
  const json::value& attention = document.at("attention");
  EXPECT_EQ(attention.at("counts").at("failing"), 1);
  EXPECT_EQ(json::serialize(attention.at("shards").at(1).at("failing")),
            R"({"attempts":4,"lasted_ms":3000,"last_error":"the database is down"})");
  EXPECT_EQ(attention.at("shards").at(1).at("for_ms"), 3000);
}

TEST(Overview, HasTheGridTheMovesAndTheSickInOneDocument) {
  FixedClock clock;
  ShardAges ages(clock);
  FakeControl control;
  control.calls[{"Txn", "OK"}].count = 3;
  control.calls[{"Txn", "UNAVAILABLE"}].count = 2;
  runtime::NodeStatus status =
      StatusWith({ShardState::kLed, ShardState::kMoving, ShardState::kLeaderless});
  status.members.resize(2);
  status.members[0].fact.node = "n0";
  status.members[1].fact.node = "n1";
  status.shards[1].move =
      std::make_shared<const MoveFact>(MoveFact{.shard = ShardId{1}, .from = "n1", .to = "n0"});
  status.shards[2].previous = "n0";
  status.shards[2].reason = Reason::kLeaseExpired;
  Tell(status, &ages);
  clock.now += milliseconds(1'500);
  const json::value document =
      json::parse(OverviewJson({.status = status, .ages = ages, .control = control, .taken = {}}));
  const auto part = [&](const char* name) { return json::serialize(document.at(name)); };
  EXPECT_EQ(document.at("group"), "orders");
  EXPECT_EQ(part("etcd"), R"({"calls":5,"failed":2,"seconds":0E0})");
  EXPECT_EQ(part("moving_ms"), R"({"1":1500})");
  EXPECT_EQ(json::serialize(document.at("grid").at("nodes")), R"(["n0","n1"])");
  EXPECT_EQ(json::serialize(document.at("grid").at("leaders")), "[1,1,-1]");
  EXPECT_EQ(document.at("grid").at("states"), "lmx");
  EXPECT_EQ(document.at("grid").at("reasons"), "aab");
  EXPECT_EQ(document.at("grid").at("reason_letters").at("b"), "lease_expired");
  EXPECT_EQ(
      part("attention"),
      R"({"counts":{"unreadable":0,"leaderless":1,"suspended":0,"failing":0,"moving":0,)"
      R"("activating":0},)"
      R"("nodes":{"leaderless":["n0"]},)"
      R"("shards":[{"shard":2,"leader":null,"address":null,"term":0,"state":"leaderless",)"
      R"("reason":"lease_expired","cause":null,"previous":"n0","move":null,"quarantined":false,)"
      R"("failing":null,)"
      R"("deaths":0,"claims_wait_ms":0,"waits_for":null,"others_wait_ms":null,"lock_wait_ms":0,)"
      R"("rule":null,"nobody_may_lead":false,"led_against_rule":false,)"
      R"("standbys":[],"without_ready_standby":false,)"
      R"("problem":"leaderless","for_ms":1500,"at_least":true}]})");
}

// Plan: rule 3 lets nobody lead shard 2, and the status does not have it. Rule 1 forbids the
// leaders of the others, and asks for standbys that they lack.
TEST(Overview, NamesTheRulesThatAreNotKept) {
  const ShardAges ages;
  FakeControl control;
  runtime::NodeStatus status =
      StatusWith({ShardState::kLed, ShardState::kLed, ShardState::kLeaderless});
  status.members.resize(1);
  status.members[0].fact.node = "n1";
  status.placement = {
      {.shards = {}, .require = {{"zone", {"a", "b"}}}, .prefer = {}, .standbys = 1}};
  status.shards[2].nobody_may_lead = true;
  status.shards[2].rule = 3;
  for (std::size_t shard : {0, 1}) {
    status.shards[shard].led_against_rule = true;
    status.shards[shard].rule = 1;
  }
  const auto document =
      json::parse(OverviewJson({.status = status, .ages = ages, .control = control, .taken = {}}));
  EXPECT_EQ(json::serialize(document.at("rules_not_kept")),
            R"([{"rule":1,"require":"zone=a|b","nobody_may_lead":0,"led_against_rule":2,)"
            R"("without_ready_standby":0,"fewer_standbys":2,"fewer_ready_standbys":0,)"
            R"("not_apart":0},)"
            R"({"rule":3,"require":null,"nobody_may_lead":1,"led_against_rule":0,)"
            R"("without_ready_standby":0,"fewer_standbys":0,"fewer_ready_standbys":0,)"
            R"("not_apart":0}])");
}

// Plan: shard 0 has two standbys. Shard 1 lacks one, but is led: it is counted, not listed.
TEST(Overview, CountsTheShardsWithoutAReadyStandby) {
  const ShardAges ages;
  FakeControl control;
  runtime::NodeStatus status = StatusWith({ShardState::kLed, ShardState::kLed});
  status.shards[0].standbys = std::make_shared<const std::vector<runtime::StandbyStatus>>(
      std::vector<runtime::StandbyStatus>{{"n2", "127.0.0.1:7402", true}, {"n3", "", false}});
  status.shards[1].without_ready_standby = true;
  status.without_ready_standby = 1;
  const json::value document =
      json::parse(OverviewJson({.status = status, .ages = ages, .control = control, .taken = {}}));
  EXPECT_EQ(document.at("without_ready_standby"), 1);
  EXPECT_TRUE(document.at("attention").at("shards").as_array().empty());
  const json::value shard = json::parse(ShardJson(status, ShardId{0}).value_or("null"));
  EXPECT_EQ(json::serialize(shard.at("standbys")),
            R"([{"node":"n2","address":"127.0.0.1:7402","ready":true},)"
            R"({"node":"n3","address":null,"ready":false}])");
  const json::value cold = json::parse(ShardJson(status, ShardId{1}).value_or("null"));
  EXPECT_EQ(json::serialize(cold.at("standbys")), "[]");
  EXPECT_EQ(cold.at("without_ready_standby"), true);
  const json::value list = json::parse(ShardsJson(status));
  EXPECT_EQ(list.at("shards").at(0).at("standbys"), shard.at("standbys"));
  EXPECT_FALSE(list.at("shards").at(1).as_object().contains("standbys")) << "few shards have some";
}

TEST(Overview, ListsAsManyAsPeopleReadAndCountsAll) {
  const ShardAges ages;
  FakeControl control;
  const runtime::NodeStatus status =
      StatusWith(std::vector<ShardState>(kMaxListed + 50, ShardState::kLeaderless));
  const json::value document =
      json::parse(OverviewJson({.status = status, .ages = ages, .control = control, .taken = {}}));
  EXPECT_EQ(document.at("attention").at("counts").at("leaderless"), kMaxListed + 50);
  EXPECT_EQ(document.at("attention").at("shards").as_array().size(), kMaxListed);
}

TEST(Overview, CostsAFewBytesAShard) {
  const ShardAges ages;
  FakeControl control;
  const runtime::NodeStatus status = StatusWith(std::vector<ShardState>(10'000, ShardState::kLed));
  EXPECT_LT(OverviewJson({.status = status, .ages = ages, .control = control, .taken = {}}).size(),
            50'000U);
}

TEST(PageFile, IsServedWithAPolicyThatAllowsNothingFromElsewhere) {
  const auto index = PageFile("/");
  ASSERT_TRUE(index);
  EXPECT_EQ(index->content_type, "text/html; charset=utf-8");
  EXPECT_THAT(*index->body, HasSubstr("<script type=\"module\" src=\"/page/main.js\">"));
  EXPECT_THAT(index->content_security_policy, testing::StartsWith("default-src 'none'; "));
  EXPECT_EQ(PageFile("/page/main.js")->content_type, "text/javascript; charset=utf-8");
  EXPECT_EQ(PageFile("/page/style.css")->content_type, "text/css; charset=utf-8");
  EXPECT_EQ(PageFile("/page/icon.svg")->content_type, "image/svg+xml");
  for (const char* path : {"", "/page", "/page/", "/page/../main.js", "/main.js", "//"}) {
    EXPECT_FALSE(PageFile(path)) << path;
  }
}

TEST(Handler, AnswersThePageWhileTheLoopIsStuckAndTheOverviewWithAPicture) {
  FakeControl control;
  control.SetStatus(StatusWith({ShardState::kLed}));
  Handler handler(control, {});
  EXPECT_EQ(handler.TryAnswer("/?from=bookmark")->status, 200U);
  EXPECT_FALSE(handler.TryAnswer("/v1/overview"));
  EXPECT_THAT(*handler.Answer("/v1/overview").body, HasSubstr(R"("states":"l")"));
  EXPECT_THAT(*handler.Answer("/v1/status").body, HasSubstr(R"("moves":[])"));
  control.Hold();
  EXPECT_EQ(handler.Answer("/v1/overview").status, 503U);
  EXPECT_EQ(handler.TryAnswer("/")->status, 200U);
  control.Release();
}

}  // namespace
}  // namespace baton::http
