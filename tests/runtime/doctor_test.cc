// The doctor's judgement: one healthy situation, and each thing that can be wrong in it.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>

#include <filesystem>
#include <fstream>
#include <functional>
#include <iterator>
#include <regex>
#include <set>
#include <string>
#include <vector>

#include "etcd/advice.h"
#include "runtime/doctor/judgement.h"
#include "runtime/doctor_cases.h"

namespace baton::runtime {
namespace {

using std::chrono::milliseconds;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::Not;

// These words are API: scripts depend on them.
TEST(Doctor, LooksAtTheSameThingsInTheSameOrder) {
  std::vector<std::string> checks;
  for (const Finding& finding : Judge(Well())) checks.push_back(finding.check);
  EXPECT_THAT(checks, ElementsAre("session", "ttl", "guard", "clock", "secrets", "etcd_endpoints",
                                  "etcd_cluster", "etcd_version", "etcd_latency", "etcd_alarms",
                                  "etcd_space", "etcd_compaction", "etcd_revision", "etcd_access",
                                  "records", "members", "expected_nodes", "candidates", "failover",
                                  "shards", "placement", "deaths", "activation", "callbacks",
                                  "balance", "series", "exposure"));
}

TEST(Doctor, FindsNothingWhereAllIsWell) {
  for (const Finding& finding : Judge(Well())) {
    EXPECT_EQ(finding.severity, Severity::kOk) << finding.check << ": " << finding.what;
    EXPECT_THAT(finding.advice, IsEmpty()) << finding.check;
  }
}

TEST(Doctor, OfTheNode) {
  Expect(After("session", [](Examination& seen) { seen.answered = false; }), kProblem,
         "does not answer", "see the node's log");
  Expect(AfterNode("session",
                   [](NodeStatus& status) {
                     status.halted = Error{ErrorCode::kInternal, "another cluster"};
                   }),
         kProblem, "halted: another cluster", "restart");
  Expect(AfterNode("session",
                   [](NodeStatus& status) {
                     status.ready = false;
                     status.not_ready = "no session yet";
                   }),
         kProblem, "no session yet", "etcd");
  for (const auto& said : {std::pair{"no application is attached", "attaches"},
                           {"the application gives no sign of life (watchdog)", "--watchdog"}}) {
    Expect(AfterNode("session",
                     [&said](NodeStatus& status) {
                       status.ready = false;
                       status.not_ready = said.first;
                     }),
           kProblem, said.first, said.second);
  }
  Expect(After("ttl", [](Examination& seen) { seen.ttl_asked = milliseconds(1000); }), kWarning,
         "asked 1000 ms, granted 10000 ms", "election");
  Expect(AfterNode("ttl", [](NodeStatus& status) { status.ttl = milliseconds(0); }), kWarning,
         "no lease", "etcd");
  Expect(After("secrets", [](Examination& seen) { seen.secrets.writable_files = {"/ca"}; }),
         kWarning, "change /ca, and so decide who is trusted", "SECURITY.md");
  Expect(After("secrets", [](Examination& seen) { seen.secrets.open_files = {"/p"}; }), kWarning,
         "other users can read or change /p", "SECURITY.md");
  Expect(After("secrets", [](Examination& seen) { seen.secrets.password_in_clear = true; }),
         kWarning, "without TLS: give --etcd-ca", "SECURITY.md");
  Expect(After("clock", [](Examination& seen) { seen.clock.synchronised = false; }), kWarning,
         "nothing keeps", "NTP");
  Expect(After("exposure",
               [](Examination& seen) {
                 seen.exposed = {"0.0.0.0:7400", "n1:7401"};
               }),
         kWarning, "0.0.0.0:7400 and n1:7401 are open to everybody", "--tls-client-auth require");
  // A program that embeds the node shows what it likes.
  Expect(After("series", [](Examination& seen) { seen.max_shard_series = std::nullopt; }),
         Severity::kOk, "about 8", "");
  Expect(After("series", [](Examination& seen) { seen.max_shard_series = 7; }), kWarning, "about 8",
         "--max-shard-series");
  Expect(AfterNode("series", [](NodeStatus& status) { status.shards.resize(60'000); }), kNotice,
         "240000 in the group", "seldom");
}

// Plan: with and without a number; who left in order, or is back, is not missed.
TEST(Doctor, OfNodesThatAreMissed) {
  const auto left = [](const std::string& node, std::optional<Reason> why, bool back = false) {
    return DepartedMember{
        .node = node, .session = {}, .age = std::chrono::minutes(12), .why = why, .back = back};
  };
  Expect(AfterNode("expected_nodes", [](NodeStatus& status) { status.expected_nodes = 3; }),
         kProblem, "2 of 3 are live", "if 2 are meant, `batonctl group set expected-nodes 2`");
  Expect(AfterNode("expected_nodes",
                   [&](NodeStatus& status) {
                     status.expected_nodes = 3;
                     status.departed = {left("n3", Reason::kLeaseExpired)};
                   }),
         kProblem, "gone: n3 (lease_expired, 12 min ago)", "");
  Expect(AfterNode("expected_nodes",
                   [&](NodeStatus& status) { status.departed = {left("n3", std::nullopt)}; }),
         kWarning, "gone: n3 (reason unknown, 12 min ago)", "see their logs");
  Expect(AfterNode("expected_nodes",
                   [&](NodeStatus& status) {
                     status.departed = {left("n3", Reason::kProcessDied)};
                     status.departed.front().age = std::chrono::seconds(20);
                   }),
         kWarning, "gone: n3 (process_died, less than 1 min ago)", "");
  const Finding fine = AfterNode("expected_nodes", [&](NodeStatus& status) {
    status.expected_nodes = 2;
    status.departed = {left("n3", Reason::kShutdown), left("n2", Reason::kProcessDied, true)};
  });
  EXPECT_EQ(fine.severity, Severity::kOk);
  EXPECT_EQ(fine.what, "2 of 2 are live");
}

TEST(Doctor, OfEtcdsMembers) {
  Expect(AfterEtcd("etcd_endpoints", [](EndpointCheckup& one) { one = Gone(one.endpoint); }),
         kWarning, "2 of 3 answer (b:2379: connection refused)", "replace");
  Expect(AfterEtcd("etcd_endpoints",
                   [](EndpointCheckup& one) { one.unreachable = "b:2379: UNAVAILABLE"; }),
         kWarning, "2 of 3 answer (b:2379: UNAVAILABLE)", "replace");
  EXPECT_EQ(After("etcd_endpoints", [](Examination& seen) { seen.endpoints_left_out = 48; }).what,
            "3 of 3 answer, 48 more were not examined");
  Expect(After("etcd_endpoints", [](Examination& seen) { seen.endpoints.resize(1); }), kNotice,
         "1 of 1", "all members");
  Expect(AfterEtcd("etcd_cluster", [](EndpointCheckup& one) { one.cluster = 78; }), kProblem,
         "different clusters", "one cluster");
  Expect(AfterEtcd("etcd_cluster", [](EndpointCheckup& one) { one.has_leader = false; }), kProblem,
         "b:2379", "majority");
  Expect(AfterEtcd("etcd_cluster", [](EndpointCheckup& one) { one.learner = true; }), kWarning,
         "b:2379", "promote");
  Expect(AfterEtcd("etcd_cluster", [](EndpointCheckup& one) { one.applied = 1000; }), kWarning,
         "b:2379", "disk");
  Expect(AfterEtcd("etcd_version",
                   [](EndpointCheckup& one) {
                     one.version = "3.4.23";
                     one.faults = {"loses data in a crash"};
                   }),
         kWarning, "3.4.23 has known faults: it loses data in a crash", "3.5.33");
  Expect(AfterEtcd("etcd_version", [](EndpointCheckup& one) { one.version = "3.6.10"; }), kNotice,
         "3.5.30, 3.6.10", "upgrade");
}

std::string TextOf(const std::filesystem::path& path) {
  std::ifstream file(path);
  return {std::istreambuf_iterator<char>(file), {}};
}

// Plan: what the documentation and the deployment to copy from say of etcd's versions and of its
// compaction is what the doctor says.
TEST(Doctor, AdvisesWhatTheDocumentationSays) {
  const std::filesystem::path root = SOURCE_ROOT;
  std::string texts =
      TextOf(root / "README.md") + TextOf(root / "packaging/container/compose.yaml");
  for (const auto& entry : std::filesystem::directory_iterator(root / "docs")) {
    if (entry.path().extension() == ".md") texts += TextOf(entry.path());
  }
  const std::regex version(R"(\d+\.\d+\.\d+)");
  const std::string advised = etcd::kAdvisedVersions;
  for (std::sregex_iterator next(advised.begin(), advised.end(), version), end; next != end;
       ++next) {
    EXPECT_THAT(texts, HasSubstr(next->str()));
  }
  const std::regex retention(R"(auto-compaction-retention[= ](\w+))");
  std::set<std::string> retentions;
  for (std::sregex_iterator next(texts.begin(), texts.end(), retention), end; next != end; ++next) {
    retentions.insert((*next)[1]);
  }
  EXPECT_THAT(retentions, ElementsAre(etcd::kAdvisedRetention));
}

TEST(Doctor, OfEtcdsHealth) {
  Expect(AfterEtcd("etcd_latency", [](EndpointCheckup& one) { one.commit = milliseconds(500); }),
         kWarning, "a commit takes 3.0 ms (a:2379), 500.0 ms (b:2379), 3.0 ms (c:2379)", "fsync");
  Expect(AfterEtcd("etcd_latency", [](EndpointCheckup& one) { one.commit = milliseconds(2000); }),
         kProblem, "leases will be lost", "lengthen the nodes' TTL");
  Expect(AfterEtcd("etcd_alarms", [](EndpointCheckup& one) { one.alarms = {"NOSPACE"}; }), kProblem,
         "NOSPACE", "disarm");
  Expect(AfterEtcd("etcd_space",
                   [](EndpointCheckup& one) { one.size_bytes = std::int64_t{1900} << 20; }),
         kWarning, "1900 MiB", "quota");
  Expect(AfterEtcd("etcd_space",
                   [](EndpointCheckup& one) { one.size_bytes = std::int64_t{600} << 20; }),
         kNotice, "10 MiB are in use", "defrag");
  Expect(After("etcd_compaction",
               [](Examination& seen) {
                 for (EndpointCheckup& one : seen.endpoints) one.compacted = false;
               }),
         kWarning, "none in 40000", "auto-compaction-retention=10m; if it runs with them for less");
  Expect(AfterEtcd("etcd_revision", [](EndpointCheckup& one) { one.revision = Revision{7}; }),
         kProblem, "b:2379: at revision 7, below ", "Restored backups");
  Expect(AfterEtcd("etcd_latency", [](EndpointCheckup& one) { one.failed = "deadline"; }), kProblem,
         "a read or a commit failed; each may take 2000", "disk");
  Expect(AfterEtcd("etcd_access", [](EndpointCheckup& one) { one.read_refused = "denied"; }),
         kProblem, "read: denied", "--prefix=true /baton/v1/");
  Expect(AfterEtcd(
             "etcd_access",
             [](EndpointCheckup& one) { one.read_refused = "etcdserver: authentication failed"; }),
         kProblem, "does not take the user's password", "the node's etcd user and password");
  Expect(AfterEtcd("etcd_access", [](EndpointCheckup& one) { one.write_refused = "denied"; }),
         kProblem, "written: denied", "readwrite");
  Expect(After("etcd_access", [](Examination& seen) { seen.authenticates = false; }), kNotice,
         "everybody", "authentication");
}

// Plan: shards without a leader, for each reason that the status knows, and without any.
TEST(Doctor, SaysWhyShardsHaveNoLeader) {
  Expect(AfterNode("shards", [](NodeStatus& status) { Leaderless(status); }), kProblem, "1 of 2",
         "weight");
  Expect(AfterNode("shards",
                   [](NodeStatus& status) {
                     Leaderless(status);
                     status.braking = true;
                   }),
         kProblem, "1 of 2", "many members vanished");
  Expect(AfterNode("shards", [](NodeStatus& status) { status.shards[1].quarantined = true; }),
         kProblem, "1 have records", "quarantine/");
  Expect(AfterNode("shards",
                   [](NodeStatus& status) { status.shards[1].state = ShardState::kSuspended; }),
         kProblem, "1 are suspended", "etcd");
  Expect(AfterNode("shards",
                   [](NodeStatus& status) {
                     Leaderless(status).claims_wait = milliseconds(1);
                     status.waiting = 1;
                   }),
         kProblem, "1 of 2 wait for a leader, because theirs died", "deaths");
  Expect(AfterNode("shards",
                   [](NodeStatus& status) {
                     ShardStatus& shard = Leaderless(status);
                     shard.claims_wait = milliseconds(1);
                     shard.waits_for = "n9";
                     status.waiting = 1;
                   }),
         kProblem, "because theirs died; 1 of these also waits by the failover settings", "deaths");
  Expect(AfterNode("shards",
                   [](NodeStatus& status) {
                     Leaderless(status).waits_for = "n9";
                     status.waiting_by_settings = 1;
                   }),
         kProblem, "1 of 2 wait for a leader, by the group's failover settings", "release");
  Expect(AfterNode("shards",
                   [](NodeStatus& status) {
                     Leaderless(status).nobody_may_lead = true;
                     status.nobody_may_lead = 1;
                   }),
         kProblem, "1 of 2 have no leader, by a placement rule", "placement");
  // One waits for two reasons, and the other for none.
  Expect(AfterNode("shards",
                   [](NodeStatus& status) {
                     Leaderless(status).nobody_may_lead = true;
                     status.shards[1].waits_for = "n9";
                     status.nobody_may_lead = status.waiting_by_settings = 1;
                     status.shards[0].leader.clear();
                     status.leaderless = 2;
                   }),
         kProblem, "2 of 2 have no leader", "weight");
}

// Plan: with failover never, the node for which a shard waits is back, but not with the directory
// that led. To bring it back is no advice then.
TEST(Doctor, SaysIfANodeIsBackWithoutItsDirectory) {
  const auto wait = [](NodeStatus& status) {
    status.failover.policy = FailoverPolicy::kNever;
    Leaderless(status).waits_for = "n2";
    status.waiting_by_settings = 1;
  };
  Expect(AfterNode("shards", wait), kProblem, "1 of 2 wait for a leader", "bring the node back");
  const Finding back = AfterNode("shards", [&](NodeStatus& status) {
    wait(status);
    status.shards[1].waits_for_directory = true;
  });
  Expect(back, kProblem,
         "1 of 2 wait for a leader, by the group's failover settings: n2 is back with another "
         "state directory",
         "release these shards, or start n2 with the old one");
  EXPECT_THAT(back.advice, Not(HasSubstr("bring the node back")));
  const Finding both = AfterNode("shards", [&](NodeStatus& status) {
    wait(status);
    status.shards[1].waits_for_directory = true;
    status.shards[0].leader.clear();
    status.shards[0].waits_for = "n9";
    status.leaderless = status.waiting_by_settings = 2;
  });
  Expect(both, kProblem, "2 of 2 wait for a leader", "start n2 with the old one; bring the other");
}

// Plan: who joined a group with failover never without a state directory is named, unless it leads
// nothing and may not begin to. With other settings it does not matter.
TEST(Doctor, NamesMembersThatCouldTakeNothingBack) {
  const auto joins = [](FailoverPolicy policy) {
    return [policy](NodeStatus& status) {
      status.failover.policy = policy;
      for (MemberStatus& member : status.members) member.fact.directory = 7;
      status.members[1].fact.directory = 0;
    };
  };
  Expect(AfterNode("failover", joins(FailoverPolicy::kNever)), kWarning,
         "failover is never, and n2 has no state directory", "--state-dir");
  EXPECT_EQ(AfterNode("failover", joins(FailoverPolicy::kAfter)).severity, Severity::kOk);
  EXPECT_EQ(AfterNode("failover", joins(FailoverPolicy::kImmediate)).severity, Severity::kOk);
  const auto drained = [&](NodeStatus& status) {
    joins(FailoverPolicy::kNever)(status);
    status.members[1].drained_by_policy = true;
  };
  EXPECT_EQ(AfterNode("failover", drained).severity, Severity::kOk);
  Expect(AfterNode("failover",
                   [&](NodeStatus& status) {
                     drained(status);
                     status.members[1].led = 1;
                   }),
         kWarning, "n2 has no state directory", "drain");
}

// Plan: a guard that was asked for and does not act is named, and who asked for none is left alone.
TEST(Doctor, OfTheGuard) {
  const auto guard = [](GuardCounters counters) {
    return After("guard", [&](Examination& seen) { seen.guard = std::move(counters); });
  };
  EXPECT_EQ(After("guard", [](Examination&) {}).what, "this node was not given one of its own");
  EXPECT_EQ(guard({.running = true, .starts = 1}).severity, Severity::kOk);
  Expect(guard({.starts = 3}), kWarning, "it does not run (3 starts so far)", "log");
  Expect(guard({.cannot_act = "its lock proves nothing"}), kWarning,
         "no guard acts for this node: its lock proves nothing; if its process dies, its lease has "
         "to run out",
         "--guard off");
}

TEST(Doctor, OfTheGroup) {
  Expect(AfterNode("members",
                   [](NodeStatus& status) { status.members[1].fact.software_version = "0.2.0"; }),
         kWarning, "0.1.0 on 1, 0.2.0 on 1", "upgrade");
  Expect(AfterNode("members",
                   [](NodeStatus& status) { status.members[1].fact.ttl = milliseconds(30'000); }),
         kWarning, "10000 ms, 30000 ms", "the same TTL");
  Expect(AfterNode("members", [](NodeStatus& status) { status.members.clear(); }), kProblem,
         "no member", "start");
  Expect(AfterNode(
             "placement",
             [](NodeStatus& status) {
               status.placement = {{}, {.shards = {}, .require = {{"node", {"n9"}}}, .prefer = {}}};
               status.leaderless = status.nobody_may_lead = 1;
               status.shards[1].rule = 2;
               status.shards[1].nobody_may_lead = true;
             }),
         kProblem, "nobody leads 1 of 2 shards, because no live node may, by rule 2 (node=n9)",
         "start nodes with these labels");
  Expect(AfterNode(
             "placement",
             [](NodeStatus& status) {
               status.placement = {{.shards = {}, .require = {{"zone", {"a", "b"}}}, .prefer = {}}};
               status.led_against_rules = 1;
               status.shards[0].rule = 1;
               status.shards[0].led_against_rule = true;
             }),
         kWarning,
         "the leaders of 1 of 2 shards could not begin to lead them, by rule 1 (zone=a|b)",
         "once nodes that may lead them are there");
  Expect(
      AfterNode("placement",
                [](NodeStatus& status) {
                  status.placement = {{.shards = {}, .require = {}, .prefer = {}, .standbys = 1}};
                  status.without_ready_standby = 1;
                  status.shards[1].rule = 1;
                  status.shards[1].without_ready_standby = true;
                }),
      kWarning, "1 of 2 shards have no ready standby, by rule 1", "batonctl shards list");
  Expect(AfterNode("deaths", [](NodeStatus& status) { status.shards[1].deaths = 3; }), kWarning,
         "shard 1 3 times", "application");
  Expect(AfterNode("deaths",
                   [](NodeStatus& status) {
                     status.shards[1].deaths = 3;
                     status.shards[1].claims_wait = milliseconds(1200);
                   }),
         kProblem, "nobody claims it for 2 s", "application");
  Expect(AfterNode("balance", [](NodeStatus& status) { status.paused = true; }), kNotice, "paused",
         "resume");
  Expect(AfterNode("balance", [](NodeStatus& status) { status.balancer.clear(); }), kWarning,
         "nobody plans", "logs");
}

// Plan: one of two nodes can't lead, then none, for each reason.
TEST(Doctor, NamesAGroupInWhichNobodyMayLead) {
  const auto drain = [](MemberStatus& member) { member.drained_by_policy = true; };
  const auto without_weight = [](MemberStatus& member) { member.fact.weight = 0; };
  const auto stop = [](MemberStatus& member) { member.fact.state = MemberState::kDraining; };
  Expect(AfterNode("candidates", [&](NodeStatus& status) { drain(status.members[1]); }),
         Severity::kOk, "1 of 2 live nodes may lead", "");
  Expect(AfterNode("candidates",
                   [&](NodeStatus& status) {
                     for (MemberStatus& member : status.members) drain(member);
                   }),
         kProblem, "none of 2 live nodes may lead: 2 drained, 0 stopping, 0 of weight 0",
         "nodes undrain");
  Expect(AfterNode("candidates",
                   [&](NodeStatus& status) {
                     without_weight(status.members[0]);
                     stop(status.members[1]);
                   }),
         kProblem, "0 drained, 1 stopping, 1 of weight 0", "weight above 0");
  const auto unhealthy = [&](MemberStatus& member) {
    stop(member);
    member.fact.unhealthy = true;
  };
  Expect(AfterNode("candidates", [&](NodeStatus& status) { unhealthy(status.members[1]); }),
         kWarning,
         "1 of 2 live nodes may lead; not healthy by their own word: ", "SetHealthy(false)");
  Expect(AfterNode("candidates",
                   [&](NodeStatus& status) {
                     for (MemberStatus& member : status.members) unhealthy(member);
                   }),
         kProblem, "2 not healthy; they keep what they lead, and only those of weight above 0",
         "SetHealthy(false)");
  Expect(AfterNode("candidates", [](NodeStatus& status) { status.members.clear(); }), kNotice,
         "no node is live", "");
}

// Plan: an endpoint finds damaged records that were kept; no endpoint can tell.
TEST(Doctor, NamesRecordsThatWereQuarantined) {
  Expect(AfterEtcd("records", [](EndpointCheckup& one) { one.quarantined = 3; }), kWarning,
         "3 damaged records", "etcdctl get --prefix /baton/v1/orders/quarantine/");
  Expect(After("records",
               [](Examination& seen) {
                 for (EndpointCheckup& one : seen.endpoints) one.quarantined.reset();
               }),
         kNotice, "not known", "");
}

// Plan: two shards fail; the worst one is named, with its error.
TEST(Doctor, NamesTheShardThatFailsToActivate) {
  Expect(AfterNode("activation",
                   [](NodeStatus& status) {
                     status.failing = 2;
                     status.untried = 9;
                     ShardStatus worst = status.shards[1];
                     worst.failing = FailingActivation{.attempts = 12,
                                                       .lasted = milliseconds(95'500),
                                                       .last_error = "no such table"};
                     status.worst_failing = {worst};
                   }),
         kProblem,
         "2 of the shards that n1 leads fail to activate, 9 more wait for their first try; worst: "
         "shard "
         "1, 12 attempts in 95 s, last error: no such table",
         "batonctl shards retry 1");
  Expect(AfterNode("activation", [](NodeStatus& status) { status.members[1].fact.failing = true; }),
         kWarning, "activations fail on n2", "batonctl doctor");
}

// Plan: two shards that n1 gave up are still stopping; the one that takes longest is named.
TEST(Doctor, NamesTheShardWhoseCallbacksDontReturn) {
  Expect(
      AfterNode("callbacks",
                [](NodeStatus& status) {
                  status.stopping = 2;
                  status.longest_stopping = {{ShardId{1}, milliseconds(95'500)},
                                             {ShardId{0}, milliseconds(1'000)}};
                }),
      kWarning,
      "2 of the shards that n1 gave up are still stopping: a callback of theirs has not returned; "
      "longest: shard 1, for 95 s",
      "what these callbacks (acquired, releasing, lost) wait for");
}

// Plan: etcd is unreachable. What can't be known is reported as unknown, not as ok.
TEST(Doctor, DoesNotCallWellWhatItCouldNotSee) {
  Examination seen = Well();
  for (EndpointCheckup& endpoint : seen.endpoints) endpoint = Gone(endpoint.endpoint);
  for (const Finding& finding : Judge(seen)) {
    if (!finding.check.starts_with("etcd_")) continue;
    EXPECT_NE(finding.severity, Severity::kOk) << finding.check;
    if (finding.check == "etcd_endpoints")
      Expect(finding, kProblem, "0 of 3", "etcd endpoints are right");
  }
}

// Plan: the loop has never answered, so there is no status to judge.
TEST(Doctor, DoesNotJudgeAStatusThatItNeverSaw) {
  Examination seen = Well();
  seen.status = {};
  seen.status.group = "orders";
  seen.status.node = "n1";
  seen.known = seen.answered = false;
  std::set<std::string> unknown;
  for (const Finding& finding : Judge(seen)) {
    if (finding.what.starts_with("not known: the loop")) unknown.insert(finding.check);
    if (finding.check == "session") Expect(finding, kProblem, "does not answer", "log");
  }
  EXPECT_EQ(unknown, (std::set<std::string>{"ttl", "members", "expected_nodes", "candidates",
                                            "failover", "shards", "placement", "deaths",
                                            "activation", "callbacks", "balance", "series"}));
}

// Plan: the node's clock lies between question and answer, a little outside, far outside, and at
// both ends of time.
TEST(Doctor, SaysHowFarTheClocksAreApart) {
  using Time = std::chrono::system_clock::time_point;
  const Time asked{std::chrono::seconds(1'700'000'000)};
  const Time answered = asked + milliseconds(40);
  const auto of = [&](Time node) { return ClockDifference(asked, node, answered); };
  Expect(of(asked + milliseconds(20)), Severity::kOk, "agree", "");
  Expect(of(asked - milliseconds(499)), Severity::kOk, "agree", "");
  Expect(of(asked - milliseconds(500)), kWarning, "500 ms behind", "NTP");
  Expect(of(answered + milliseconds(2000)), kWarning, "2000 ms ahead of", "NTP");
  Expect(of(Time::min()), kWarning, "behind", "NTP");
  Expect(of(Time::max()), kWarning, "ahead of", "NTP");
}

// Plan: files of each mode up to 0640, and wider ones; a password with and without TLS, near and
// far.
TEST(Secrets, AreForTheirOwnerAndGroupAndNotForTheNetwork) {
  const std::string path = testing::TempDir() + "secret-" + std::to_string(getpid());
  std::ofstream(path) << "s";
  const std::chrono::system_clock::time_point now{};
  const auto open_at = [&](mode_t mode) {
    EXPECT_EQ(chmod(path.c_str(), mode), 0);
    return !CheckSecrets({}, {.secret = {path, "", path + ".missing"}}, now).open_files.empty();
  };
  for (const mode_t mode : {0400, 0600, 0440, 0640, 0700}) EXPECT_FALSE(open_at(mode)) << mode;
  for (const mode_t mode : {0660, 0644, 0604, 0602, 0601, 0777}) EXPECT_TRUE(open_at(mode)) << mode;
  const auto writable_at = [&](mode_t mode) {
    EXPECT_EQ(chmod(path.c_str(), mode), 0);
    return !CheckSecrets({}, {.trusted = {path, "", path + ".missing"}}, now)
                .writable_files.empty();
  };
  for (const mode_t mode : {0400, 0644, 0555, 0755}) EXPECT_FALSE(writable_at(mode)) << mode;
  for (const mode_t mode : {0660, 0646, 0777}) EXPECT_TRUE(writable_at(mode)) << mode;
  std::filesystem::remove(path);

  EtcdOptions etcd;
  etcd.endpoints = {"127.0.0.1:2379", "[::1]:2379", "localhost:2379"};
  etcd.user = "u";
  etcd.password = "p";
  EXPECT_FALSE(CheckSecrets(etcd, {}, now).password_in_clear);
  for (const char* const elsewhere : {"10.0.0.7:2379", "127.example.org:2379", "localhost.x:1"}) {
    etcd.endpoints.push_back(elsewhere);
    EXPECT_TRUE(CheckSecrets(etcd, {}, now).password_in_clear) << elsewhere;
    etcd.endpoints.pop_back();
  }
  etcd.endpoints.push_back("10.0.0.7:2379");
  // Either of the two makes the connection use TLS.
  for (std::string EtcdOptions::*const pem : {&EtcdOptions::ca_pem, &EtcdOptions::cert_pem}) {
    EtcdOptions tls = etcd;
    tls.*pem = "pem";
    EXPECT_FALSE(CheckSecrets(tls, {}, now).password_in_clear);
  }
  etcd.ca_pem = "ca";
  EXPECT_EQ(JudgeSecrets(CheckSecrets(etcd, {}, now)).severity, Severity::kOk);
}

}  // namespace
}  // namespace baton::runtime
