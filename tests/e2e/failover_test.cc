// How a group fails over, as an operator sets it: who leads the shards of a node that was killed or
// stopped, what a restart gets back, and what a force-release does.
#include <algorithm>
#include <csignal>

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <boost/json.hpp>

#include "baton/v1/records.pb.h"
#include "e2e/cluster.h"
#include "e2e/etcd_client.h"

namespace baton::e2e {
namespace {

namespace json = boost::json;
using testing::EndsWith;
using testing::HasSubstr;
using testing::IsEmpty;

class Failover : public testing::Test {
 protected:
  // n1 and n2 lead six shards each, and the settings are set.
  Table Begin(const std::vector<std::string>& settings) {
    cluster_.StartAll({"n1", "n2"});
    Table before = cluster_.AwaitBalanced({"n1", "n2"});
    Set(settings);
    return before;
  }
  void Set(const std::vector<std::string>& settings) {
    std::vector<std::string> words{"group", "set"};
    words.insert(words.end(), settings.begin(), settings.end());
    const app::Ran ran = cluster_.Ctl("n1", words);
    if (ran.exit != 0) throw Unmet("group set: " + ran.err);
  }
  json::value Shard(int shard) const {
    return json::parse(cluster_.HttpBody("n1", "/v1/shards/" + std::to_string(shard)));
  }
  bool WaitsForN2(int shard) const {
    const json::value now = Shard(shard);
    return now.at("leader").is_null() && now.at("waits_for") == "n2";
  }
  // Waits until n1 knows that these shards have no leader and wait for n2.
  void AwaitWaiting(const std::set<int>& shards) {
    cluster_.Await("n2's shards wait for it", [&] {
      return std::all_of(shards.begin(), shards.end(), [&](int each) { return WaitsForN2(each); });
    });
  }
  void KillN2(const std::set<int>& shards) {
    cluster_.node("n2").Kill();
    AwaitWaiting(shards);
  }
  // Three renewals take a TTL: any claim that n1 could make has been made.
  void LetATtlPass(const std::string& id) {
    const std::string renewals = "baton_lease_renewals_total{result=\"confirmed\"}";
    const double first = cluster_.Metric(id, renewals);
    cluster_.Await(id + " renews", [&] { return cluster_.Metric(id, renewals) >= first + 3; });
  }
  std::set<int> NowLedBy(const std::string& id) { return LedBy(cluster_.Look("n1").value(), id); }
  // n2 has its shards back, and nothing else has moved.
  void AwaitN2Back(const Table& before) {
    const std::set<int> own = LedBy(before, "n2");
    cluster_.Await("n2 leads its shards again", [&](const Table& now) {
      return LedBy(now, "n2") == own && Retermed(before, now) == own;
    });
    EXPECT_THAT(Moved(before, cluster_.AwaitLed()), IsEmpty());
  }
  baton::v1::ConfigRecord Config() {
    baton::v1::ConfigRecord config;
    EXPECT_TRUE(config.ParseFromString(etcd_.Get(cluster_.Key("config")).value().value()));
    return config;
  }

