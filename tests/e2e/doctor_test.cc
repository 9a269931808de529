// batonctl doctor against real nodes and real etcds, healthy and unhealthy.
#include <string>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <boost/json.hpp>

#include "e2e/cluster.h"
#include "e2e/etcd_client.h"

namespace baton::e2e {
namespace {

namespace json = boost::json;
using testing::HasSubstr;

/// The finding about `check` in `doctor -o json`; an empty object if there is none.
json::object FindingOf(const app::Ran& ran, const std::string& check) {
  boost::system::error_code failed;
  const json::value document = json::parse(ran.out, failed);
  EXPECT_FALSE(failed) << ran.out << ran.err;
  if (failed) return {};
  for (const json::value& finding : document.at("findings").as_array()) {
    if (finding.at("check").as_string() == check) return finding.as_object();
  }
  ADD_FAILURE() << "no finding about " << check << " in " << ran.out;
  return {};
}

std::string Severity(const app::Ran& ran, const std::string& check) {
  const json::object finding = FindingOf(ran, check);
  return finding.empty() ? "" : std::string(finding.at("severity").as_string());
}

// Plan: two nodes and one etcd member, healthy apart from an old etcd and its single endpoint. The
// doctor exits with 0, finds no problem, shows etcd's version and latency, and doesn't change
// etcd's revision.
TEST(Doctor, OfAHealthyGroupExitsZeroAndWritesNothing) {
  EtcdClient etcd(SharedEtcd().endpoints());
  Cluster cluster(SharedEtcd(), {.shards = 6});
  cluster.StartAll({"n1", "n2"});
  cluster.AwaitBalanced({"n1", "n2"});
  cluster.Await("a balancer", [&] { return etcd.Get(cluster.Key("balancer")).has_value(); });
  const std::int64_t before = etcd.Revision();
  const app::Ran ran = cluster.Ctl("n1", {"doctor", "-o", "json"});
  EXPECT_EQ(ran.exit, 0) << ran.out << ran.err;
  EXPECT_EQ(etcd.Revision(), before);
  for (const char* check :
       {"session", "ttl", "etcd_cluster", "etcd_alarms", "records", "members", "candidates",
        "shards", "activation", "callbacks", "balance", "series", "exposure", "clock_difference"}) {
    EXPECT_EQ(Severity(ran, check), "ok") << check << " in " << ran.out;
  }
  EXPECT_EQ(Severity(ran, "etcd_endpoints"), "notice");
  EXPECT_THAT(FindingOf(ran, "etcd_latency").at("what").as_string().c_str(), HasSubstr(" ms"));
  EXPECT_THAT(FindingOf(ran, "etcd_version").at("what").as_string().c_str(), HasSubstr("3."));
  EXPECT_TRUE(json::parse(ran.out).at("healthy").as_bool());
  const app::Ran text = cluster.Ctl("n2", {"doctor"});
  EXPECT_EQ(text.exit, 0);
  EXPECT_THAT(text.out, HasSubstr("ok       session"));
  EXPECT_THAT(text.out, HasSubstr("-> "));
  // On a terminal, whose words have colours.
  std::string command;
  for (const std::string& word : cluster.CtlCommand("n2", {"doctor"})) command += word + " ";
  const app::Ran painted = app::RunProcess(
      {.arguments = {"script", "-qec", command, "/dev/null"}, .input = "", .watch = {}});
  EXPECT_EQ(painted.exit, 0) << painted.out << painted.err;
  EXPECT_THAT(painted.out, HasSubstr("\x1b["));
  EXPECT_THAT(painted.out, testing::Not(HasSubstr("u001b")));
}

// Plan: etcd runs out of space, and then dies. The doctor of a running node names each, and exits
// with 1.
TEST(Doctor, NamesAnAlarmAndAnEtcdThatIsGone) {
  auto started = StartEtcd({.arguments = {"--quota-backend-bytes=1048576"}});
  ASSERT_TRUE(started.ok()) << started.error().message;
  lab::PrivateEtcd& own = *started.value();
  Cluster cluster(own, {.shards = 6, .ttl = kShortLease});
  cluster.Start("n1");
  cluster.AwaitBalanced({"n1"});
  const std::string filler(60'000, 'x');
  const auto fill = [&] {
    std::vector<std::string> line = EtcdctlFlags();
    line.insert(line.begin(),
                {"etcdctl", "--endpoints", own.endpoints().front(), "put", "/filler"});
    return app::RunProcess({.arguments = line, .input = filler, .watch = {}});
  };
  cluster.Await("an alarm", [&] {
    fill();  // refused once the alarm is up
    return Severity(cluster.Ctl("n1", {"doctor", "-o", "json"}), "etcd_alarms") == "problem";
  });
  EXPECT_EQ(cluster.Ctl("n1", {"doctor"}).exit, 1);
  own.Kill(0);
  const app::Ran gone = cluster.Ctl("n1", {"doctor", "-o", "json"});
  EXPECT_EQ(gone.exit, 1) << gone.out << gone.err;
  EXPECT_EQ(Severity(gone, "etcd_endpoints"), "problem");
  EXPECT_NE(Severity(gone, "etcd_alarms"), "ok");
}

// Plan: both nodes are drained, so the last drain can't end; then one is undrained.
TEST(Doctor, SaysThatNobodyMayLead) {
  Cluster cluster(SharedEtcd(), {.shards = 6});
  cluster.StartAll({"n1", "n2"});
  cluster.AwaitBalanced({"n1", "n2"});
  ASSERT_EQ(cluster.Ctl("n1", {"nodes", "drain", "n1"}).exit, 0);
  ASSERT_EQ(cluster.Ctl("n1", {"nodes", "drain", "n2"}).exit, 6);
  const app::Ran ran = cluster.Ctl("n1", {"doctor", "-o", "json"});
  EXPECT_EQ(ran.exit, 1);
  const json::object finding = FindingOf(ran, "candidates");
  EXPECT_EQ(finding.at("severity").as_string(), "problem");
  EXPECT_THAT(finding.at("what").as_string().c_str(), HasSubstr("none of 2 live nodes may lead"));
  EXPECT_THAT(finding.at("advice").as_string().c_str(), HasSubstr("nodes undrain"));
  ASSERT_EQ(cluster.Ctl("n1", {"nodes", "undrain", "n1"}).exit, 0);
  cluster.AwaitBalanced({"n1"});
  EXPECT_EQ(Severity(cluster.Ctl("n2", {"doctor", "-o", "json"}), "candidates"), "ok");
}

// Plan: somebody writes into a shard's record. The nodes replace it; the doctor of a node that
// started later still names what was kept, until that is deleted.
TEST(Doctor, NamesRecordsThatWereDamagedOnce) {
  EtcdClient etcd(SharedEtcd().endpoints());
  Cluster cluster(SharedEtcd(), {.shards = 6});
  cluster.Start("n1");
  cluster.AwaitBalanced({"n1"});
  etcd.Put(cluster.Key("shards/3"), "\xff\xffno record");
  cluster.Await("the record was kept",
                [&] { return !etcd.List(cluster.Key("quarantine/")).empty(); });
  cluster.Start("n2");
  const app::Ran ran = cluster.Ctl("n2", {"doctor", "-o", "json"});
  EXPECT_EQ(Severity(ran, "records"), "warning") << ran.out;
  const std::string advice(FindingOf(ran, "records").at("advice").as_string());
  EXPECT_THAT(advice, HasSubstr("etcdctl get --prefix " + cluster.Key("quarantine/")));
  for (const auto& kept : etcd.List(cluster.Key("quarantine/"))) etcd.Delete(kept.key());
  EXPECT_EQ(Severity(cluster.Ctl("n2", {"doctor", "-o", "json"}), "records"), "ok");
}

// Plan: n2 asks for another TTL than n1, and etcd grants n1 a longer TTL than it asked for.
TEST(Doctor, NamesLeasesThatDiffer) {
  Cluster cluster(SharedEtcd(), {.shards = 6});
  cluster.Start("n1", {"--ttl", "1s"});
  cluster.Start("n2");
  cluster.AwaitBalanced({"n1", "n2"});
  const app::Ran ran = cluster.Ctl("n1", {"doctor", "-o", "json"});
  EXPECT_EQ(Severity(ran, "ttl"), "warning") << ran.out;
  EXPECT_EQ(Severity(ran, "members"), "warning") << ran.out;
}

// Plan: the gRPC port of n1 is at another address than loopback, without TLS. The doctor warns of
// it, by its address, and says what to do.
TEST(Doctor, WarnsOfAPortThatAsksForNoCertificates) {
  if (TheWorld() == World::kTls) GTEST_SKIP() << "the ports of this world require certificates";
  const auto outside = OutsideAddress();
  if (!outside) GTEST_SKIP() << "this host has no address but loopback";
  Cluster cluster(SharedEtcd(), {.shards = 6});
  const NodeProcess& node = cluster.Start("n1", {"--listen", *outside + ":0", "--insecure"});
  const app::Ran ran = cluster.Ctl("n1", {"doctor", "-o", "json"});
  EXPECT_EQ(Severity(ran, "exposure"), "warning") << ran.out << ran.err;
  const json::object finding = FindingOf(ran, "exposure");
  EXPECT_EQ(
      std::string(finding.at("what").as_string()),
      node.endpoint() + " is open to everybody who reaches it: no client certificate is required");
  EXPECT_THAT(finding.at("advice").as_string().c_str(), HasSubstr("--tls-client-ca"));
  cluster.Start("n2");
  EXPECT_EQ(Severity(cluster.Ctl("n2", {"doctor", "-o", "json"}), "exposure"), "ok");
}

}  // namespace
}  // namespace baton::e2e
