// The words of nodes and batonctl while etcd is away: about changes, and about who leads what. And
// who left the group.
#include <algorithm>
#include <csignal>
#include <filesystem>
#include <fstream>
#include <set>
#include <utility>

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <boost/json.hpp>

#include "e2e/cluster.h"

namespace baton::e2e {
namespace {

namespace json = boost::json;
using std::chrono::seconds;
using testing::AllOf;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::Not;

constexpr const char* kMayBeMade = "the change may still be made: check with `batonctl ";

class EtcdAway : public testing::Test {
 protected:
  void SetUp() override {
    auto started = StartEtcd();
    ASSERT_TRUE(started.ok()) << started.error().message;
    etcd_ = std::move(started).value();
  }
  // etcd is dead from now on: no connection comes about, so a drain never leaves the node, and is
  // given up.
  void DrainWithoutEtcd(Cluster& cluster) {
    etcd_->Kill(0);
    // The first call after the death may still go into the old connection.
    app::Ran ran;
    cluster.Await("a change that never left", [&] {
      ran = cluster.Ctl("n1", {"nodes", "drain", "n2", "--timeout", "2s"});
      return ran.exit != 5;
    });
    EXPECT_EQ(ran.exit, 3) << ran.out << ran.err;
    EXPECT_THAT(ran.err, HasSubstr("the change was not made, and won't be"));
  }
  // etcd is back. Changes of policies come one after the other, so after the one here no earlier
  // one is made.
  void ExpectThatNothingWasMade(Cluster& cluster, const Table& before) {
    EXPECT_TRUE(etcd_->Restart(0).ok());
    cluster.Await("etcd answers again", [&] {
      return cluster.Ctl("n1", {"nodes", "undrain", "n2"}).exit == 0;
    });
    EXPECT_EQ(cluster.AwaitBalanced({"n1", "n2"}), before);
  }