  EtcdClient etcd_{SharedEtcd().endpoints()};
  Cluster cluster_{SharedEtcd(), {.shards = 12, .ttl = kShortLease, .flags = kNoGuard}};
};

// n1 takes the settings, n2 shows them, and etcd has them. A dry run and settings that are there
// already write nothing. The schema rises with the first change, and stays.
TEST_F(Failover, SettingsAreTheGroups) {
  cluster_.StartAll({"n1", "n2"});
  cluster_.AwaitBalanced({"n1", "n2"});
  cluster_.Await("a balancer", [&] { return etcd_.Get(cluster_.Key("balancer")).has_value(); });
  EXPECT_EQ(Config().schema(), 1u);
  const std::int64_t revision = etcd_.Revision();
  const app::Ran dry =
      cluster_.Ctl("n1", {"group", "set", "failover=after", "failover-delay=30s", "--dry-run"});
  EXPECT_EQ(dry.exit, 0) << dry.err;
  EXPECT_EQ(etcd_.Revision(), revision);
  Set({"failover=after", "failover-delay=30s", "lock-delay=2s"});
  EXPECT_EQ(etcd_.Revision(), revision + 2);
  cluster_.Await("n2 shows the settings", [&] {
    return cluster_.Ctl("n2", {"group", "get"}).out ==
           "expected-nodes not set\nmax-moves not set: each node's --max-moves\n"
           "rebalance-delay not set: each node's --rebalance-delay\n"
           "cooldown not set: each node's --cooldown\nfailover after\n"
           "failover-delay 30s\nlock-delay 2s\nplacement no rules\n";
  });
  EXPECT_EQ(Config().schema(), 2u);
  EXPECT_EQ(Config().failover(), baton::v1::RECORD_FAILOVER_AFTER);
  EXPECT_EQ(Config().failover_delay_ms(), 30'000);
  EXPECT_EQ(Config().lock_delay_ms(), 2000);
  Set({"failover=after", "lock-delay=2s"});
  EXPECT_EQ(etcd_.Revision(), revision + 2);
  Set({"failover=immediate", "lock-delay=0"});
  EXPECT_THAT(cluster_.Ctl("n1", {"group", "get", "-o", "json"}).out,
              EndsWith(R"("failover":"immediate","failover_delay_ms":null,"lock_delay_ms":0,)"
                       R"("placement_rules":0,"config_schema":2})"
                       "\n"));
}

// Wrong settings are one line that says what to do, and write nothing.
TEST_F(Failover, WrongSettingsAreRefused) {
  cluster_.Start("n1");
  cluster_.AwaitBalanced({"n1"});
  const auto refused = [&](std::vector<std::string> settings) {
    settings.insert(settings.begin(), {"group", "set"});
    const app::Ran ran = cluster_.Ctl("n1", settings);
    EXPECT_EQ(ran.exit, 2);
    EXPECT_THAT(ran.out, IsEmpty());
    return ran.err;
  };
  EXPECT_EQ(
      refused({"failover=after"}),
      "batonctl: failover=after needs failover-delay: give failover-delay=30s, for example\n");
  EXPECT_EQ(refused({"failover=after", "failover-delay=999ms"}),
            "batonctl: failover-delay is 999ms; give 1s to 24h\n");
  EXPECT_THAT(refused({"failover-delay=30s"}), HasSubstr("give failover=after, too"));
  EXPECT_EQ(refused({"lock-delay=61m"}), "batonctl: lock-delay is 61m; give 0 to 1h\n");
  EXPECT_THAT(refused({"failover=newer"}), HasSubstr("expected immediate, after or never"));
  EXPECT_EQ(Config().schema(), 1u);
}

// A node is killed, and its lease ends. Nobody else leads its shards. The same node with an empty
// directory gets none of them; with its own directory it gets all of them.
TEST_F(Failover, NeverWaitsForTheDirectoryThatLed) {
  const Table before = Begin({"failover=never"});
  const std::set<int> own = LedBy(before, "n2");
  // else balance would give n2 some of what n1 leads
  ASSERT_EQ(cluster_.Ctl("n1", {"pause"}).exit, 0);
  KillN2(own);
  LetATtlPass("n1");
  EXPECT_EQ(NowLedBy("n1"), LedBy(before, "n1"));
  cluster_.Start("n2", {"--state-dir", cluster_.StateDir("n2-empty")});
  LetATtlPass("n2");
  EXPECT_THAT(NowLedBy("n2"), IsEmpty());
  EXPECT_THAT(cluster_.Ctl("n1", {"shards", "list", "-o", "wide"}).out,
              HasSubstr("waits for n2 with its old state directory"));
  EXPECT_THAT(cluster_.Ctl("n1", {"doctor"}).out,
              HasSubstr("release these shards, or start n2 with the old one"));
  EXPECT_EQ(NowLedBy("n1"), LedBy(before, "n1"));
  cluster_.node("n2").Kill();
  cluster_.Start("n2");
  AwaitN2Back(before);
}

// SIGTERM moves nothing either: the node's shards wait for it.
TEST_F(Failover, AStoppedNodesShardsWaitForIt) {
  const Table before = Begin({"failover=never"});
  cluster_.node("n2").Signal(SIGTERM);
  const auto exit = cluster_.node("n2").WaitExit();
  ASSERT_TRUE(exit.has_value());
  EXPECT_TRUE(exit->success()) << ToString(*exit) << cluster_.node("n2").Log();
  AwaitWaiting(LedBy(before, "n2"));
  LetATtlPass("n1");
  EXPECT_EQ(NowLedBy("n1"), LedBy(before, "n1"));
  cluster_.Start("n2");
  AwaitN2Back(before);
}

// A drain takes a node out as ever.
TEST_F(Failover, ADrainMovesShardsAsEver) {
  const Table before = Begin({"failover=never"});
  const app::Ran drained = cluster_.Ctl("n1", {"nodes", "drain", "n2"});
  EXPECT_EQ(drained.exit, 0) << drained.err;
  EXPECT_EQ(Moved(before, cluster_.AwaitBalanced({"n1"})), LedBy(before, "n2"));
}

// One of a dead node's shards is released: n1 leads it, and the others wait on. A release that is
// not confirmed, or of a shard that is led, changes nothing. When n2 is back it has the others.
TEST_F(Failover, AReleasedShardIsAnybodys) {
  const Table before = Begin({"failover=never"});
  const std::set<int> own = LedBy(before, "n2");
  const int shard = *own.begin();
  const std::string named = cluster_.group() + "/" + std::to_string(shard);
  const auto release = [&](int which, const std::string& confirm) {
    return cluster_.Ctl(
        "n1", {"shards", "release", std::to_string(which), "--force", "--confirm", confirm});
  };
  EXPECT_EQ(release(shard, named).exit, 6) << "its leader lives";
  KillN2(own);
  const app::Ran wrong = release(shard, cluster_.group());
  EXPECT_EQ(wrong.exit, 2);
  EXPECT_THAT(wrong.err, HasSubstr("--force --confirm " + named + "`"));
  EXPECT_TRUE(WaitsForN2(shard));
  const app::Ran released = release(shard, named);
  EXPECT_EQ(released.exit, 0) << released.err;
  cluster_.Await("n1 leads the released shard", [&] { return NowLedBy("n1").contains(shard); });
  EXPECT_EQ(NowLedBy("n1").size(), LedBy(before, "n1").size() + 1);
  EXPECT_EQ(release(shard, named).exit, 6) << "it is led again";
  std::set<int> others = own;
  others.erase(shard);
  AwaitWaiting(others);
  cluster_.Start("n2");
  cluster_.Await("n2 leads the others again", [&](const Table& now) {
    const std::set<int> led = LedBy(now, "n2");
    return std::includes(led.begin(), led.end(), others.begin(), others.end());
  });
}

// Within the delay a node that was killed gets back all that it led, and nothing else moves. After
// the delay the others lead its shards.
TEST_F(Failover, AfterWaitsForTheDelay) {
  const Table before = Begin({"failover=after", "failover-delay=1h"});
  KillN2(LedBy(before, "n2"));
  LetATtlPass("n1");
  EXPECT_EQ(NowLedBy("n1"), LedBy(before, "n1"));
  cluster_.Start("n2");
  AwaitN2Back(before);
  Set({"failover-delay=1s"});
  cluster_.node("n2").Kill();
  const Table after = cluster_.AwaitBalanced({"n1"});
  EXPECT_EQ(Moved(before, after), LedBy(before, "n2"));
}

// A lock delay that no test would outlast. A drain, and a restart that proves the death of the
// process before, do not meet it: each moves or gets back all shards.
TEST_F(Failover, WhatWasReleasedOrProvenMeetsNoLockDelay) {
  const Table before = Begin({"lock-delay=1h"});
  const app::Ran drained = cluster_.Ctl("n1", {"nodes", "drain", "n2"});
  EXPECT_EQ(drained.exit, 0) << drained.err;
  cluster_.AwaitBalanced({"n1"});
  EXPECT_EQ(cluster_.Ctl("n1", {"nodes", "undrain", "n2"}).exit, 0);
  const Table again = cluster_.AwaitBalanced({"n1", "n2"});
  cluster_.node("n2").Kill();
  cluster_.Start("n2");
  cluster_.Await("all shards of the process before are led again", [&](const Table& now) {
    const std::set<int> newer = Retermed(again, now);
    const std::set<int> own = LedBy(again, "n2");
    return std::includes(newer.begin(), newer.end(), own.begin(), own.end());
  });
  cluster_.AwaitBalanced({"n1", "n2"});
}

// Nor does a death that the node's guard proves.
TEST(FailoverOfGuardedNodes, WhatAGuardProvesMeetsNoLockDelay) {
  Cluster cluster(SharedEtcd(),
                  {.shards = 12, .ttl = std::chrono::seconds(120), .flags = {"--guard", "own"}});
  cluster.StartAll({"n1", "n2"});
  const Table before = cluster.AwaitBalanced({"n1", "n2"});
  ASSERT_EQ(cluster.Ctl("n1", {"group", "set", "lock-delay=1h"}).exit, 0);
  cluster.node("n2").Kill();
  EXPECT_EQ(Moved(before, cluster.AwaitBalanced({"n1"})), LedBy(before, "n2"));
}

// A lease that runs out proves nothing: the shards wait, and say for how long. When the delay is
// turned off, they are claimed. The history has both orders, and who gave them.
TEST_F(Failover, WhatNobodyProvesMeetsTheLockDelay) {
  const Table before = Begin({"lock-delay=1h"});
  const std::set<int> own = LedBy(before, "n2");
  cluster_.node("n2").Kill();
  cluster_.Await("n2's shards wait for the lock delay", [&] {
    return std::all_of(own.begin(), own.end(), [&](int each) {
      const json::value now = Shard(each);
      return now.at("leader").is_null() && now.at("lock_wait_ms").as_int64() > 3'000'000;
    });
  });
  LetATtlPass("n1");
  EXPECT_EQ(NowLedBy("n1"), LedBy(before, "n1"));
  EXPECT_THAT(cluster_.Ctl("n1", {"shards", "list", "-o", "wide"}).out,
              HasSubstr("s for the lock delay"));
  EXPECT_EQ(cluster_.Metric("n1", "baton_shards_waiting_by_settings"),
            static_cast<double>(own.size()));
  Set({"lock-delay=0"});
  cluster_.AwaitBalanced({"n1"});
  const std::string events = cluster_.HttpBody("n1", "/v1/events");
  EXPECT_THAT(events, HasSubstr(R"("change":"failover immediate, lock-delay 1h")"));
  EXPECT_THAT(events, HasSubstr(R"("change":"failover immediate, lock-delay 0s")"));
}

// Shards that wait are claimed as soon as the settings let others claim them.
TEST_F(Failover, TurnedOffNothingWaitsAnyMore) {
  const Table before = Begin({"failover=never"});
  KillN2(LedBy(before, "n2"));
  Set({"failover=immediate"});
  cluster_.AwaitBalanced({"n1"});
}

}  // namespace
}  // namespace baton::e2e
