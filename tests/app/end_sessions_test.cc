// A guard ends a dead node's session on an etcd with certificates, whichever of the certificates
// that the node had is the right one. And how long it tries if it is asked to end.
#include "app/guard/end_sessions.h"

#include <arpa/inet.h>
#include <gtest/gtest.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <unistd.h>

#include <atomic>
#include <chrono>
#include <filesystem>
#include <fstream>
#include <future>
#include <memory>
#include <string>
#include <vector>

#include "../contract/transport_support.h"
#include "etcd/keyspace.h"
#include "lab/certificates.h"

namespace baton::app {
namespace {

constexpr std::int64_t kSession = 5;
// So long that the lease ends no session here.
constexpr std::int64_t kLongLease = 600;

std::string Write(const std::string& path, const std::string& text) {
  std::ofstream(path) << text;
  return path;
}

EtcdCredentials CredentialsOf(const PemTexts& client, const std::string& ca) {
  return {.ca_pem = ca, .cert_pem = client.cert, .key_pem = client.key};
}

/// Accepts connections and never says anything, as an etcd whose host has died.
class SilentHost {
 public:
  SilentHost() {
    sockaddr_in here{};
    here.sin_family = AF_INET;
    here.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    socklen_t size = sizeof here;
    auto* const generic = reinterpret_cast<sockaddr*>(&here);
    EXPECT_EQ(bind(socket_, generic, size), 0);
    EXPECT_EQ(listen(socket_, 64), 0);
    EXPECT_EQ(getsockname(socket_, generic, &size), 0);
    endpoint_ = "127.0.0.1:" + std::to_string(ntohs(here.sin_port));
  }
  ~SilentHost() { close(socket_); }
  SilentHost(const SilentHost&) = delete;
  SilentHost& operator=(const SilentHost&) = delete;
  const std::string& endpoint() const { return endpoint_; }

 private:
  const int socket_ = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
  std::string endpoint_;
};

/// An etcd that takes users from certificates. "worker" may use the group's keys; "former" may not
/// any more, though its certificate is still good.
class EndSessionsTest : public ::testing::Test {
 protected:
  void SetUp() override {
    std::string pattern = testing::TempDir() + "baton-ends-XXXXXX";
    folder_ = mkdtemp(pattern.data());
    const PemTexts member = authority_.Issue("member", "IP:127.0.0.1");
    const PemTexts root = authority_.Issue("root", "IP:127.0.0.1");
    etcd_ = etcd::test::StartEtcd(
        {.members = 1,
         .tls = {.cert_path = Write(folder_ + "/member.pem", member.cert),
                 .key_path = Write(folder_ + "/member.key", member.key),
                 .client_ca_path = Write(folder_ + "/ca.pem", authority_.pem())},
         .etcdctl_arguments = {"--cacert=" + folder_ + "/ca.pem",
                               "--cert=" + Write(folder_ + "/root.pem", root.cert),
                               "--key=" + Write(folder_ + "/root.key", root.key)}});
    ASSERT_NE(etcd_, nullptr);
    const std::vector<std::vector<std::string>> setup = {
        {"user", "add", "root", "--no-password"},
        {"role", "add", "root"},
        {"user", "grant-role", "root", "root"},
        {"user", "add", "worker", "--no-password"},
        {"user", "add", "former", "--no-password"},
        {"role", "add", "group"},
        {"role", "grant-permission", "group", "readwrite", "--prefix=true", "/baton/"},
        {"user", "grant-role", "worker", "group"},
        {"auth", "enable"}};
    for (const auto& words : setup) {
      const Status done = etcd_->Etcdctl(words);
      ASSERT_TRUE(done.ok() || words[0] == "role") << done.error().message;
    }
    const EtcdCredentials worker = Client("worker");
    transport_ = etcd::test::Connect({.endpoints = etcd_->endpoints(),
                                      .ca_pem = worker.ca_pem,
                                      .cert_pem = worker.cert_pem,
                                      .key_pem = worker.key_pem});
  }
  void TearDown() override {
    transport_.reset();
    std::filesystem::remove_all(folder_);
  }

  EtcdCredentials Client(const std::string& user) const {
    return CredentialsOf(authority_.Issue(user), authority_.pem());
  }
  /// One whose authority etcd does not know: the handshake fails.
  EtcdCredentials Unknown() const {
    return CredentialsOf(stranger_.Issue("worker"), authority_.pem());
  }

