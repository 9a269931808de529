// Guards: a killed node's shards are led elsewhere long before its lease runs out, and nobody who
// lives is taken for dead.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <poll.h>
#include <signal.h>
#include <sys/resource.h>

#include <boost/json.hpp>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <optional>
#include <string>
#include <vector>

#include "base/subprocess.h"
#include "e2e/authority.h"
#include "e2e/cluster.h"

namespace baton::e2e {
namespace {

using std::chrono::seconds;
using testing::HasSubstr;
using testing::IsEmpty;

// So long that nothing in these tests waits for a lease to end.
constexpr seconds kLongLease{120};
GroupOptions Guarded(const std::string& mode) {
  return {.shards = 12, .ttl = kLongLease, .flags = {"--guard", mode}};
}

pid_t AwaitGuard(const NodeProcess& node) {
  std::optional<pid_t> guard;
  const bool found =
      Eventually(kPatience, [&] { return (guard = GuardOf(node.pid())).has_value(); });
  if (!found) throw Unmet("a node with --guard own has no guard");
  return *guard;
}

/// Stops a process, and lets it go on again at the end of the test if nobody has.
class Stopped {
 public:
  explicit Stopped(pid_t pid) : pid_(pid) { kill(pid_, SIGSTOP); }
  ~Stopped() { GoOn(); }
  Stopped(const Stopped&) = delete;
  Stopped& operator=(const Stopped&) = delete;
  void GoOn() { kill(pid_, SIGCONT); }