  std::unique_ptr<lab::PrivateEtcd> etcd_;
};

// Plan: etcd is frozen: connections stay and nothing answers. A drain with two seconds ends in
// time, and says what is known: nobody knows, and how to find out. It does not blame the node. When
// etcd is back the drain comes true, and can be undone.
TEST_F(EtcdAway, ADrainThatEtcdDoesNotAnswerMayStillBeMade) {
  Cluster cluster(*etcd_, {.shards = 12, .ttl = seconds(20)});
  cluster.StartAll({"n1", "n2"});
  cluster.AwaitBalanced({"n1", "n2"});
  etcd_->Pause(0);
  const TimePoint began = BootClock::now();
  const app::Ran ran = cluster.Ctl("n1", {"nodes", "drain", "n2", "--timeout", "2s"});
  EXPECT_LT(BootClock::now() - began, seconds(3));
  EXPECT_EQ(ran.exit, 5) << ran.out << ran.err;
  EXPECT_THAT(ran.err,
              AllOf(HasSubstr("etcd has not answered in time"), HasSubstr(kMayBeMade),
                    HasSubstr("`batonctl nodes list`"), Not(HasSubstr("did not answer in time"))));
  etcd_->Resume(0);
  cluster.Await("the drain is carried out",
                [&](const Table& now) { return LedBy(now, "n1").size() == 12; });
  EXPECT_EQ(cluster.Ctl("n1", {"nodes", "undrain", "n2"}).exit, 0);
  cluster.AwaitBalanced({"n1", "n2"});
}

// Plan: the same for each other verb that changes something.
TEST_F(EtcdAway, EveryChangeThatEtcdDoesNotAnswerSaysHowToFindOut) {
  Cluster cluster(*etcd_, {.shards = 12, .ttl = seconds(60)});
  cluster.StartAll({"n1", "n2"});
  const Table table = cluster.AwaitBalanced({"n1", "n2"});
  const std::string shard = std::to_string(*LedBy(table, "n1").begin());
  etcd_->Pause(0);
  using Change = std::pair<std::vector<std::string>, std::string>;
  const std::vector<Change> changes = {
      {{"shards", "transfer", shard, "--to", "n2"}, "shards describe " + shard},
      {{"nodes", "undrain", "n2"}, "nodes list"},
      {{"rebalance", "cancel"}, "rebalance status"},
      {{"group", "set", "expected-nodes", "2"}, "group get"},
      {{"pause"}, "status"},
      {{"resume"}, "status"}};
  for (auto [words, check] : changes) {
    words.insert(words.end(), {"--timeout", "1s"});
    const app::Ran ran = cluster.Ctl("n1", words);
    EXPECT_EQ(ran.exit, 5) << testing::PrintToString(words) << ran.out << ran.err;
    EXPECT_THAT(ran.err, HasSubstr(kMayBeMade + check + "`")) << testing::PrintToString(words);
  }
  etcd_->Resume(0);
  cluster.AwaitLed();
}

// Plan: etcd is dead: no connection comes about, so nothing leaves the node. The change is given
// up, and is not made when etcd is back.
TEST_F(EtcdAway, AChangeThatNeverLeftTheNodeIsNotMade) {
  Cluster cluster(*etcd_, {.shards = 12, .ttl = seconds(60)});
  cluster.StartAll({"n1", "n2"});
  const Table before = cluster.AwaitBalanced({"n1", "n2"});
  DrainWithoutEtcd(cluster);
  ExpectThatNothingWasMade(cluster, before);
}

// ---- a required audit file ----------------------------------------------------------------------

/// The lines of an audit file: "DrainNode node n2: asked", and the error behind it.
std::vector<std::string> AuditOf(const std::string& path) {
  std::vector<std::string> lines;
  std::ifstream in(path);
  for (std::string text; std::getline(in, text);) {
    const json::value line = json::parse(text);
    const auto field = [&](const char* name) { return std::string(line.at(name).as_string()); };
    lines.push_back(field("verb") + " " + field("target") + ": " + field("result"));
    if (!field("error").empty()) lines.back() += ", " + field("error");
  }
  return lines;
}

// Plan: etcd is frozen. A change has its line before it leaves the node, and one that says that
// nobody knows; the caller hears the same. Then the file can't be written, either: the next change
// never leaves. Once etcd is back the first is made, and the second is not. The node lives on.
TEST_F(EtcdAway, ARequiredAuditFileHasEachChangeThatEtcdMayGet) {
  Cluster cluster(*etcd_, {.shards = 12, .ttl = seconds(60)});
  const std::string file = cluster.folder() + "/audit.jsonl";
  const NodeProcess& asked = cluster.Start("n1", {"--audit-file", file, "--audit-required"});
  cluster.Start("n2");
  cluster.AwaitBalanced({"n1", "n2"});
  const pid_t pid = asked.pid();
  etcd_->Pause(0);
  const app::Ran drain = cluster.Ctl("n1", {"nodes", "drain", "n2", "--timeout", "2s"});
  EXPECT_EQ(drain.exit, 5) << drain.out << drain.err;
  EXPECT_THAT(drain.err, HasSubstr(kMayBeMade));
  cluster.Await("its outcome is in the file", [&] { return AuditOf(file).size() == 2; });
  EXPECT_THAT(AuditOf(file),
              ElementsAre("DrainNode node n2: asked",
                          "DrainNode node n2: failed, etcd has not answered in time; the change "
                          "may still be made"));

  std::filesystem::rename(file, file + ".1");
  std::filesystem::create_directory(file);
  const app::Ran pause = cluster.Ctl("n1", {"pause", "--timeout", "2s"});
  EXPECT_EQ(pause.exit, 3) << pause.out << pause.err;
  EXPECT_THAT(pause.err, AllOf(HasSubstr("no change is made without its line in the audit file"),
                               HasSubstr("Is a directory")));
  EXPECT_EQ(cluster.Ctl("n1", {"status"}).exit, 0);

  etcd_->Resume(0);
  cluster.Await("the drain is carried out",
                [&](const Table& now) { return LedBy(now, "n1").size() == 12; });
  std::filesystem::remove(file);
  // Changes of policies come one after the other, so after this one no earlier one is made.
  EXPECT_EQ(cluster.Ctl("n1", {"nodes", "undrain", "n2"}).exit, 0);
  cluster.AwaitBalanced({"n1", "n2"});
  EXPECT_EQ(cluster.Metric("n1", "baton_paused"), 0);
  EXPECT_THAT(AuditOf(file),
              ElementsAre("UndrainNode node n2: asked", "UndrainNode node n2: done"));
  EXPECT_TRUE(asked.running());
  EXPECT_EQ(asked.pid(), pid);
}

// Plan: etcd is dead, so nothing leaves the node. The file has the change and that it was not made,
// as the caller hears; when etcd is back it is not made, and the node leads what it led.
TEST_F(EtcdAway, ARequiredAuditFileSaysThatAChangeNeverLeft) {
  Cluster cluster(*etcd_, {.shards = 12, .ttl = seconds(60)});
  const std::string file = cluster.folder() + "/audit.jsonl";
  const NodeProcess& asked = cluster.Start("n1", {"--audit-file", file, "--audit-required"});
  cluster.Start("n2");
  const Table before = cluster.AwaitBalanced({"n1", "n2"});
  DrainWithoutEtcd(cluster);
  const auto ends_with_it = [&] {
    const std::vector<std::string> lines = AuditOf(file);
    return lines.size() >= 2 && lines.end()[-2] == "DrainNode node n2: asked" &&
           lines.back() ==
               "DrainNode node n2: failed, etcd can't be reached: the change was not made, and "
               "won't be";
  };
  cluster.Await("its outcome is in the file", ends_with_it);
  ExpectThatNothingWasMade(cluster, before);
  EXPECT_TRUE(asked.running());
}

// ---- who leads what ----------------------------------------------------------------------------

/// One node's words about the group by each of its surfaces.
struct Said {
  bool stale = false;
  std::int64_t led = 0;        ///< by the list of nodes: of all nodes
  std::int64_t suspended = 0;  ///< of the node itself
  std::set<int> suspended_shards;
};

Said SaidBy(const Cluster& cluster, const std::string& node) {
  const json::value status = json::parse(cluster.Ctl(node, {"status", "-o", "json"}).out);
  const json::value nodes = json::parse(cluster.Ctl(node, {"nodes", "list", "-o", "json"}).out);
  const json::value shards = json::parse(cluster.Ctl(node, {"shards", "list", "-o", "json"}).out);
  const json::value page = json::parse(cluster.HttpBody(node, "/v1/overview"));
  Said said;
  said.stale = status.at("stale").as_bool();
  for (const json::value& member : nodes.at("nodes").as_array()) {
    said.led += member.at("led").as_int64();
    const std::int64_t suspended = member.at("suspended").as_int64();
    if (member.at("node").as_string() == node) said.suspended = suspended;
    EXPECT_TRUE(member.at("node").as_string() == node || suspended == 0)
        << "only a node itself knows";
  }
  for (const json::value& shard : shards.at("shards").as_array()) {
    if (shard.at("state").as_string() != "suspended") continue;
    said.suspended_shards.insert(static_cast<int>(shard.at("shard").as_int64()));
    EXPECT_EQ(shard.at("leader").as_string(), node);
  }
  const std::string states(page.at("grid").at("states").as_string());
  EXPECT_EQ(std::count(states.begin(), states.end(), 's'), said.suspended);
  EXPECT_EQ(static_cast<std::int64_t>(said.suspended_shards.size()), said.suspended);
  EXPECT_EQ(status.at("suspended").as_int64(), said.suspended);
  for (const json::value* other : {&nodes, &shards, &page}) {
    EXPECT_EQ(other->at("stale").as_bool(), said.stale);
  }
  return said;
}

// Plan: etcd is frozen for longer than the TTL. Each node calls its own shards suspended, on each
// surface, and marks what it says of the others with its age. When etcd is back, no mark is left.
TEST_F(EtcdAway, PageStatusAndListsAgreeAboutWhatIsLed) {
  Cluster cluster(*etcd_, {.shards = 12, .ttl = seconds(3)});
  const std::vector<std::string> ids = {"n1", "n2", "n3"};
  cluster.StartAll(ids);
  const Table before = cluster.AwaitBalanced({"n1", "n2", "n3"});
  for (const std::string& id : ids) {
    const Said said = SaidBy(cluster, id);
    EXPECT_FALSE(said.stale) << id;
    EXPECT_EQ(said.led, 12) << id;
    EXPECT_EQ(said.suspended, 0) << id;
  }
  etcd_->Pause(0);
  for (const std::string& id : ids) {
    cluster.Await(id + " knows that its view is old", [&] {
      return json::parse(cluster.HttpBody(id, "/v1/status")).at("stale").as_bool();
    });
  }
  for (const std::string& id : ids) {
    const Said said = SaidBy(cluster, id);
    EXPECT_TRUE(said.stale) << id;
    EXPECT_EQ(said.led, 12) << id;
    EXPECT_EQ(said.suspended_shards, LedBy(before, id));
    for (const std::vector<std::string>& words :
         std::vector<std::vector<std::string>>{{"status"}, {"nodes", "list"}, {"shards", "list"}}) {
      const app::Ran ran = cluster.Ctl(id, words);
      EXPECT_THAT(ran.err, HasSubstr("ago: etcd does not answer " + id)) << words[0];
    }
    EXPECT_THAT(cluster.Ctl(id, {"nodes", "list"}).out, HasSubstr(id + "    suspended"));
  }
  etcd_->Resume(0);
  cluster.AwaitLed();
  for (const std::string& id : ids) {
    cluster.Await(id + " has a current view", [&] { return !SaidBy(cluster, id).stale; });
    EXPECT_EQ(cluster.Ctl(id, {"nodes", "list"}).err, "");
  }
}

// ---- who left ----------------------------------------------------------------------------------

// Plan: an operator expects three nodes. One is killed, one leaves in order: the last one says who
// left and why, and the doctor and the metric that the number is not reached. A started node is
// back.
TEST_F(EtcdAway, WhoLeftIsNamedWithItsReason) {
  Cluster cluster(*etcd_, {.shards = 12, .ttl = seconds(3), .flags = kNoGuard});
  cluster.StartAll({"n1", "n2", "n3"});
  cluster.AwaitBalanced({"n1", "n2", "n3"});
  EXPECT_EQ(cluster.Ctl("n2", {"group", "set", "expected-nodes", "3"}).exit, 0);
  cluster.Await("n1 knows the number",
                [&] { return cluster.Metric("n1", "baton_expected_nodes") == 3; });
  EXPECT_THAT(cluster.Ctl("n1", {"doctor"}).out, HasSubstr("3 of 3 are live"));
  cluster.node("n3").Kill();
  cluster.AwaitBalanced({"n1", "n2"}, cluster.FailoverBound());
  cluster.node("n2").Signal(SIGTERM);
  ASSERT_TRUE(cluster.node("n2").WaitExit().has_value());
  cluster.AwaitBalanced({"n1"});

  const json::value nodes = json::parse(cluster.Ctl("n1", {"nodes", "list", "-o", "json"}).out);
  const json::array& departed = nodes.at("departed").as_array();
  ASSERT_EQ(departed.size(), 2u);
  EXPECT_EQ(departed[0].at("node").as_string(), "n2");
  EXPECT_EQ(departed[0].at("why").as_string(), "shutdown");
  EXPECT_EQ(departed[1].at("node").as_string(), "n3");
  EXPECT_EQ(departed[1].at("why").as_string(), "lease_expired");
  EXPECT_EQ(departed[1].at("led").as_int64(), 4);
  const app::Ran status = cluster.Ctl("n1", {"status"});
  EXPECT_THAT(status.out, AllOf(HasSubstr("1 live node of 3 expected"),
                                HasSubstr("n3, lease_expired"), HasSubstr("n2, shutdown")));
  const app::Ran doctor = cluster.Ctl("n1", {"doctor"});
  EXPECT_EQ(doctor.exit, 1);
  EXPECT_THAT(doctor.out, HasSubstr("1 of 3 are live; gone: n3 (lease_expired"));

  cluster.Start("n3");
  cluster.AwaitBalanced({"n1", "n3"});
  const json::value back = json::parse(cluster.Ctl("n1", {"nodes", "list", "-o", "json"}).out);
  EXPECT_TRUE(back.at("departed").as_array()[1].at("back").as_bool());
  EXPECT_EQ(cluster.Ctl("n1", {"group", "set", "expected-nodes", "0"}).exit, 0);
  cluster.Await("n3 knows that none is expected",
                [&] { return cluster.Metric("n3", "baton_expected_nodes") == 0; });
}

}  // namespace
}  // namespace baton::e2e
