// etcd stops, freezes, restarts and forgets history: leaderships pause or go on, but don't change.
#include <algorithm>
#include <map>
#include <utility>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "e2e/cluster.h"
#include "e2e/etcd_client.h"

namespace baton::e2e {
namespace {

using std::chrono::seconds;
using testing::HasSubstr;
using testing::IsEmpty;

std::unique_ptr<lab::PrivateEtcd> StartMembers(std::size_t members) {
  auto started = StartEtcd({.members = members});
  if (!started) {
    ADD_FAILURE() << started.error().message;
    return nullptr;
  }
  return std::move(started).value();
}

double Renewals(const Cluster& cluster, const std::string& node) {
  return cluster.Metric(node, "baton_lease_renewals_total{result=\"confirmed\"}");
}

/// Waits until each node has had `count` more renewals confirmed.
void AwaitRenewals(Cluster& cluster, const std::vector<std::string>& nodes, int count) {
  std::map<std::string, double> first;
  for (const std::string& node : nodes) first[node] = Renewals(cluster, node);
  cluster.Await("renewals go on", [&] {
    return std::all_of(nodes.begin(), nodes.end(), [&](const std::string& node) {
      return Renewals(cluster, node) >= first[node] + count;
    });
  });
}

void ExpectUnchanged(const Table& before, const Table& after) {
  EXPECT_THAT(Moved(before, after), IsEmpty());
  EXPECT_THAT(Retermed(before, after), IsEmpty());
}

// etcd is killed and restarted at once, far within the lease: no leadership changes.
TEST(EtcdRestart, WithinTheLeaseChangesNothing) {
  const auto etcd = StartMembers(1);
  ASSERT_NE(etcd, nullptr);
  Cluster cluster(*etcd, {.shards = 12, .ttl = seconds(20)});
  const std::vector<std::string> nodes = {"n1", "n2", "n3"};
  cluster.StartAll(nodes);
  const Table before = cluster.AwaitBalanced({"n1", "n2", "n3"});
  ASSERT_TRUE(etcd->Restart(0).ok());
  AwaitRenewals(cluster, nodes, 1);
  ExpectUnchanged(before, cluster.AwaitBalanced({"n1", "n2", "n3"}));
  for (const std::string& node : nodes) {
    EXPECT_EQ(cluster.Metric(node, "baton_transitions_total{reason=\"suspended\"}"), 0);
  }
}

// etcd is away until every node has passed its own deadline. All stop leading; they stay alive but
// not ready. The leases live on in the restarted etcd, so the same leaders resume with the same
// terms: a pause, not an election.
TEST(EtcdRestart, BeyondTheLeaseSuspendsAndThenResumesTheSameTerms) {
  const auto etcd = StartMembers(1);
  ASSERT_NE(etcd, nullptr);
  Cluster cluster(*etcd, {.shards = 12, .ttl = seconds(5)});
  const std::vector<std::string> nodes = {"n1", "n2", "n3"};
  cluster.StartAll(nodes);
  const Table before = cluster.AwaitBalanced({"n1", "n2", "n3"});
  etcd->Kill(0);
  const auto all_stopped = [&] {
    return std::all_of(nodes.begin(), nodes.end(), [&](const std::string& node) {
      const auto table = cluster.Look(node);
      const auto own = LedBy(before, node);
      return table && std::all_of(own.begin(), own.end(), [&](int shard) {
               return (*table)[static_cast<std::size_t>(shard)].state == "suspended";
             });
    });
  };
  cluster.Await("all nodes are suspended", all_stopped, cluster.FailoverBound());
  for (const std::string& node : nodes) {
    EXPECT_EQ(cluster.HttpStatus(node, "/livez"), 200) << "etcd's absence is no reason to restart";
    EXPECT_EQ(cluster.HttpStatus(node, "/readyz"), 503);
    EXPECT_THAT(cluster.HttpBody(node, "/readyz"), HasSubstr("suspended"));
    for (int shard = 0; shard < 12; ++shard) {
      const std::string path = "/shards/" + std::to_string(shard) + "/leader";
      EXPECT_EQ(cluster.HttpStatus(node, path), 503);
    }
  }
  EXPECT_EQ(cluster.Ctl("n1", {"health"}).exit, 1);
  ASSERT_TRUE(etcd->Restart(0).ok());
  const Table after = cluster.AwaitBalanced({"n1", "n2", "n3"});
  ExpectUnchanged(before, after);
  for (const std::string& node : nodes) {
    EXPECT_EQ(cluster.HttpStatus(node, "/readyz"), 200);
    const auto own = static_cast<double>(LedBy(after, node).size());
    EXPECT_EQ(cluster.Metric(node, "baton_transitions_total{reason=\"suspended\"}"), own);
    EXPECT_EQ(cluster.Metric(node, "baton_transitions_total{reason=\"resumed\"}"), own);
  }
}

// Each of three members is frozen in turn, also the raft leader: its TCP connections stay open and
// silent. Renewals go on through the others, and no leadership changes. A member is frozen for
// about half a lease: if the raft leader sleeps for longer than a whole lease, it believes when it
// wakes that the leases have run out, and may have them revoked.
TEST(FrozenEtcdMember, OfThreeCostsNoLeadership) {
  const auto etcd = StartMembers(3);
  ASSERT_NE(etcd, nullptr);
  Cluster cluster(*etcd, {.shards = 12, .ttl = seconds(20)});
  const std::vector<std::string> nodes = {"n1", "n2", "n3"};
  cluster.StartAll(nodes);
  const Table before = cluster.AwaitBalanced({"n1", "n2", "n3"});
  for (std::size_t member = 0; member < etcd->size(); ++member) {
    SCOPED_TRACE("member " + std::to_string(member) + " is frozen");
    etcd->Pause(member);
    AwaitRenewals(cluster, nodes, 1);
    etcd->Resume(member);
    EXPECT_TRUE(Eventually(kPatience, [&] { return etcd->Healthy(member); }));
  }
  ExpectUnchanged(before, cluster.AwaitBalanced({"n1", "n2", "n3"}));
  for (const std::string& node : nodes) {
    EXPECT_EQ(cluster.Metric(node, "baton_transitions_total{reason=\"suspended\"}"), 0) << node;
  }
}

// The raft leader's followers freeze in turn, each for three times a TTL of 2 s: no session is
// lost, and every shard keeps its term.
TEST(FrozenEtcdMember, CostsNoLeadershipAtAShortTtl) {
  const auto etcd = StartMembers(3);
  ASSERT_NE(etcd, nullptr);
  Cluster cluster(*etcd, {.shards = 12, .ttl = seconds(2)});
  cluster.StartAll({"n1", "n2", "n3"});
  const Table before = cluster.AwaitBalanced({"n1", "n2", "n3"});
  for (int frozen = 0; frozen < 4; ++frozen) {
    const std::optional<std::size_t> leader = etcd->Leader();
    ASSERT_TRUE(leader);
    const std::size_t member = (*leader + 1 + static_cast<std::size_t>(frozen % 2)) % etcd->size();
    SCOPED_TRACE("member " + std::to_string(member) + " is frozen");
    etcd->Pause(member);
    AwaitRenewals(cluster, {"n1", "n2", "n3"}, 9);
    etcd->Resume(member);
    EXPECT_TRUE(Eventually(kPatience, [&] { return etcd->Healthy(member); }));
  }
  ExpectUnchanged(before, cluster.AwaitBalanced({"n1", "n2", "n3"}));
}

// The session of each node: the lease of its member key.
std::map<std::string, std::int64_t> Sessions(EtcdClient& etcd, const Cluster& cluster) {
  std::map<std::string, std::int64_t> sessions;
  for (const auto& member : etcd.List(cluster.Key("members/"))) {
    sessions[member.key()] = member.lease();
  }
  return sessions;
}

class FrozenEtcdLeader : public testing::TestWithParam<seconds> {};

// Plan: the raft leader freezes for more than twice a TTL, three times, each time the present one.
// The others elect a leader, and all nodes renew there: each keeps its session, and every shard its
// term. Nodes may pause: an election takes one to two seconds, about as long as a TTL of 2 s lets
// them lead.
//
// The frozen member is killed and started again. If it went on, no node could keep its session for
// sure: in every version of etcd it may make the new leader end leases which have long been
// renewed (docs/etcd-versions.md).
TEST_P(FrozenEtcdLeader, CostsNoSessionWhileOthersLead) {
  const auto etcd = StartMembers(3);
  ASSERT_NE(etcd, nullptr);
  Cluster cluster(*etcd, {.shards = 12, .ttl = GetParam()});
  const std::vector<std::string> nodes = {"n1", "n2", "n3"};
  cluster.StartAll(nodes);
  const Table before = cluster.AwaitBalanced({"n1", "n2", "n3"});
  EtcdClient client(etcd->endpoints());
  const auto sessions = Sessions(client, cluster);
  ASSERT_EQ(sessions.size(), nodes.size());
  for (int turn = 0; turn < 3; ++turn) {
    std::optional<std::size_t> leader;
    ASSERT_TRUE(Eventually(kPatience, [&] { return (leader = etcd->Leader()).has_value(); }));
    SCOPED_TRACE("turn " + std::to_string(turn) + ": member " + std::to_string(*leader));
    etcd->Pause(*leader);
    AwaitRenewals(cluster, nodes, 6);
    EXPECT_EQ(Sessions(client, cluster), sessions);
    ASSERT_TRUE(etcd->Restart(*leader).ok());
  }
  ExpectUnchanged(before, cluster.AwaitBalanced({"n1", "n2", "n3"}));
  EXPECT_EQ(Sessions(client, cluster), sessions);
}

INSTANTIATE_TEST_SUITE_P(AtShortTtls, FrozenEtcdLeader, testing::Values(seconds(2), seconds(3)),
                         [](const auto& of) { return std::to_string(of.param.count()) + "s"; });

// n3 is stopped, etcd's restart breaks its watch, shards change hands, and the history that n3
// needs is compacted. When it wakes, still within its lease, it reads everything again and shows
// the same as the others.
TEST(CompactedHistory, IsReplacedByASnapshot) {
  const auto etcd = StartMembers(1);
  ASSERT_NE(etcd, nullptr);
  Cluster cluster(*etcd, {.shards = 12, .ttl = seconds(30)});
  cluster.StartAll({"n1", "n2", "n3"});
  const Table before = cluster.AwaitBalanced({"n1", "n2", "n3"});
  ASSERT_EQ(cluster.Ctl("n1", {"pause"}).exit, 0);
  cluster.node("n3").Pause();
  ASSERT_TRUE(etcd->Restart(0).ok());
  AwaitRenewals(cluster, {"n1", "n2"}, 1);
  EtcdClient client(etcd->endpoints());
  const int first = *LedBy(before, "n1").begin();
  const int second = *LedBy(before, "n2").begin();
  for (const auto& [shard, to] : {std::pair{first, "n2"}, std::pair{second, "n1"}}) {
    const app::Ran moved =
        cluster.Ctl("n1", {"shards", "transfer", std::to_string(shard), "--to", to});
    EXPECT_EQ(moved.exit, 0) << moved.err;
  }
  for (int i = 0; i < 50; ++i) client.Put(cluster.Key("later/" + std::to_string(i)), "stray");
  client.Compact(client.Revision());
  cluster.node("n3").Resume();
  const Table after = cluster.AwaitLed();
  EXPECT_EQ(Moved(before, after), (std::set<int>{first, second}));
  EXPECT_EQ(Retermed(before, after), (std::set<int>{first, second}));
  EXPECT_GE(cluster.Metric("n3", "baton_watch_resyncs_total"), 1);
  EXPECT_EQ(client.List(cluster.Key("later/")).size(), 50u) << "strays are left alone";
}

}  // namespace
}  // namespace baton::e2e