  /// Gives n1 a session and lets the guard end it with these credentials, the newest first.
  bool Ends(const std::vector<EtcdCredentials>& credentials,
            const std::vector<std::string>& endpoints) {
    EXPECT_TRUE(etcd::test::Grant(*transport_, kSession, kLongLease).status.ok());
    etcdserverpb::TxnRequest join;
    const std::string member = etcd::Keyspace(EtcdOptions().prefix, "orders").MemberKey("n1");
    etcd::test::AddPut(join, member, "", kSession);
    EXPECT_TRUE(etcd::test::Commit(*transport_, join).status.ok());
    const std::atomic<bool> asked_to_end{false};
    const bool ended =
        EndSessions({.death = {.group = "orders", .node = "n1", .sessions = {SessionId{kSession}}},
                     .etcd = {.endpoints = endpoints},
                     .credentials = credentials},
                    asked_to_end);
    const auto left = etcd::test::TimeToLive(*transport_, kSession);
    EXPECT_EQ(left.response.ttl() > 0, !ended);
    if (!ended) etcd::test::Revoke(*transport_, kSession);
    return ended;
  }

  const lab::Issuer authority_{"authority"};
  const lab::Issuer stranger_{"stranger"};
  std::string folder_;
  std::unique_ptr<lab::PrivateEtcd> etcd_;
  std::unique_ptr<etcd::GrpcTransport> transport_;
};

// Plan: the role of the earlier certificate is gone, and one endpoint is dead, so that the first
// call may have no answer. The handshake with the earlier one succeeds at the other endpoint; that
// must not make the guard use it alone. Several rounds: the first endpoint is chosen at random.
TEST_F(EndSessionsTest, AnEarlierCertificateWithoutRightsDoesNoHarm) {
  const SilentHost dead;
  std::vector<std::string> endpoints = etcd_->endpoints();
  endpoints.push_back(dead.endpoint());
  for (int round = 0; round < 4; ++round) {
    EXPECT_TRUE(Ends({Client("worker"), Client("former")}, endpoints)) << round;
  }
}

// Plan: etcd refuses the handshake with the newest certificates, of which there are two. The
// earlier one works.
TEST_F(EndSessionsTest, AnEarlierCertificateWorksIfEtcdRefusesTheNewest) {
  EXPECT_TRUE(Ends({Unknown(), Unknown(), Client("worker")}, etcd_->endpoints()));
}

// Plan: no certificate has the right. The guard says so, and does not try for 10 minutes.
TEST_F(EndSessionsTest, WithoutRightsIsAFailure) {
  EXPECT_FALSE(Ends({Client("former")}, etcd_->endpoints()));
  EXPECT_FALSE(Ends({Client("former"), Client("nobody")}, etcd_->endpoints()));
}

/// A session to end on an etcd that never answers.
SessionsToEnd Unanswered(const SilentHost& host) {
  return {.death = {.group = "orders", .node = "n1", .sessions = {SessionId{kSession}}},
          .etcd = {.endpoints = {host.endpoint()}},
          .credentials = {EtcdCredentials{}}};
}

// By itself a guard gives up after ten minutes only.
constexpr std::chrono::minutes kLongBeforeItGivesUp{2};

// Plan: SIGTERM came before the node died, and etcd does not answer. The guard tries for its grace,
// and no longer.
TEST(EndSessionsWithoutEtcd, AskedBeforeItTriesForItsGrace) {
  const SilentHost silent;
  const SessionsToEnd work = Unanswered(silent);
  const std::atomic<bool> asked_to_end{true};
  const TimePoint began = BootClock::now();
  EXPECT_FALSE(EndSessions(work, asked_to_end));
  const Duration took = BootClock::now() - began;
  EXPECT_GE(took, kGraceAfterDeath);
  EXPECT_LT(took, kLongBeforeItGivesUp);
}

// Plan: etcd does not answer, and the guard goes on for longer than its grace while nobody asks it
// to end. Then SIGTERM comes, and it gives up at once.
TEST(EndSessionsWithoutEtcd, AskedAfterItsGraceItGivesUp) {
  const SilentHost silent;
  const SessionsToEnd work = Unanswered(silent);
  std::atomic<bool> asked_to_end{false};
  auto ending = std::async(std::launch::async, [&] { return EndSessions(work, asked_to_end); });
  EXPECT_EQ(ending.wait_for(kGraceAfterDeath + std::chrono::milliseconds(500)),
            std::future_status::timeout);
  asked_to_end = true;
  ASSERT_EQ(ending.wait_for(kLongBeforeItGivesUp), std::future_status::ready);
  EXPECT_FALSE(ending.get());
}

}  // namespace
}  // namespace baton::app
