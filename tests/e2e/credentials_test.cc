// Passwords and certificates change while nodes lead. Files are written, only etcd is restarted,
// and no leadership changes. Each test starts etcds of its own kind, in every world.
#include <csignal>
#include <filesystem>
#include <fstream>
#include <memory>
#include <string>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "e2e/authority.h"
#include "e2e/cluster.h"

namespace baton::e2e {
namespace {

namespace fs = std::filesystem;
using std::chrono::seconds;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::Not;

std::unique_ptr<lab::PrivateEtcd> StartPlain(const lab::PrivateEtcdOptions& options) {
  auto started = lab::PrivateEtcd::Start(options);
  if (!started) throw Unmet(started.error().message);
  return std::move(started).value();
}

/// Replaces a file in one step, as tools do that renew in place.
void WriteFile(const std::string& path, const std::string& content) {
  std::ofstream(path + ".new") << content;
  fs::rename(path + ".new", path);
}

void CopyFile(const std::string& from, const std::string& to) {
  fs::copy_file(from, to + ".new", fs::copy_options::overwrite_existing);
  fs::rename(to + ".new", to);
}

class CredentialsChange : public testing::Test {
 protected:
  CredentialsChange() {
    if (TheWorld() != World::kPlain) return;
    std::string name = (fs::temp_directory_path() / "baton-credentials-XXXXXX").string();
    folder_ = mkdtemp(name.data());
  }
  ~CredentialsChange() override {
    std::error_code ignored;
    if (!folder_.empty()) fs::remove_all(folder_, ignored);
  }
  void SetUp() override {
    if (TheWorld() != World::kPlain) GTEST_SKIP() << "brings etcds of its own, with credentials";
  }

  /// Starts three nodes and a relay, and waits until they lead.
  void StartGroup(Cluster& cluster, const std::vector<std::string>& credentials) {
    cluster.StartAll(nodes_);
    cluster.WaitReady(cluster.LaunchRelay("relay", credentials));
    before_ = cluster.AwaitBalanced({"n1", "n2", "n3"});
  }
  void AwaitLogged(Cluster& cluster, const std::string& words, std::size_t times = 1) {
    cluster.Await("all say: " + words, [&] {
      for (const char* id : {"n1", "n2", "n3", "relay"}) {
        if (Count(cluster.node(id).Log(), words) < times) return false;
      }
      return true;
    });
  }
  void AwaitRenewals(Cluster& cluster, int count) {
    const auto renewals = [&](const std::string& node) {
      return cluster.Metric(node, "baton_lease_renewals_total{result=\"confirmed\"}");
    };
    std::vector<double> first;
    for (const std::string& node : nodes_) first.push_back(renewals(node));
    cluster.Await("renewals go on", [&] {
      for (std::size_t i = 0; i < nodes_.size(); ++i) {
        if (renewals(nodes_[i]) < first[i] + count) return false;
      }
      return true;
    });
  }
  /// Checks that there was no other leader, no other term and no pause since the start.
  void ExpectNothingHappened(Cluster& cluster) {
    const Table after = cluster.AwaitBalanced({"n1", "n2", "n3"});
    EXPECT_THAT(Moved(before_, after), IsEmpty());
    EXPECT_THAT(Retermed(before_, after), IsEmpty());
    for (const std::string& node : nodes_) {
      EXPECT_EQ(cluster.Metric(node, "baton_transitions_total{reason=\"suspended\"}"), 0) << node;
    }
    EXPECT_THAT(cluster.HttpBody("relay", "/readyz"), Not(HasSubstr("stale")));
  }
  static std::size_t Count(const std::string& text, const std::string& what) {
    std::size_t count = 0;
    for (auto at = text.find(what); at != std::string::npos; at = text.find(what, at + 1)) ++count;
    return count;
  }

