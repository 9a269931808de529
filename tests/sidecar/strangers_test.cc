// A sidecar's port, at which an application connects before it is known that it may attach. Until
// then it has the bounds of a stranger, and from then on it has none of them. No node: the
// attachment alone.
#include <netinet/in.h>
#include <sys/socket.h>
#include <unistd.h>

#include <atomic>
#include <chrono>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <tuple>
#include <utility>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/receive_budget.h"
#include "base/server_identity.h"
#include "base/test_identity.h"
#include "lab/certificates.h"
#include "sidecar/application.h"
#include "sidecar/denied_pace.h"
#include "sidecar/server.h"

namespace baton::sidecar {
namespace {

using access::Role;
using test::Application;
using ::testing::HasSubstr;

class SidecarStrangers : public ::testing::Test {
 protected:
  // gRPC's codes.
  static constexpr int kInvalidArgument = 3;
  static constexpr int kAlreadyExists = 6;
  static constexpr int kPermissionDenied = 7;
  static constexpr int kResourceExhausted = 8;
  static constexpr int kUnavailable = 14;
  static constexpr gid_t kGroup = 4711;

  /// From now on a group of this user gives it the role lead, if the user database answers.
  /// Otherwise it is not known whether the user may attach.
  void SetGroupRule(bool answers) {
    *answers_ = answers;
    access_->SetRules(
        {.users = {{kGroup, Role::kLead, access::Rule::For::kGroup}, {geteuid(), Role::kRead}}});
  }
  void SetUserRule(Role role) { access_->SetRules({.users = {{geteuid(), role}}}); }

