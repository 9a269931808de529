// Placement rules, as an operator sets them: shards move where the rules want them, follow the
// order of preference when nodes come and go, and a rule that nobody fits is named.
#include <algorithm>
#include <fstream>

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <boost/json.hpp>

#include "baton/v1/records.pb.h"
#include "e2e/cluster.h"
#include "e2e/etcd_client.h"

namespace baton::e2e {
namespace {

namespace json = boost::json;
using testing::AllOf;
using testing::HasSubstr;
using testing::IsEmpty;

class PlacementRules : public testing::Test {
 protected:
  // a1 and a2 are in zone a, b1 in zone b, c1 in zone c; none has a guard.
  void Begin() {
    for (const std::string id : {"a1", "a2", "b1", "c1"}) {
      cluster_.Start(id, {"--zone", id.substr(0, 1)});
    }
    cluster_.AwaitBalanced({"a1", "a2", "b1", "c1"});
  }
  app::Ran Ctl(const std::vector<std::string>& words, const std::string& node = "c1") const {
    return cluster_.Ctl(node, words);
  }
  // Writes the rules to a file, and gives it to the verb.
  app::Ran Give(std::vector<std::string> words, const std::string& rules) const {
    const std::string path = cluster_.StateDir("rules") + ".yaml";
    std::ofstream(path) << rules;
    words.insert(words.begin(), "placement");
    words.push_back(path);
    return Ctl(words);
  }
  void Set(const std::string& rules) const {
    const app::Ran ran = Give({"set"}, rules);
    if (ran.exit != 0) throw Unmet("placement set: " + ran.err);
  }
  // Waits until these nodes together lead all shards, and each of them some.
  void AwaitLedBy(const std::set<std::string>& ids) {
    cluster_.Await("the shards are led where the rules want them", [&](const Table& now) {
      std::size_t led = 0;
      for (const std::string& id : ids) {
        const std::size_t own = LedBy(now, id).size();
        if (own == 0) return false;
        led += own;
      }
      return led == kShards;
    });
  }
  json::value Status() const { return json::parse(cluster_.HttpBody("c1", "/v1/status")); }

