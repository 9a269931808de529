// Operators' work with batonctl on a real group: transfers, plans, pauses, and what is refused.
#include <pwd.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <boost/json.hpp>

#include "e2e/cluster.h"
#include "e2e/etcd_client.h"

namespace baton::e2e {
namespace {

namespace json = boost::json;
using testing::HasSubstr;
using testing::IsEmpty;

class Operators : public testing::Test {
 protected:
  std::size_t MoveCount(const std::string& document) {
    return json::parse(document).at("moves").as_array().size();
  }

  EtcdClient etcd_{SharedEtcd().endpoints()};
  Cluster cluster_{SharedEtcd(), {.shards = 12}};
};

// One shard goes to the node that the operator names, and no other moves. The same command again is
// refused because the term has changed (exit 6). If a shard or node does not exist, that is exit 4.
TEST_F(Operators, TransferMovesOneShardWhileItsTermHolds) {
  cluster_.StartAll({"n1", "n2"});
  const Table before = cluster_.AwaitBalanced({"n1", "n2"});
  ASSERT_EQ(cluster_.Ctl("n1", {"pause"}).exit, 0);
  const int shard = *LedBy(before, "n1").begin();
  const auto at = static_cast<std::size_t>(shard);
  const std::vector<std::string> words = {
      "shards", "transfer",  std::to_string(shard),          "--to",
      "n2",     "--if-term", std::to_string(before[at].term)};
  const app::Ran moved = cluster_.Ctl("n1", words);
  EXPECT_EQ(moved.exit, 0) << moved.err;
  const Table after = cluster_.AwaitLed();
  EXPECT_EQ(Moved(before, after), std::set<int>{shard});
  EXPECT_EQ(Retermed(before, after), std::set<int>{shard});
  EXPECT_EQ(after[at].leader, "n2");
  EXPECT_GT(after[at].term, before[at].term);
  EXPECT_EQ(cluster_.Metric("n2", "baton_transitions_total{reason=\"operator\"}"), 1);
  EXPECT_EQ(cluster_.Metric("n1", "baton_moves_total{result=\"done\"}"), 1);

  const app::Ran again = cluster_.Ctl("n1", words);
  EXPECT_EQ(again.exit, 6) << again.out << again.err;
  EXPECT_THAT(again.err, HasSubstr(std::to_string(after[at].term)));
  EXPECT_EQ(cluster_.Ctl("n1", {"shards", "transfer", "99", "--to", "n2"}).exit, 4);
  EXPECT_EQ(cluster_.Ctl("n1", {"shards", "transfer", "0", "--to", "n9"}).exit, 4);
  EXPECT_EQ(cluster_.AwaitLed(), after);
}

// Every change has a dry run that says what it would do and changes nothing, not even etcd's
// revision.
TEST_F(Operators, DryRunsChangeNothing) {
  cluster_.StartAll({"n1", "n2"});
  const Table before = cluster_.AwaitBalanced({"n1", "n2"});
  const std::string shard = std::to_string(*LedBy(before, "n1").begin());
  cluster_.Await("a balancer", [&] { return etcd_.Get(cluster_.Key("balancer")).has_value(); });
  const std::int64_t revision = etcd_.Revision();
  const std::vector<std::vector<std::string>> changes = {
      {"shards", "transfer", shard, "--to", "n2"},
      {"nodes", "drain", "n1"},
      {"nodes", "undrain", "n1"},
      {"rebalance", "apply"},
      {"rebalance", "cancel"},
      {"pause"},
      {"resume"}};
  for (std::vector<std::string> words : changes) {
    words.push_back("--dry-run");
    const app::Ran ran = cluster_.Ctl("n1", words);
    EXPECT_EQ(ran.exit, 0) << testing::PrintToString(words) << ran.err;
    EXPECT_FALSE(ran.out.empty()) << testing::PrintToString(words);
  }
  EXPECT_EQ(etcd_.Revision(), revision) << "a dry run wrote something";
  EXPECT_EQ(cluster_.AwaitBalanced({"n1", "n2"}), before);
}

// While balance is paused a third node gets nothing, though the plan shows its share. After a death
// succession goes on. Once resumed, balance does what the plan showed.
TEST_F(Operators, PauseStopsBalanceButNotFailover) {
  cluster_.StartAll({"n1", "n2"});
  const Table before = cluster_.AwaitBalanced({"n1", "n2"});
  ASSERT_EQ(cluster_.Ctl("n1", {"pause"}).exit, 0);
  cluster_.Start("n3");
  cluster_.Await("the plan gives n3 its share", [&] {
    return MoveCount(cluster_.Ctl("n1", {"rebalance", "plan", "-o", "json"}).out) == 4;
  });
  // Three renewals take longer than the rebalance delay.
  const std::string renewals = "baton_lease_renewals_total{result=\"confirmed\"}";
  const double first = cluster_.Metric("n3", renewals);
  cluster_.Await("n3 renews", [&] { return cluster_.Metric("n3", renewals) >= first + 2; });
  EXPECT_EQ(cluster_.AwaitLed(), before) << "balance went on";
  EXPECT_EQ(cluster_.Metric("n1", "baton_paused"), 1);

  cluster_.node("n2").Kill();
  const Table after = cluster_.AwaitBalanced({"n1", "n3"}, cluster_.FailoverBound());
  EXPECT_EQ(Moved(before, after), LedBy(before, "n2"));
  ASSERT_EQ(cluster_.Ctl("n1", {"resume"}).exit, 0);
  cluster_.Start("n4");
  cluster_.AwaitBalanced({"n1", "n3", "n4"});
}

// With a long rebalance delay a new node waits. `apply` does all the planned moves at once, and no
// others; then it says that nothing is left.
TEST_F(Operators, RebalanceAppliesWhatThePlanShows) {
  Cluster patient(SharedEtcd(), {.shards = 12, .flags = {}});
  // The test waits for all three: a node that comes later gets nothing for ten minutes.
  for (const char* id : {"n1", "n2", "n3"}) {
    patient.Launch(id, {"--rebalance-delay", "10m", "--expect-nodes", "3", "--settle", "30s"});
  }
  for (const char* id : {"n1", "n2", "n3"}) patient.WaitReady(patient.node(id));
  const Table before = patient.AwaitBalanced({"n1", "n2", "n3"});
  EXPECT_EQ(patient.Ctl("n1", {"rebalance", "plan"}).err, "batonctl: nothing to move\n");
  patient.Start("n4", {"--rebalance-delay", "10m"});
  json::array planned;
  patient.Await("a plan for n4", [&] {
    planned = json::parse(patient.Ctl("n2", {"rebalance", "plan", "-o", "json"}).out)
                  .at("moves")
                  .as_array();
    return planned.size() == 3;
  });
  EXPECT_EQ(patient.AwaitLed(), before);
  const app::Ran applied = patient.Ctl("n2", {"rebalance", "apply"});
  EXPECT_EQ(applied.exit, 0) << applied.err;
  const Table after = patient.AwaitBalanced({"n1", "n2", "n3", "n4"});
  EXPECT_EQ(Moved(before, after).size(), planned.size());
  const json::value status =
      json::parse(patient.Ctl("n3", {"rebalance", "status", "-o", "json"}).out);
  EXPECT_TRUE(status.at("moves").as_array().empty());
  EXPECT_EQ(patient.Ctl("n3", {"rebalance", "cancel"}).exit, 0);
  const app::Ran nothing = patient.Ctl("n3", {"rebalance", "apply"});
  EXPECT_EQ(nothing.exit, 0);
  EXPECT_THAT(nothing.out, HasSubstr("nothing to move"));
}

// n2 would wait for an hour by its own option and n1's. The group's delay counts instead: none, so
// n2 gets its share, and shows what is ordered. With the group's delay of an hour n3 gets nothing,
// whatever its own option says, until the delay is short. What is ordered is in one record, and
// taking all of it back deletes the record.
TEST_F(Operators, LimitsOfTheGroupCountInsteadOfEachNodesOwn) {
  const auto planned = [&] {
    return MoveCount(cluster_.Ctl("n1", {"rebalance", "plan", "-o", "json"}).out);
  };
  const std::vector<std::string> patient{"--rebalance-delay", "1h"};
  cluster_.Start("n1", patient);
  const Table alone = cluster_.AwaitBalanced({"n1"});
  cluster_.Start("n2", patient);
  cluster_.Await("the plan gives n2 its share", [&] { return planned() == 6; });
  EXPECT_EQ(cluster_.AwaitLed(), alone);
  const std::string key = cluster_.Key("policy/limits");
  EXPECT_EQ(cluster_.Ctl("n1", {"group", "set", "rebalance-delay=0s", "--dry-run"}).exit, 0);
  EXPECT_FALSE(etcd_.Get(key).has_value());
  const app::Ran set =
      cluster_.Ctl("n1", {"group", "set", "rebalance-delay=0s", "max-moves=2", "cooldown=0s"});
  EXPECT_EQ(set.out, "set max-moves=2 rebalance-delay=0s cooldown=0s\n") << set.err;
  const Table two = cluster_.AwaitBalanced({"n1", "n2"});
  cluster_.Await("n2 shows the limits", [&] {
    const std::string shown = cluster_.Ctl("n2", {"group", "get"}).out;
    return shown.find("max-moves 2\nrebalance-delay 0s\ncooldown 0s\n") != std::string::npos;
  });
  EXPECT_THAT(cluster_.Ctl("n2", {"events"}).out,
              HasSubstr("max-moves 2, rebalance-delay 0s, cooldown 0s"));

  ASSERT_EQ(cluster_.Ctl("n2", {"group", "set", "rebalance-delay=1h"}).exit, 0);
  cluster_.Start("n3", {"--rebalance-delay", "0s"});
  cluster_.Await("the plan gives n3 its share", [&] { return planned() == 4; });
  const std::string renewals = "baton_lease_renewals_total{result=\"confirmed\"}";
  const double first = cluster_.Metric("n3", renewals);
  cluster_.Await("n3 renews", [&] { return cluster_.Metric("n3", renewals) >= first + 2; });
  EXPECT_EQ(cluster_.AwaitLed(), two);
  ASSERT_EQ(cluster_.Ctl("n2", {"group", "set", "rebalance-delay=100ms"}).exit, 0);
  cluster_.AwaitBalanced({"n1", "n2", "n3"});
  ASSERT_TRUE(etcd_.Get(key).has_value());
  ASSERT_EQ(cluster_
                .Ctl("n2", {"group", "set", "max-moves=default", "rebalance-delay=default",
                            "cooldown=default"})
                .exit,
            0);
  EXPECT_FALSE(etcd_.Get(key).has_value());
}

// `health --wait` returns once a starting group is healthy, or at once if it could never ask.
// Without nodes batonctl can't reach one (exit 3).
TEST_F(Operators, HealthWaitsForTheGroup) {
  cluster_.Start("n1");
  const app::Ran waited = cluster_.Ctl("n1", {"health", "--wait", "--timeout", "40s"});
  EXPECT_EQ(waited.exit, 0) << waited.err;
  EXPECT_EQ(waited.out, "healthy\n");
  const app::Ran never =
      cluster_.Ctl("n1", {"health", "--wait", "--timeout", "40s", "--tls-ca", "/no/ca.pem"});
  EXPECT_EQ(never.exit, 2);
  EXPECT_THAT(never.err, AllOf(HasSubstr("/no/ca.pem"), Not(HasSubstr("timed out"))));
  cluster_.AwaitBalanced({"n1"});
  EXPECT_EQ(cluster_.Ctl("n1", {"health"}).exit, 0);
  EXPECT_EQ(cluster_.Ctl("n1", {"shards", "list", "-o", "json"}).out,
            cluster_.HttpBody("n1", "/v1/shards"));
  cluster_.node("n1").Kill();
  EXPECT_EQ(cluster_.Ctl("n1", {"health", "--timeout", "2s"}).exit, 3);
}

// `top` needs a terminal; into a pipe it prints an error instead of escapes.
TEST_F(Operators, TopRefusesAPipe) {
  cluster_.Start("n1");
  const app::Ran ran = cluster_.Ctl("n1", {"top"});
  EXPECT_EQ(ran.exit, 2);
  EXPECT_THAT(ran.out, IsEmpty());
  EXPECT_THAT(ran.err, HasSubstr("terminal"));
}

// Plan: the kernel says which user calls over loopback. Another user than the node's may read, and
// changes nothing until --access says so. Each change and each refusal leaves a line with that
// user.
TEST_F(Operators, AnotherUserOfThisHostChangesNothingUntilAccessSaysSo) {
  if (geteuid() != 0) GTEST_SKIP() << "only root can run batonctl as somebody else";
  const std::string folder = FreshFolder();
  const std::string access = folder + "/access.yaml";
  std::ofstream(access) << "rules: []\n";
  const std::string audit = folder + "/audit.jsonl";
  NodeProcess& node = cluster_.Start("n1", {"--access", access, "--audit-file", audit});
  cluster_.AwaitBalanced({"n1"});  // from then on it writes nothing by itself
  // Where everybody may run it: the build folder may be in somebody's home.
  std::filesystem::copy_file(BATONCTL, folder + "/batonctl");
  std::filesystem::permissions(folder, std::filesystem::perms(0755));
  const auto as_stranger = [&](const std::string& verb) {
    return app::RunProcess(
        {.arguments = {"setpriv", "--reuid", "61234", "--regid", "61234", "--clear-groups",
                       folder + "/batonctl", "--endpoint", node.endpoint(), verb},
         .input = {},
         .watch = {}});
  };
  EXPECT_EQ(as_stranger("status").exit, 0);
  EXPECT_EQ(as_stranger("whoami").out, "uid 61234: read\n");
  const std::int64_t revision = etcd_.Revision();
  const app::Ran refused = as_stranger("pause");
  EXPECT_EQ(refused.exit, 1) << refused.out;
  EXPECT_THAT(refused.err, HasSubstr("uid 61234 may not do this: it needs the role operate"));
  EXPECT_EQ(etcd_.Revision(), revision);
  EXPECT_THAT(node.Log(), testing::ContainsRegex("change refused verb=PauseBalance[^\n]* why=[^\n]*"
                                                 "it needs the role operate"));
  std::ofstream(access) << "rules:\n- {user: 61234, role: operate}\n";
  cluster_.Await("the rule counts", [&] { return as_stranger("pause").exit == 0; });
  cluster_.AwaitLogged(node.id(), "change verb=PauseBalance [^\n]*by=.uid 61234");
  const auto entries = [&] {
    std::ifstream file(audit);
    return std::string{std::istreambuf_iterator<char>(file), {}};
  };
  const std::string entry =
      R"("verb":"PauseBalance","target":"","dry_run":false,"by":"uid 61234",)";
  cluster_.Await("the audit has it",
                 [&] { return entries().find(R"("result":"done")") != std::string::npos; });
  EXPECT_THAT(entries(), HasSubstr(entry));
  EXPECT_THAT(entries(), testing::ContainsRegex("\"result\":\"refused\",\"error\":\"[^\"\n]*"
                                                "it needs the role operate"));

  std::ofstream(access) << "this_host: probe\n";
  cluster_.Await("nothing can be read", [&] { return as_stranger("status").exit == 1; });
  EXPECT_THAT(as_stranger("status").err, HasSubstr("it needs the role read"));
  EXPECT_EQ(as_stranger("whoami").out, "uid 61234: probe\n");
  EXPECT_EQ(cluster_.Ctl("n1", {"status"}).exit, 0) << "the node's own user may still read";
  const auto get_as_stranger = [&](const std::string& path) {
    return app::RunProcess(
               {.arguments = {"setpriv", "--reuid", "61234", "--regid", "61234", "--clear-groups",
                              "curl", "-sS", "-o", "/dev/null", "-w", "%{http_code}",
                              "http://127.0.0.1:" + std::to_string(node.http_port()) + path},
                .input = {},
                .watch = {}})
        .out;
  };
  for (const char* open : {"/livez", "/readyz", "/shards/0/leader", "/"}) {
    EXPECT_EQ(get_as_stranger(open), "200") << open;
  }
  for (const char* closed :
       {"/metrics", "/v1/status", "/v1/routes?after=0", "/v1/events", "/nothing"}) {
    EXPECT_EQ(get_as_stranger(closed), "403") << closed;
  }
  EXPECT_THAT(node.Log(), testing::ContainsRegex("read refused what=[^\n]* by=.uid 61234"));
  for (const char* what : {R"("verb":"GetStatus")", R"("verb":"/)"}) {
    cluster_.Await("the audit has the refused reads", [&] {
      get_as_stranger("/metrics");
      as_stranger("status");
      return entries().find(what) != std::string::npos;
    });
  }
  EXPECT_THAT(entries(), testing::ContainsRegex("\"verb\":\"GetStatus\"[^\n]*\"by\":\"uid 61234\""
                                                "[^\n]*\"result\":\"refused\""));
  cluster_.Await("a refused path is there without its query", [&] {
    get_as_stranger("/v1/lookup?key=a-customer");
    return entries().find(R"("verb":"/v1/lookup",)") != std::string::npos;
  });
  EXPECT_THAT(entries() + node.Log(), testing::Not(HasSubstr("a-customer")));
  std::ofstream(access) << "rules:\n- {user: 61234, role: none}\n";
  cluster_.Await("nothing is answered", [&] { return as_stranger("whoami").exit == 1; });
  EXPECT_EQ(get_as_stranger("/shards/0/leader"), "403");
  EXPECT_EQ(get_as_stranger("/livez"), "200");
  std::filesystem::remove_all(folder);
}

// Plan: a user of the host calls, whose group may make changes, until the rules lose the group. The
// node asks the host for the groups while the connection opens; batonctl asks again if that takes
// longer.
TEST_F(Operators, AGroupOfThisHostMayMakeChanges) {
  if (geteuid() != 0) GTEST_SKIP() << "only root can run batonctl as somebody else";
  const passwd* const user = getpwnam("daemon");
  if (user == nullptr) GTEST_SKIP() << "this host has no user daemon";
  const std::string folder = FreshFolder();
  const std::string access = folder + "/access.yaml";
  std::ofstream(access) << "rules:\n- {group: daemon, role: operate}\n";
  NodeProcess& node = cluster_.Start("n1", {"--access", access});
  std::filesystem::copy_file(BATONCTL, folder + "/batonctl");
  std::filesystem::permissions(folder, std::filesystem::perms(0755));
  const auto as_daemon = [&](const std::string& verb) {
    return app::RunProcess(
        {.arguments = {"setpriv", "--reuid", "daemon", "--regid", "65534", "--clear-groups",
                       folder + "/batonctl", "--endpoint", node.endpoint(), verb},
         .input = {},
         .watch = {}});
  };
  const app::Ran paused = as_daemon("pause");
  EXPECT_EQ(paused.exit, 0) << paused.err;
  EXPECT_EQ(as_daemon("whoami").out, "uid " + std::to_string(user->pw_uid) + ": operate\n");
  std::ofstream(access) << "rules:\n- {group: nogroup, role: operate}\n";
  cluster_.Await("the rule counts no more", [&] { return as_daemon("resume").exit == 1; });
  std::filesystem::remove_all(folder);
}

// From another address than loopback everybody may read, but nobody may change anything, unless the
// node has --allow-remote-admin.
TEST_F(Operators, ChangesFromOutsideAreRefusedUnlessAllowed) {
  const auto outside = OutsideAddress();
  if (!outside) GTEST_SKIP() << "this host has no address but loopback";
  cluster_.Start("n1", {"--listen", *outside + ":0", "--insecure"});
  cluster_.Await("n1 leads all", [&](const Table& now) { return LedBy(now, "n1").size() == 12; });
  EXPECT_EQ(cluster_.Ctl("n1", {"status"}).exit, 0);
  const std::int64_t revision = etcd_.Revision();
  const app::Ran refused = cluster_.Ctl("n1", {"pause"});
  EXPECT_EQ(refused.exit, 1) << refused.out;
  EXPECT_THAT(refused.err, HasSubstr("--allow-remote-admin"));
  EXPECT_EQ(etcd_.Revision(), revision);
  cluster_.Start(
      "n2", {"--listen", *outside + ":0", "--insecure", "--allow-remote-admin", "--zone", "z"});
  EXPECT_EQ(cluster_.Ctl("n2", {"pause"}).exit, 0);
}

}  // namespace
}  // namespace baton::e2e