  void Serve(PortTls tls = {}) {
    server_ = std::make_unique<Server>(AttachmentOptions{.group = "g", .node = "n1", .shards = 4},
                                       access_, std::move(tls), budget_);
    const Status listening = server_->Listen(ParseAddress("127.0.0.1:0").value());
    ASSERT_TRUE(listening.ok()) << listening.error().message;
  }
  int Open() const {
    sockaddr_in name{};
    name.sin_family = AF_INET;
    name.sin_port = htons(ParseAddress(server_->address()).value().port);
    name.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    const int connection = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    EXPECT_EQ(connect(connection, reinterpret_cast<const sockaddr*>(&name), sizeof name), 0);
    return connection;
  }
  /// A connection that the server has accepted: its first bytes are here.
  int Connect() const {
    const int connection = Open();
    char byte = 0;
    EXPECT_EQ(recv(connection, &byte, 1, MSG_PEEK), 1);
    return connection;
  }
  /// A connection at a new server, which hears of the user's groups only afterwards.
  int ConnectBeforeTheGroupIsKnown() {
    SetGroupRule(false);
    Serve();
    const int connection = Connect();
    SetGroupRule(true);
    return connection;
  }
  test::ApplicationOptions At(int connection) const {
    return {.address = server_->address(), .connection = connection};
  }
  /// Sends twice what a stranger may. Returns once the server has read it, and ended the stream.
  static void SendMuch(Application& application) {
    for (int i = 0; i < 4; ++i) application.SayReadyAnyway(10'000);
    application.AnswerAnyway(0);
    const auto end = application.AwaitEnd();
    ASSERT_TRUE(end);
    EXPECT_EQ(end->code, kInvalidArgument) << end->message;
  }
  /// How often somebody lost its connections, after the process has grown, too.
  std::uint64_t Ended() {
    budget_->Weigh(now_, Duration(0));
    resident_ += std::int64_t{1} << 30;
    budget_->Weigh(now_, Duration(0));
    return budget_->ended().for_bytes + budget_->ended().for_memory;
  }

  TimePoint now_ = BootClock::now();
  std::atomic<std::int64_t> resident_{1};
  const std::shared_ptr<ReceiveBudget> budget_ =
      std::make_shared<ReceiveBudget>(ReceiveBudget::Bounds{}, [this] { return resident_.load(); });
  const std::shared_ptr<std::atomic<bool>> answers_ = std::make_shared<std::atomic<bool>>(true);
  const std::shared_ptr<access::Access> access_ =
      std::make_shared<access::Access>(access::Access::Defaults{}, [answers = answers_](uid_t) {
        return *answers ? std::optional(access::Groups{kGroup}) : std::nullopt;
      });
  std::unique_ptr<Server> server_;
};

// Plan: users ask again and again within a second: each gets a few answers, and all together some
// more. In the next second they get answers again.
TEST(DeniedPaceTest, BoundsAnswersByUserAndInAll) {
  DeniedPace pace;
  const TimePoint begun = BootClock::now();
  const auto answers = [&](const std::string& user, TimePoint now) {
    int count = 0;
    for (int i = 0; i < 100; ++i) count += pace.Answers(user, now) ? 1 : 0;
    return count;
  };
  EXPECT_EQ(answers("a", begun), DeniedPace::kOfOne);
  EXPECT_EQ(answers("b", begun), DeniedPace::kOfOne);
  int all = 0;
  for (int user = 0; user < 100; ++user) all += answers(std::to_string(user), begun);
  EXPECT_EQ(all, DeniedPace::kOfAll - 2 * DeniedPace::kOfOne);
  EXPECT_EQ(answers("a", begun + std::chrono::milliseconds(999)), 0);
  EXPECT_EQ(answers("a", begun + std::chrono::seconds(1)), DeniedPace::kOfOne);
}

// Plan: a user who may not attach connects and leaves, again and again. Few of its connections get
// a server that greets them, the others are closed at once and counted. Afterwards the user learns
// why.
TEST_F(SidecarStrangers, AUserWhoConnectsAgainAndAgainGetsFewServers) {
  constexpr int kTries = 200;
  SetUserRule(Role::kRead);
  Serve();
  const TimePoint begun = BootClock::now();
  int greeted = 0;
  for (int i = 0; i < kTries; ++i) {
    const int connection = Open();
    char byte = 0;
    greeted += recv(connection, &byte, 1, MSG_PEEK) == 1 ? 1 : 0;
    close(connection);
  }
  const auto elapsed = std::chrono::ceil<std::chrono::seconds>(BootClock::now() - begun).count();
  EXPECT_GE(greeted, 1);
  EXPECT_LE(greeted, DeniedPace::kOfOne * (elapsed + 1));
  EXPECT_EQ(server_->bounds().denied, static_cast<std::uint64_t>(kTries));
  EXPECT_EQ(server_->bounds().connections, static_cast<std::uint64_t>(kTries - greeted));
  std::optional<int> code;
  const TimePoint until = BootClock::now() + std::chrono::seconds(30);
  while (code != kPermissionDenied && BootClock::now() < until) {
    Application refused({.address = server_->address()});
    const auto end = refused.AwaitEnd();
    code = end ? std::optional(end->code) : std::nullopt;
  }
  EXPECT_EQ(code, kPermissionDenied);
}

// Plan: the user database answers only after the application has connected, and before it says
// hello. Then the application sends more than a stranger may, and the process grows.
TEST_F(SidecarStrangers, ARoleByAGroupEndsTheBoundsOnceItIsKnown) {
  Application application(At(ConnectBeforeTheGroupIsKnown()));
  ASSERT_NE(application.AwaitToken(), "");
  SendMuch(application);
  EXPECT_EQ(Ended(), 0u);
  EXPECT_EQ(server_->bounds().denied, 0u);
}

// Plan: the same by a rule for the user, which comes after the connection.
TEST_F(SidecarStrangers, ARoleByANewRuleEndsTheBounds) {
  SetUserRule(Role::kRead);
  Serve();
  const int connection = Connect();
  SetUserRule(Role::kLead);
  Application application(At(connection));
  ASSERT_NE(application.AwaitToken(), "");
  SendMuch(application);
  EXPECT_EQ(Ended(), 0u);
  EXPECT_EQ(server_->bounds().denied, 1u) << "it could not attach when it connected";
}

// Plan: a certificate gives the role, at a port that asks for one, and at one that requires it.
TEST_F(SidecarStrangers, ARoleByACertificateEndsTheBounds) {
  access_->SetRules(
      {.users = {{geteuid(), Role::kRead}}, .certificates = {{"cn:application", Role::kLead}}});
  const lab::Issuer issuer("authority");
  for (const auto clients : {ClientCertificates::kAsk, ClientCertificates::kRequire}) {
    Serve({.identity = TestIdentity(issuer, clients, "IP:127.0.0.1")});
    Application application({.address = server_->address(), .tls = issuer.Issue("application")});
    ASSERT_NE(application.AwaitToken(), "");
    SendMuch(application);
    EXPECT_EQ(Ended(), 0u);
  }
}

// Plan: the application sends messages of nearly the largest size. They don't have to share the
// memory of a stranger.
TEST_F(SidecarStrangers, WhoMayAttachHasTheMemoryForLargeMessages) {
  Application application(At(ConnectBeforeTheGroupIsKnown()));
  ASSERT_NE(application.AwaitToken(), "");
  for (int i = 0; i < 4; ++i) application.SendPadding((4 << 20) - 100);
  SendMuch(application);
}

// Plan: the port asks for certificates, or requires them, so somebody's certificate may still give
// it the role. A stranger's does not, and its hello is longer than all that a stranger may send.
TEST_F(SidecarStrangers, APortThatAsksForCertificatesHasTheBoundsToo) {
  access_->SetRules(
      {.users = {{geteuid(), Role::kRead}}, .certificates = {{"cn:application", Role::kLead}}});
  const lab::Issuer issuer("authority");
  std::uint64_t ended = 0;
  for (const auto clients : {ClientCertificates::kAsk, ClientCertificates::kRequire}) {
    Serve({.identity = TestIdentity(issuer, clients, "IP:127.0.0.1")});
    Application refused({.address = server_->address(),
                         .group = std::string(70'000, 'x'),
                         .tls = issuer.Issue("stranger")});
    const auto end = refused.AwaitEnd();
    ASSERT_TRUE(end);
    EXPECT_EQ(end->code, kPermissionDenied);
    budget_->Weigh(now_, Duration(0));
    EXPECT_EQ(budget_->ended().for_bytes, ++ended);
    now_ += ReceiveBudget::kBarred;
    budget_->Weigh(now_, Duration(0));
  }
}

// Plan: nobody says in which groups the user is, or that it may attach. Its hello is longer than
// all that a stranger may send.
TEST_F(SidecarStrangers, WithoutTheRoleTheBoundsStay) {
  SetGroupRule(false);
  Serve();
  for (const auto& [code, why, ended] :
       {std::tuple(kUnavailable, access::kGroupsNotKnown, 1u),
        std::tuple(kPermissionDenied, std::string_view("role lead"), 2u)}) {
    Application refused({.address = server_->address(), .group = std::string(70'000, 'x')});
    const auto end = refused.AwaitEnd();
    ASSERT_TRUE(end);
    EXPECT_EQ(end->code, code);
    EXPECT_THAT(end->message, HasSubstr(why));
    EXPECT_EQ(server_->bounds().denied, ended);
    budget_->Weigh(now_, Duration(0));
    EXPECT_EQ(budget_->ended().for_bytes, ended);
    now_ += ReceiveBudget::kBarred;
    budget_->Weigh(now_, Duration(0));
    SetUserRule(Role::kRead);
  }
}

// Plan: a hello is nearly as long as a message may be.
TEST_F(SidecarStrangers, WithoutTheRoleThereIsNoMemoryForLargeMessages) {
  SetUserRule(Role::kRead);
  Serve();
  Application refused({.address = server_->address(), .group = std::string((4 << 20) - 100, 'x')});
  const auto end = refused.AwaitEnd();
  ASSERT_TRUE(end);
  EXPECT_EQ(end->code, kResourceExhausted) << end->message;
}

// Plan: as many applications connect as there may be strangers. Then it is known that they may
// attach, and they say hello. A stranger finds a place again.
TEST_F(SidecarStrangers, WhoMayAttachLeavesThePlacesOfStrangers) {
  SetGroupRule(false);
  Serve();
  std::vector<int> connections;
  for (std::size_t i = 0; i < kMaxDenied; ++i) connections.push_back(Connect());
  SetGroupRule(true);
  std::vector<std::unique_ptr<Application>> applications;
  for (const int connection : connections) {
    applications.push_back(std::make_unique<Application>(At(connection)));
    if (applications.size() == 1) {
      EXPECT_NE(applications.back()->AwaitToken(), "");
      continue;
    }
    const auto end = applications.back()->AwaitEnd();
    ASSERT_TRUE(end);
    EXPECT_EQ(end->code, kAlreadyExists) << end->message;
  }
  SetUserRule(Role::kRead);
  Application stranger({.address = server_->address()});
  const auto end = stranger.AwaitEnd();
  ASSERT_TRUE(end);
  EXPECT_EQ(end->code, kPermissionDenied) << end->message;
  EXPECT_EQ(server_->bounds().connections, 0u);
}

}  // namespace
}  // namespace baton::sidecar