  static constexpr std::size_t kShards = 12;
  EtcdClient etcd_{SharedEtcd().endpoints()};
  Cluster cluster_{SharedEtcd(), {.shards = kShards, .ttl = kShortLease, .flags = kNoGuard}};
};

// `get` prints the rules that were set, on every node. Equal rules write nothing. The schema rises
// with the first rules, and stays. A dry run and a check write nothing.
TEST_F(PlacementRules, AreTheGroups) {
  cluster_.Start("c1", {"--zone", "c"});
  cluster_.AwaitBalanced({"c1"});
  cluster_.Await("a balancer", [&] { return etcd_.Get(cluster_.Key("balancer")).has_value(); });
  const std::string rules = "rules:\n  - shards: 0-5, 9\n    prefer: [{zone: a}, {zone: b}]\n";
  const std::int64_t revision = etcd_.Revision();
  EXPECT_EQ(Give({"check"}, rules).exit, 0);
  EXPECT_EQ(Give({"set", "--dry-run"}, rules).exit, 0);
  EXPECT_EQ(etcd_.Revision(), revision);
  Set(rules);
  cluster_.Await("the node shows the rules", [&] {
    return Ctl({"placement", "get"}).out == rules;
  });
  const std::int64_t set = etcd_.Revision();
  Set(rules);
  EXPECT_EQ(etcd_.Revision(), set);
  baton::v1::ConfigRecord config;
  ASSERT_TRUE(config.ParseFromString(etcd_.Get(cluster_.Key("config")).value().value()));
  EXPECT_EQ(config.schema(), 3u);
  EXPECT_EQ(config.placement_size(), 1);
  Set("rules: []\n");
  cluster_.Await("the rules are gone", [&] {
    return Ctl({"placement", "get"}).out == "rules: []\n";
  });
  EXPECT_THAT(Ctl({"history", "-o", "json"}).out,
              AllOf(HasSubstr(R"("change":"placement 1 rule")"),
                    HasSubstr(R"("change":"placement no rules")")));
}

// Rules want zone a, then b, and never c. The shards move to a. Zone a is killed: b leads. Zone a
// is back, and gets its shards back. A node that leads nothing says why, and one that has just
// started does, too.
TEST_F(PlacementRules, ShardsFollowTheOrderOfPreference) {
  Begin();
  Set("rules:\n  - require: {zone: [a, b]}\n    prefer: [{zone: a}]\n");
  AwaitLedBy({"a1", "a2"});
  EXPECT_EQ(Status().at("led_against_rules").as_int64(), 0);
  cluster_.node("a1").Kill();
  cluster_.node("a2").Kill();
  AwaitLedBy({"b1"});
  cluster_.Start("a1", {"--zone", "a"});
  cluster_.Start("a2", {"--zone", "a"});
  AwaitLedBy({"a1", "a2"});
  EXPECT_THAT(LedBy(cluster_.Look("c1").value(), "c1"), IsEmpty());
  cluster_.Start("c2", {"--zone", "c"});
  for (const std::string node : {"c1", "c2"}) {
    cluster_.Await("the node says why the shard is led where it is", [&] {
      const std::string told = Ctl({"shards", "describe", "0"}, node).out;
      return told.find(" leads: rule 1 prefers zone=a\n") != std::string::npos;
    });
  }
  EXPECT_THAT(Ctl({"history"}).out, HasSubstr("rule 1 prefers zone=a\n"));
}

// A rule wants a disk that no node has. c2 gets the label while it runs, and the rule's shards. c1
// can't change c2. Then c1's weight falls to 0, and c2 leads all; after a restart c1's flags count.
TEST_F(PlacementRules, LabelsAndWeightOfARunningNodeAreSet) {
  cluster_.StartAll({"c1", "c2"});
  cluster_.AwaitBalanced({"c1", "c2"});
  Set("rules:\n  - shards: 0-5\n    require: {disk: ssd}\n");
  const app::Ran other = Ctl({"nodes", "set", "c2", "--label", "disk=ssd"}, "c1");
  EXPECT_EQ(other.exit, 6);
  EXPECT_THAT(other.err, HasSubstr("--endpoint " + cluster_.node("c2").endpoint()));
  const app::Ran set = Ctl({"nodes", "set", "c2", "--label", "disk=ssd"}, "c2");
  EXPECT_EQ(set.exit, 0) << set.err;
  EXPECT_EQ(set.out, "c2 now has weight 1, label disk=ssd\n");
  cluster_.Await("c2 leads the rule's shards", [&](const Table& now) {
    const auto led = LedBy(now, "c2");
    return led == std::set<int>{0, 1, 2, 3, 4, 5} && LedBy(now, "c1").size() == 6;
  });
  EXPECT_THAT(Ctl({"history", "-o", "json"}, "c2").out,
              HasSubstr(R"("change":"set c2 label disk=ssd")"));
  EXPECT_EQ(Ctl({"nodes", "set", "c1", "--weight", "0"}, "c1").exit, 0);
  AwaitLedBy({"c2"});
  EXPECT_EQ(Ctl({"nodes", "set", "c1", "--weight", "0"}, "c1").out,
            "c1 has weight 0, no labels already\n");
  cluster_.node("c1").Signal(SIGTERM);
  ASSERT_TRUE(cluster_.node("c1").WaitExit().has_value());
  cluster_.Start("c1");
  AwaitLedBy({"c1", "c2"});
}

// A shard is pinned to a node that is not there. Its leader goes on; when that one is gone nobody
// leads the shard, and everybody says why. The node comes, and leads it.
TEST_F(PlacementRules, APinToANodeThatIsNotThereIsNamed) {
  cluster_.StartAll({"c1", "c2"});
  cluster_.AwaitBalanced({"c1", "c2"});
  const int shard = *LedBy(cluster_.Look("c1").value(), "c2").begin();
  const app::Ran set =
      Give({"set"}, "rules:\n  - shards: " + std::to_string(shard) + "\n    node: n9\n");
  EXPECT_EQ(set.exit, 0);
  EXPECT_THAT(set.err, HasSubstr("rule 1 (node=n9) lets no live node begin to lead its 1 shard"));
  cluster_.Await("the leader is against the rule",
                 [&] { return Status().at("led_against_rules").as_int64() == 1; });
  EXPECT_EQ(cluster_.Look("c1").value().at(static_cast<std::size_t>(shard)).leader, "c2");
  cluster_.node("c2").Kill();
  cluster_.Await("nobody may lead the shard", [&] {
    const json::value status = Status();
    return status.at("nobody_may_lead").as_int64() == 1 && status.at("leaderless").as_int64() == 1;
  });
  EXPECT_EQ(cluster_.Metric("c1", "baton_shards_nobody_may_lead{rule=\"1\"}"), 1);
  EXPECT_THAT(Ctl({"shards", "describe", std::to_string(shard)}).out,
              HasSubstr("rule 1 lets nobody here lead it"));
  for (const char* verb : {"status", "doctor"}) {
    EXPECT_THAT(Ctl({verb}).out, HasSubstr("rule 1 (node=n9)")) << verb;
  }
  cluster_.Start("n9");
  cluster_.Await("n9 leads its shard", [&](const Table& now) {
    return LedBy(now, "n9").contains(shard) &&
           LedBy(now, "c1").size() + LedBy(now, "n9").size() == kShards;
  });
}

// A rule asks for two standbys in different zones, and two nodes of one zone are there: the shards
// are led, each has a ready standby, and everybody names the rule. Nodes of other zones come, and
// it is kept.
TEST_F(PlacementRules, AStandbyRuleThatCantBeKeptIsNamed) {
  cluster_.Start("c1", {"--zone", "c"});
  cluster_.Start("c2", {"--zone", "c"});
  cluster_.AwaitBalanced({"c1", "c2"});
  Set("rules:\n  - standbys: 2\n    spread: zone\n");
  const auto shards = [&](const std::string& metric) {
    return static_cast<std::size_t>(cluster_.Metric("c1", metric + "{rule=\"1\"}"));
  };
  cluster_.Await("all shards have one ready standby, in their leader's zone", [&] {
    return shards("baton_shards_with_fewer_standbys") == kShards &&
           shards("baton_shards_not_apart") == kShards &&
           shards("baton_shards_without_ready_standby") == 0;
  });
  EXPECT_THAT(
      Ctl({"status"}).out,
      AllOf(HasSubstr("12 shards have fewer standbys than asked for, by rule 1 (any node)"),
            HasSubstr("12 shards have a leader and standbys that share a value of the label of "
                      "`spread`, by rule 1 (any node)")));
  EXPECT_THAT(Ctl({"doctor"}).out,
              HasSubstr("12 of 12 shards have fewer standbys than their rule asks for, by rule 1 "
                        "(any node)"));
  cluster_.Start("a1", {"--zone", "a"});
  cluster_.Start("b1", {"--zone", "b"});
  cluster_.Await("the rule is kept",
                 [&] { return Status().at("rules_not_kept").as_array().empty(); });
}

}  // namespace
}  // namespace baton::e2e