 private:
  const pid_t pid_;
};

bool Ends(pid_t pid) {
  return Eventually(kPatience, [pid] {
    const auto found = FindProcess(pid);
    return !found || found->zombie;
  });
}

/// The number after a word in a file of /proc; -1: it is not there.
std::int64_t NumberIn(const std::string& path, const std::string& word) {
  std::ifstream file(path);
  for (std::string next; file >> next;) {
    std::int64_t number = 0;
    if (next == word && file >> number) return number;
  }
  return -1;
}

std::int64_t BytesReadBy(pid_t pid) {
  return NumberIn("/proc/" + std::to_string(pid) + "/io", "rchar:");
}

/// Whether all threads of the process wait for something.
bool SleepsAltogether(pid_t pid) {
  for (const auto& thread :
       std::filesystem::directory_iterator("/proc/" + std::to_string(pid) + "/task")) {
    std::ifstream file(thread.path() / "stat");
    std::string stat;
    std::getline(file, stat);
    if (stat.compare(stat.rfind(')') + 1, 2, " S") != 0) return false;
  }
  return true;
}

constexpr rlimit kNoDescriptors{.rlim_cur = 0, .rlim_max = RLIM_INFINITY};

/// Sets how many descriptors a process may have, up to its hard limit. Returns the limits before.
rlimit LimitDescriptors(pid_t pid, rlimit limit) {
  rlimit before{};
  if (prlimit(pid, RLIMIT_NOFILE, nullptr, &before) != 0) throw Unmet("no limits can be read");
  limit.rlim_max = before.rlim_max;
  if (prlimit(pid, RLIMIT_NOFILE, &limit, nullptr) != 0) throw Unmet("no limits can be set");
  return before;
}

/// The gaps after proven deaths in the history of `observer`.
std::vector<boost::json::object> GapsOfProvenDeaths(const Cluster& cluster,
                                                    const std::string& observer) {
  std::vector<boost::json::object> gaps;
  const auto page = boost::json::parse(cluster.HttpBody(observer, "/v1/events"));
  for (const auto& event : page.at("events").as_array()) {
    if (event.at("reason") == "process_died") gaps.push_back(event.at("gap").as_object());
  }
  return gaps;
}

// A node is killed. The others lead its shards at once, for the right reason; the guard says so,
// and ends. The killed node starts again and gets its share back.
TEST(Guard, AKillIsKnownBeforeTheLeaseRunsOut) {
  Cluster cluster(SharedEtcd(), Guarded("own"));
  cluster.StartAll({"n1", "n2", "n3"});
  const Table before = cluster.AwaitBalanced({"n1", "n2", "n3"});
  const auto orphans = LedBy(before, "n3");
  const pid_t guard = AwaitGuard(cluster.node("n3"));
  cluster.node("n3").Kill();
  const Table after = cluster.AwaitBalanced({"n1", "n2"});
  EXPECT_EQ(Moved(before, after), orphans);
  EXPECT_EQ(Retermed(before, after), orphans) << "a survivor's shard changed its term";
  EXPECT_TRUE(Ends(guard));
  EXPECT_THAT(cluster.node("n3").Log(), HasSubstr("its session was ended"));
  EXPECT_EQ(cluster.Metric("n1", "baton_transitions_total{reason=\"process_died\"}") +
                cluster.Metric("n2", "baton_transitions_total{reason=\"process_died\"}"),
            static_cast<double>(orphans.size()));
  EXPECT_THAT(cluster.Ctl("n1", {"history"}).out, HasSubstr("process_died"));
  cluster.Start("n3");
  cluster.AwaitBalanced({"n1", "n2", "n3"});
}

// Plan: a node is killed. The guard measures how long it needs to tell etcd, and all who watch the
// group show this time, a relay, too: no gap counts as long as the lease.
TEST(Guard, MeasuresHowLateADeathIsNoticed) {
  Cluster cluster(SharedEtcd(), Guarded("own"));
  cluster.StartAll({"n1", "n2", "n3"});
  cluster.WaitReady(cluster.LaunchRelay("r1"));
  const auto orphans = LedBy(cluster.AwaitBalanced({"n1", "n2", "n3"}), "n3");
  const pid_t guard = AwaitGuard(cluster.node("n3"));
  // A guard that comes after the death can't know how late it is.
  ASSERT_TRUE(Eventually(kPatience, [&] { return WaitsForALock(guard); }));
  cluster.node("n3").Kill();
  cluster.AwaitBalanced({"n1", "n2"});
  for (const char* observer : {"n1", "n2", "r1"}) {
    std::vector<boost::json::object> gaps;
    cluster.Await("the transitions", [&] {
      return (gaps = GapsOfProvenDeaths(cluster, observer)).size() == orphans.size();
    });
    for (const boost::json::object& gap : gaps) {
      ASSERT_TRUE(gap.contains("detect_seconds")) << observer << ": " << gap;
      EXPECT_FALSE(gap.contains("detect_at_most_seconds")) << observer << ": " << gap;
      EXPECT_LT(gap.at("at_most_seconds").to_number<double>(), kLongLease.count());
    }
  }
  const std::string measured =
      "baton_leaderless_seconds_count{reason=\"process_died\",phase=\"detect\"}";
  EXPECT_EQ(cluster.Metric("n1", measured) + cluster.Metric("n2", measured),
            static_cast<double>(orphans.size()));
}

// Plan: batond as nobody asked it to be guarded. It has a guard, and its death is known.
TEST(Guard, IsTheDefault) {
  Cluster cluster(SharedEtcd(), {.shards = 12, .ttl = kLongLease});
  cluster.StartAll({"n1", "n2"});
  cluster.AwaitBalanced({"n1", "n2"});
  const pid_t guard = AwaitGuard(cluster.node("n2"));
  cluster.node("n2").Kill();
  cluster.AwaitBalanced({"n1"});
  EXPECT_TRUE(Ends(guard));
}

// Plan: a batond that was copied without baton-guard, as before there was one. It starts, and says
// once what is missing; but not if somebody asked for a guard.
TEST(Guard, ThatNobodyAskedForIsNoReasonNotToStart) {
  Cluster cluster(SharedEtcd(), {.shards = 6});
  const std::string alone = cluster.folder() + "/batond";
  std::filesystem::copy_file(BATOND, alone);
  const std::string path = std::getenv("PATH");
  setenv("PATH", "/usr/bin:/bin", 1);
  NodeProcess& node = cluster.LaunchProgram("n1", alone, cluster.Flags("n1"));
  std::vector<std::string> asked = cluster.Flags("n2");
  asked.insert(asked.end(), {"--guard", "own"});
  NodeProcess& refused = cluster.LaunchProgram("n2", alone, asked);
  setenv("PATH", path.c_str(), 1);
  cluster.WaitReady(node);
  cluster.AwaitBalanced({"n1"});
  const std::string log = node.Log();
  const std::size_t said = log.find("there is no program baton-guard");
  ASSERT_NE(said, std::string::npos) << log;
  EXPECT_EQ(log.find("guard", log.find('\n', said)), std::string::npos) << "twice: " << log;
  EXPECT_FALSE(GuardOf(node.pid()));
  EXPECT_EQ(cluster.Metric("n1", "baton_guard_running"), 0);
  EXPECT_THAT(cluster.Ctl("n1", {"doctor"}).out,
              HasSubstr("no guard acts for this node: there is"));
  const auto exit = refused.WaitExit();
  EXPECT_TRUE(exit && exit->code == 1);
  EXPECT_THAT(refused.Log(), HasSubstr("no program 'baton-guard' on PATH"));
}

// A node that stops in order leaves its guard nothing to do, and no process behind.
TEST(Guard, EndsWithANodeThatStops) {
  Cluster cluster(SharedEtcd(), Guarded("own"));
  cluster.StartAll({"n1", "n2"});
  cluster.AwaitBalanced({"n1", "n2"});
  const pid_t guard = AwaitGuard(cluster.node("n2"));
  cluster.node("n2").Signal(SIGTERM);
  ASSERT_TRUE(cluster.node("n2").WaitExit());
  EXPECT_TRUE(Ends(guard));
  EXPECT_THAT(cluster.node("n2").Log(), Not(HasSubstr("its session was ended")));
  cluster.AwaitBalanced({"n1"});
}

// SIGTERM to the guard alone, as service managers send it to a whole unit, does not end it. After
// SIGKILL the node starts another one, which does what the first would have done.
TEST(Guard, ThatIsKilledIsStartedAgain) {
  Cluster cluster(SharedEtcd(), Guarded("own"));
  cluster.StartAll({"n1", "n2"});
  cluster.AwaitBalanced({"n1", "n2"});
  NodeProcess& node = cluster.node("n2");
  const pid_t first = AwaitGuard(node);
  kill(first, SIGTERM);
  kill(first, SIGKILL);
  ASSERT_TRUE(Eventually(kPatience, [&] {
    const auto guard = GuardOf(node.pid());
    return guard && *guard != first;
  }));
  EXPECT_THAT(node.Log(), HasSubstr("the guard ended, and is started again: signal 9"));
  EXPECT_TRUE(Eventually(kPatience, [&] {
    return cluster.Metric("n2", "baton_guard_starts_total") == 2 &&
           cluster.Metric("n2", "baton_guard_running") == 1;
  }));
  node.Kill();
  cluster.AwaitBalanced({"n1"});
}

// The guard stands still while its node dies and starts again. Where it stands is chance: it may
// hold the shared lock by then, and the node starts after two seconds without a proof; or not, and
// the node takes its session over. When the guard goes on, it ends nothing that lives.
TEST(Guard, ThatComesTooLateEndsNothing) {
  Cluster cluster(SharedEtcd(), Guarded("own"));
  cluster.StartAll({"n1", "n2"});
  cluster.AwaitBalanced({"n1", "n2"});
  const pid_t guard = AwaitGuard(cluster.node("n2"));
  Stopped stopped(guard);
  cluster.node("n2").Kill();
  cluster.Start("n2");
  const Table taken = cluster.AwaitBalanced({"n1", "n2"});
  stopped.GoOn();
  EXPECT_TRUE(Ends(guard));
  EXPECT_THAT(Retermed(taken, cluster.AwaitBalanced({"n1", "n2"})), IsEmpty());
}

// A node is killed and started at once, again and again: its restart and its guard race. Either
// way every shard is led by one node, and soon. (The node itself gets less and less: it flaps.)
TEST(Guard, RacesRestarts) {
  Cluster cluster(SharedEtcd(), Guarded("own"));
  cluster.StartAll({"n1", "n2", "n3"});
  cluster.AwaitBalanced({"n1", "n2", "n3"});
  for (int round = 0; round < 10; ++round) {
    cluster.node("n3").Kill();
    cluster.Start("n3");
    cluster.AwaitLed();
  }
}

// Plan: a node is killed while etcd stands still, and etcd goes on after some seconds. The guard
// has not given up: the session ends long before its lease would.
TEST(Guard, EndsTheSessionOnceEtcdAnswersAgain) {
  auto own = StartEtcd();
  ASSERT_TRUE(own.ok()) << own.error().message;
  lab::PrivateEtcd& etcd = *own.value();
  Cluster cluster(etcd, Guarded("own"));
  cluster.StartAll({"n1", "n2"});
  cluster.AwaitBalanced({"n1", "n2"});
  etcd.Pause(0);
  cluster.node("n2").Kill();
  poll(nullptr, 0, 8'000);  // more than three calls of the guard
  etcd.Resume(0);
  cluster.AwaitBalanced({"n1"});
  EXPECT_EQ(cluster.Metric("n1", "baton_transitions_total{reason=\"process_died\"}"), 6);
}

// One guard for two nodes. It ends the session of each that dies, also of one that starts again and
// dies again; and its own death costs nothing.
TEST(Guard, IsShared) {
  Cluster cluster(SharedEtcd(), Guarded("shared"));
  std::vector<std::string> line = {BATON_GUARD,
                                   "--etcd",
                                   SharedEtcd().endpoints().front(),
                                   "--state-dir",
                                   cluster.StateDir("n2"),
                                   "--state-dir",
                                   cluster.StateDir("n3")};
  const std::vector<std::string> etcd = EtcdFlags();
  line.insert(line.end(), etcd.begin(), etcd.end());
  const std::string log = cluster.folder() + "/guard.log";
  auto guard = Subprocess::Start({.arguments = line, .output_path = log});
  ASSERT_TRUE(guard.ok());
  cluster.StartAll({"n1", "n2", "n3"});
  cluster.AwaitBalanced({"n1", "n2", "n3"});
  cluster.node("n2").Kill();
  cluster.AwaitBalanced({"n1", "n3"});
  cluster.node("n3").Kill();
  cluster.AwaitBalanced({"n1"});
  cluster.Start("n2");
  cluster.AwaitBalanced({"n1", "n2"});
  cluster.node("n2").Kill();
  cluster.AwaitBalanced({"n1"});
  guard.value()->Kill();
  cluster.Start("n2");
  cluster.AwaitBalanced({"n1", "n2"});
}

// Plan: a guard is the first process of a pid namespace, as in a container of its own. There the
// kernel drops signals that nobody waits for; it ends all the same, in order.
TEST(Guard, EndsWhenAskedAsAContainersFirstProcess) {
  const std::vector<std::string> unshare = {"unshare", "--fork", "--pid", "--mount-proc",
                                            "--kill-child"};
  std::vector<std::string> line = unshare;
  line.emplace_back("true");
  const auto can = RunProgram({.arguments = line}, BootClock::now() + kPatience);
  if (!can.ok() || !can.value().success()) GTEST_SKIP() << "only root may make pid namespaces";
  line = unshare;
  line.insert(line.end(), {BATON_GUARD, "--state-dir", "/no/such/folder"});
  auto container = Subprocess::Start({.arguments = line});
  ASSERT_TRUE(container.ok());
  std::optional<ExitStatus> ended;
  // Once may be too soon: before it waits for signals.
  Eventually(kPatience, [&] {
    for (const pid_t pid : AllProcesses()) {
      const auto found = FindProcess(pid);
      const bool guard = found && found->name == "baton-guard";
      if (guard && found->parent == container.value()->pid()) kill(pid, SIGTERM);
    }
    return (ended = container.value()->Poll()).has_value();
  });
  ASSERT_TRUE(ended.has_value());
  EXPECT_TRUE(ended->success()) << ToString(*ended);
}

// Bad settings end it with one line.
TEST(Guard, SaysWhatIsWrongWithItsSettings) {
  const std::string log = FreshFolder() + "/guard.log";
  const auto says = [&](const std::vector<std::string>& flags) {
    std::vector<std::string> line = {BATON_GUARD};
    line.insert(line.end(), flags.begin(), flags.end());
    std::filesystem::remove(log);
    const auto ended =
        RunProgram({.arguments = line, .output_path = log}, BootClock::now() + kPatience);
    EXPECT_TRUE(ended.ok() && ended.value().code == 2);
    std::ifstream file(log);
    std::string first;
    std::getline(file, first);
    return first;
  };
  EXPECT_EQ(says({}), "baton-guard: give the --state-dir of each node");
  EXPECT_THAT(says({"--state-dir", "/x", "--etcd", "nowhere"}), HasSubstr("nowhere"));
  EXPECT_THAT(says({"--what"}), HasSubstr("see baton-guard --help"));
  std::filesystem::remove_all(std::filesystem::path(log).parent_path());
}

// Plan: a node is stopped (SIGSTOP) for good, with a lease of two minutes. Its guard kills it, and
// the others lead its shards at once, for the right reason.
TEST(Guard, KillsANodeThatHangs) {
  GroupOptions options = Guarded("own");
  options.flags.insert(options.flags.end(), {"--hang-timeout", "2s"});
  Cluster cluster(SharedEtcd(), options);
  cluster.StartAll({"n1", "n2", "n3"});
  const Table before = cluster.AwaitBalanced({"n1", "n2", "n3"});
  NodeProcess& node = cluster.node("n3");
  AwaitGuard(node);
  node.Signal(SIGSTOP);
  const Table after = cluster.AwaitBalanced({"n1", "n2"});
  EXPECT_EQ(Moved(before, after), LedBy(before, "n3"));
  EXPECT_THAT(node.Log(), HasSubstr("the node's process hangs, and was killed"));
  const auto exit = node.WaitExit();
  EXPECT_TRUE(exit && exit->signal == SIGKILL);
}

/// A group on an etcd with users, whose nodes read their password from a file.
class GuardedWithPassword : public testing::Test {
 protected:
  void SetUp() override {
    if (TheWorld() != World::kPlain) GTEST_SKIP() << "brings an etcd of its own, with users";
    etcd_ = lab::PrivateEtcd::Start({}).value();
    std::ofstream(file_) << "first\n";
    GroupOptions options = Guarded("own");
    for (const std::string& flag :
         {std::string("--etcd-user"), std::string("orders"), std::string("--etcd-password-file")}) {
      options.flags.push_back(flag);
    }
    options.flags.push_back(file_);
    cluster_.emplace(*etcd_, options);
    EnableUsers(*etcd_, {.node = "orders", .password = "first", .prefix = cluster_->Key("")});
    cluster_->StartAll({"n1", "n2"});
    cluster_->AwaitBalanced({"n1", "n2"});
  }
  void TearDown() override { std::filesystem::remove_all(folder_); }

  /// Waits until n2's guard has read what its node got.
  void ReplaceFile(const std::string& password) {
    const pid_t guard = AwaitGuard(cluster_->node("n2"));
    ASSERT_TRUE(Eventually(kPatience, [&] { return WaitsForALock(guard); }));
    const std::int64_t read_before = BytesReadBy(guard);
    std::ofstream(file_ + ".new") << password << "\n";
    std::filesystem::rename(file_ + ".new", file_);
    cluster_->Await("the guard has read it",
                    [&] { return BytesReadBy(guard) > read_before && SleepsAltogether(guard); });
  }
  void ExpectItsGuardEndsTheSession() {
    cluster_->node("n2").Kill();
    cluster_->AwaitBalanced({"n1"});
    EXPECT_THAT(cluster_->node("n2").Log(), HasSubstr("its session was ended"));
  }

  std::unique_ptr<lab::PrivateEtcd> etcd_;
  const std::string folder_ = FreshFolder();
  const std::string file_ = folder_ + "/password";
  std::optional<Cluster> cluster_;
};

// Plan: the nodes' password changes, first in etcd, which voids the old one, and then in their
// file. A node is killed once its guard has read what the node got. The guard, which has not spoken
// to etcd before, ends the session.
TEST_F(GuardedWithPassword, UsesThePasswordThatItsNodeGotLater) {
  RunScript("echo second | " + RootEtcdctl(*etcd_) + "user passwd orders --interactive=false");
  ReplaceFile("second");
  ExpectItsGuardEndsTheSession();
}

// Plan: the file has a new password that etcd does not have yet; the node goes on with the earlier
// one. So does the guard, also one that was started after the change.
TEST_F(GuardedWithPassword, UsesTheEarlierPasswordWhileEtcdHasNoOther) {
  ReplaceFile("second");
  const pid_t guard = AwaitGuard(cluster_->node("n2"));
  kill(guard, SIGKILL);
  cluster_->Await("another guard waits", [&] {
    const pid_t now = AwaitGuard(cluster_->node("n2"));
    return now != guard && WaitsForALock(now);
  });
  ExpectItsGuardEndsTheSession();
}

/// A client's certificate and key in files that the test replaces.
class ReplacedCertificate {
 public:
  explicit ReplacedCertificate(const Authority& authority) : authority_(authority) {}
  ~ReplacedCertificate() {
    std::error_code ignored;
    std::filesystem::remove_all(folder_, ignored);
  }
  ReplacedCertificate(const ReplacedCertificate&) = delete;
  ReplacedCertificate& operator=(const ReplacedCertificate&) = delete;

  void Use(const std::string& name) const {
    std::filesystem::copy_file(authority_.cert(name), folder_ + "/new");
    std::filesystem::rename(folder_ + "/new", folder_ + "/cert");
    std::filesystem::copy_file(authority_.key(name), folder_ + "/new");
    std::filesystem::rename(folder_ + "/new", folder_ + "/key");
  }
  /// batond's flags, and baton-guard's.
  std::vector<std::string> Flags() const {
    return {"--etcd-ca",       authority_.ca(), "--etcd-cert",
            folder_ + "/cert", "--etcd-key",    folder_ + "/key"};
  }

 private:
  const Authority& authority_;
  const std::string folder_ = FreshFolder();
};

// Plan: the nodes' certificate is replaced on disk, and the old one is revoked in etcd once the
// nodes have the new one. Two nodes are killed, of which one has a guard of its own and the other a
// shared one. Neither guard has spoken to etcd before; each ends its node's session with the new
// certificate.
TEST(Guard, UsesTheCertificateThatItsNodeGotLater) {
  if (TheWorld() != World::kPlain) GTEST_SKIP() << "brings an etcd of its own, with certificates";
  const Authority authority;
  authority.Issue("old");
  authority.Issue("new");
  lab::PrivateEtcdOptions members;
  authority.Protect(&members);
  auto etcd = lab::PrivateEtcd::Start(members);
  ASSERT_TRUE(etcd.ok()) << etcd.error().message;
  const ReplacedCertificate certificate(authority);
  certificate.Use("old");
  Cluster cluster(*etcd.value(), {.shards = 12, .ttl = kLongLease, .flags = certificate.Flags()});
  std::vector<std::string> line = {BATON_GUARD, "--etcd", etcd.value()->endpoints().front(),
                                   "--state-dir", cluster.StateDir("n3")};
  const std::vector<std::string> flags = certificate.Flags();
  line.insert(line.end(), flags.begin(), flags.end());
  auto shared = Subprocess::Start({.arguments = line});
  ASSERT_TRUE(shared.ok()) << shared.error().message;
  cluster.Start("n1");
  cluster.Start("n2", {"--guard", "own"});
  cluster.Start("n3", {"--guard", "shared"});
  cluster.AwaitBalanced({"n1", "n2", "n3"});
  const pid_t own = AwaitGuard(cluster.node("n2"));
  ASSERT_TRUE(Eventually(
      kPatience, [&] { return WaitsForALock(own) && WaitsForALock(shared.value()->pid()); }));

  const std::int64_t read_before = BytesReadBy(own);
  certificate.Use("new");
  for (const char* id : {"n1", "n2", "n3"}) {
    cluster.AwaitLogged(id, "accepts the new certificates");
  }
  cluster.Await("the guard has read it",
                [&] { return BytesReadBy(own) > read_before && SleepsAltogether(own); });
  authority.Revoke("old");
  cluster.node("n2").Kill();
  cluster.AwaitBalanced({"n1", "n3"});
  cluster.node("n3").Kill();
  cluster.AwaitBalanced({"n1"});
  EXPECT_EQ(cluster.Metric("n1", "baton_transitions_total{reason=\"lease_expired\"}"), 0);
}

// Plan: a guard has no descriptors left. Its node does not mind. They are there again before the
// node is killed, and the guard ends the session.
TEST(Guard, WithoutDescriptorsCostsItsNodeNothing) {
  Cluster cluster(SharedEtcd(), Guarded("own"));
  cluster.StartAll({"n1", "n2"});
  const Table before = cluster.AwaitBalanced({"n1", "n2"});
  const pid_t guard = AwaitGuard(cluster.node("n2"));
  ASSERT_TRUE(Eventually(kPatience, [&] { return WaitsForALock(guard); }));
  const rlimit usual = LimitDescriptors(guard, kNoDescriptors);
  EXPECT_THAT(Retermed(before, cluster.AwaitBalanced({"n1", "n2"})), IsEmpty());
  EXPECT_EQ(GuardOf(cluster.node("n2").pid()), guard);
  LimitDescriptors(guard, usual);
  cluster.node("n2").Kill();
  cluster.AwaitBalanced({"n1"});
  EXPECT_TRUE(Ends(guard));
}

// Plan: the node is killed while its guard has no descriptors. The guard can't reach etcd, so the
// lease decides; the others lead all shards then.
TEST(Guard, WithoutDescriptorsLeavesADeathToTheLease) {
  GroupOptions options = Guarded("own");
  options.ttl = seconds(3);
  Cluster cluster(SharedEtcd(), options);
  cluster.StartAll({"n1", "n2"});
  cluster.AwaitBalanced({"n1", "n2"});
  const pid_t guard = AwaitGuard(cluster.node("n2"));
  ASSERT_TRUE(Eventually(kPatience, [&] { return WaitsForALock(guard); }));
  LimitDescriptors(guard, kNoDescriptors);
  cluster.node("n2").Kill();
  cluster.AwaitBalanced({"n1"});
  EXPECT_TRUE(Ends(guard));
  EXPECT_THAT(cluster.node("n2").Log(), HasSubstr("the boot id of this host can't be read"));
  EXPECT_EQ(cluster.Metric("n1", "baton_transitions_total{reason=\"process_died\"}"), 0);
}

// Plan: a shared guard has no descriptors when its node starts. It says so once and tries again;
// when it has some, it guards the node.
TEST(Guard, ThatIsSharedComesBackWhenItHasDescriptors) {
  Cluster cluster(SharedEtcd(), Guarded("shared"));
  std::vector<std::string> line = {BATON_GUARD, "--etcd", SharedEtcd().endpoints().front(),
                                   "--state-dir", cluster.StateDir("n2")};
  const std::vector<std::string> etcd = EtcdFlags();
  line.insert(line.end(), etcd.begin(), etcd.end());
  const std::string log = cluster.folder() + "/guard.log";
  auto guard = Subprocess::Start({.arguments = line, .output_path = log});
  ASSERT_TRUE(guard.ok());
  const pid_t pid = guard.value()->pid();
  cluster.StartAll({"n1", "n2"});
  cluster.AwaitBalanced({"n1", "n2"});
  ASSERT_TRUE(Eventually(kPatience, [&] { return WaitsForALock(pid); }));
  const rlimit usual = LimitDescriptors(pid, kNoDescriptors);
  const auto text = [&] {
    std::ifstream file(log);
    return std::string(std::istreambuf_iterator<char>(file), {});
  };
  cluster.node("n2").Signal(SIGTERM);
  ASSERT_TRUE(cluster.node("n2").WaitExit());
  ASSERT_TRUE(Eventually(kPatience, [&] {
    return text().find("can't be opened: Too many open files") != std::string::npos;
  })) << text();
  cluster.Start("n2");
  cluster.AwaitBalanced({"n1", "n2"});
  LimitDescriptors(pid, usual);
  ASSERT_TRUE(Eventually(kPatience, [&] { return WaitsForALock(pid); }));
  cluster.node("n2").Kill();
  cluster.AwaitBalanced({"n1"});
  const std::string said = text();
  EXPECT_EQ(said.find("Too many open files"), said.rfind("Too many open files")) << said;
}

// Plan: a guard waits for the death of its node. It takes less than 15 MiB, and has no socket.
TEST(Guard, TakesLittleMemory) {
  if (BATON_INSTRUMENTED) GTEST_SKIP() << "sanitizers and coverage take memory of their own";
  Cluster cluster(SharedEtcd(), Guarded("own"));
  cluster.Start("n1");
  const pid_t guard = AwaitGuard(cluster.node("n1"));
  ASSERT_TRUE(Eventually(kPatience, [&] { return WaitsForALock(guard); }));
  const std::int64_t kib = NumberIn("/proc/" + std::to_string(guard) + "/status", "VmRSS:");
  EXPECT_THAT(kib, testing::AllOf(testing::Gt(0), testing::Lt(15 * 1024)));
  EXPECT_EQ(SocketsOf(guard).value_or(0), 0U) << "before any death";
}

}  // namespace
}  // namespace baton::e2e