  const std::vector<std::string> nodes_ = {"n1", "n2", "n3"};
  std::string folder_;
  Table before_;
};

// Plan: the nodes' user may use the group's prefix alone, and tokens live for 5 s. First the file
// has the new password: nodes log that etcd does not take it yet, and go on. Then etcd has it,
// which voids all tokens. Then the other way round: etcd first, and the file right after. After
// each the test waits for four renewals, longer than lease and token live: same leaders, same
// terms, no pause.
TEST_F(CredentialsChange, OfAPasswordInEitherOrder) {
  const auto etcd = StartPlain({.arguments = {"--auth-token-ttl=5"}});
  const std::string file = folder_ + "/password";
  WriteFile(file, "first\n");
  const std::vector<std::string> credentials = {"--etcd-user", "orders", "--etcd-password-file",
                                                file};
  Cluster cluster(*etcd, {.shards = 12, .ttl = seconds(12), .flags = credentials});
  EnableUsers(*etcd, {.node = "orders", .password = "first", .prefix = cluster.Key("")});
  const auto change_in_etcd = [&](const std::string& password) {
    RunScript("echo " + password + " | " + RootEtcdctl(*etcd) +
              "user passwd orders --interactive=false");
  };
  StartGroup(cluster, credentials);

  WriteFile(file, "second\n");
  AwaitLogged(cluster, "etcd does not accept the new password yet");
  AwaitRenewals(cluster, 1);
  change_in_etcd("second");
  AwaitLogged(cluster, "etcd accepts the new password");
  AwaitRenewals(cluster, 4);
  ExpectNothingHappened(cluster);

  change_in_etcd("third");
  WriteFile(file, "third\n");
  AwaitLogged(cluster, "etcd accepts the new password", 2);
  AwaitRenewals(cluster, 4);
  ExpectNothingHappened(cluster);
  for (const std::string& node : nodes_) {
    EXPECT_THAT(cluster.node(node).Log(), Not(HasSubstr("third"))) << "a secret is logged";
  }
}

// Plan: three members require certificates. The key is replaced before its certificate: the nodes
// log once that the pair does not belong together, and don't use it. Then the certificate follows,
// and each member takes it. The old one is revoked, which a member confirms, and the members are
// restarted one after another, so that every connection is a new one: same leaders, same terms, no
// pause. The doctor finds nothing wrong with the access to etcd. A missing file changes nothing.
TEST_F(CredentialsChange, OfAClientCertificate) {
  const Authority authority;
  authority.Issue("old");
  authority.Issue("new");
  lab::PrivateEtcdOptions options{.members = 3};
  authority.Protect(&options);
  const auto etcd = StartPlain(options);
  const std::string cert = folder_ + "/node.pem", key = folder_ + "/node.key";
  CopyFile(authority.cert("old"), cert);
  CopyFile(authority.key("old"), key);
  const std::vector<std::string> credentials = {"--etcd-ca", authority.ca(), "--etcd-cert",
                                                cert,        "--etcd-key",   key};
  Cluster cluster(*etcd, {.shards = 12, .ttl = seconds(20), .flags = credentials});
  StartGroup(cluster, credentials);

  CopyFile(authority.key("new"), key);
  AwaitLogged(cluster, "the client key does not belong to the client certificate");
  CopyFile(authority.cert("new"), cert);
  for (std::size_t member = 0; member < etcd->size(); ++member) {
    cluster.Await("each node says that this member takes it", [&] {
      for (const std::string& node : nodes_) {
        const std::string words = "accepts the new certificates at " + etcd->endpoints()[member];
        if (Count(cluster.node(node).Log(), words) == 0) return false;
      }
      return true;
    });
  }
  authority.Revoke("old");
  const auto get_as = [&](const std::string& who) {
    RunScript("ETCDCTL_API=3 etcdctl --endpoints=" + etcd->endpoints().back() +
              " --cacert=" + authority.ca() + " --cert=" + authority.cert(who) +
              " --key=" + authority.key(who) + " --command-timeout=2s get /any");
  };
  EXPECT_THROW(get_as("old"), Unmet) << "the revoked certificate opens a connection";
  EXPECT_NO_THROW(get_as("new"));
  for (std::size_t member = 0; member < etcd->size(); ++member) {
    ASSERT_TRUE(etcd->Restart(member).ok());
    AwaitRenewals(cluster, 1);
  }
  ExpectNothingHappened(cluster);
  EXPECT_EQ(cluster.Ctl("n1", {"doctor"}).exit, 0);

  fs::remove(cert);
  AwaitLogged(cluster, "can't read " + cert);
  AwaitRenewals(cluster, 1);
  ExpectNothingHappened(cluster);
  for (const std::string& node : nodes_) {
    const std::string log = cluster.node(node).Log();
    EXPECT_EQ(Count(log, "the client key does not belong"), 1u) << log;
    EXPECT_EQ(Count(log, "can't read " + cert), 1u) << log;
  }
}

// Plan: a node starts with a certificate of few days and warns of it. It gets one of many days, and
// the doctor is content. With the next one of few days it warns again, and so does the doctor.
TEST_F(CredentialsChange, WarnsOfACertificateThatEndsSoon) {
  const Authority authority;
  authority.Issue("short", 2);
  authority.Issue("long", 30);
  authority.Issue("shorter", 1);
  lab::PrivateEtcdOptions options;
  authority.Protect(&options);
  const auto etcd = StartPlain(options);
  const std::string cert = folder_ + "/node.pem", key = folder_ + "/node.key";
  const auto take = [&](const std::string& name) {
    CopyFile(authority.cert(name), cert);
    CopyFile(authority.key(name), key);
  };
  take("short");
  Cluster cluster(*etcd,
                  {.shards = 2,
                   .flags = {"--etcd-ca", authority.ca(), "--etcd-cert", cert, "--etcd-key", key}});
  const NodeProcess& node = cluster.Start("n1");
  const auto warnings = [&] { return Count(node.Log(), ", within 14 days: renew it"); };
  const auto doctor = [&] { return cluster.Ctl("n1", {"doctor"}).out; };
  EXPECT_EQ(warnings(), 1u) << node.Log();
  take("long");
  cluster.Await("the doctor is content",
                [&] { return doctor().find("; the certificate ends at 20") != std::string::npos; });
  EXPECT_EQ(warnings(), 1u) << node.Log();
  take("shorter");
  cluster.Await("the node warns", [&] { return warnings() == 2; });
  EXPECT_THAT(doctor(), HasSubstr("within 14 days"));
}

}  // namespace
}  // namespace baton::e2e
