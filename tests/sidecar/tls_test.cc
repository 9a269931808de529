// A sidecar's port with TLS: whose certificate lets an application attach, and certificates that
// change while it is attached. No node: the attachment alone.
#include <netinet/in.h>
#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

#include <atomic>
#include <chrono>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/server_identity.h"
#include "base/test_identity.h"
#include "lab/certificates.h"
#include "sidecar/application.h"
#include "sidecar/server.h"

namespace baton::sidecar {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;
using test::Application;
using ::testing::HasSubstr;

constexpr int kAlreadyExists = 6;
constexpr int kPermissionDenied = 7;
constexpr int kUnavailable = 14;

class SidecarTls : public ::testing::Test {
 protected:
  // This user may not attach, unless a test says otherwise: certificates decide.
  SidecarTls() {
    access_->SetRules({.users = {{geteuid(), access::Role::kRead}},
                       .certificates = {{"cn:application", access::Role::kLead},
                                        {"cn:reader", access::Role::kRead}}});
  }

  void Serve(ClientCertificates clients, const std::string& address = "127.0.0.1:0",
             milliseconds max_age = {}) {
    identity_ = TestIdentity(issuer_, clients, "IP:127.0.0.1");
    ASSERT_NE(identity_, nullptr);
    server_ = std::make_unique<Server>(AttachmentOptions{.group = "g", .node = "n1", .shards = 4},
                                       access_, PortTls{identity_, max_age});
    const Status listening = server_->Listen(ParseAddress(address).value());
    ASSERT_TRUE(listening.ok()) << listening.error().message;
  }
  test::ApplicationOptions With(PemTexts tls, const std::string& token = "") const {
    return {.address = server_->address(), .token = token, .tls = std::move(tls)};
  }
  PemTexts Nobody() const { return {.ca = issuer_.pem()}; }
  /// How an application's stream ends that does not attach.
  test::StreamEnd EndOf(PemTexts tls) const {
    Application refused(With(std::move(tls)));
    return refused.AwaitEnd().value_or(test::StreamEnd{-1, "it has not ended"});
  }
  /// Attaches, again and again if there is no place or an earlier connection still ends.
  bool Attaches(const PemTexts& tls) const {
    const TimePoint give_up = BootClock::now() + seconds(60);
    while (BootClock::now() < give_up) {
      Application application(With(tls));
      if (!application.AwaitToken().empty()) return true;
      poll(nullptr, 0, 20);
    }
    return false;
  }

  const lab::Issuer issuer_{"authority"};
  const std::shared_ptr<access::Access> access_ =
      std::make_shared<access::Access>(access::Access::Defaults{});
  std::shared_ptr<ServerIdentity> identity_;
  std::unique_ptr<Server> server_;
};

// Plan: the user of all these may not attach. The certificate with the role may. The server tells
// another one why not; those without a certificate of its authority fail in the handshake.
TEST_F(SidecarTls, TheCertificateDecidesWhoAttaches) {
  std::atomic<int> told{0};
  access_->TellRefusals(
      [&](const access::Caller& caller, std::string_view what, const access::Refused&) {
        if (access::NameOf(caller) == "cn:reader" && what == "Attach") ++told;
      });
  Serve(ClientCertificates::kRequire);
  {
    Application taken(With(issuer_.Issue("application")));
    EXPECT_NE(taken.AwaitToken(), "");
    EXPECT_EQ(server_->bounds().denied, 0u) << "a certificate may still give the role";
  }
  const test::StreamEnd reader = EndOf(issuer_.Issue("reader"));
  EXPECT_EQ(reader.code, kPermissionDenied);
  EXPECT_THAT(reader.message, HasSubstr("cn:reader may not do this: it needs the role lead"));
  EXPECT_EQ(server_->bounds().denied, 1u);
  EXPECT_EQ(told, 1) << "the audit file has it";
  EXPECT_EQ(EndOf(Nobody()).code, kUnavailable);
  PemTexts foreign = lab::Issuer("other").Issue("application");
  foreign.ca = issuer_.pem();
  EXPECT_EQ(EndOf(foreign).code, kUnavailable);
  EXPECT_EQ(EndOf({}).code, kUnavailable) << "without TLS";
}

// Plan: clients without a certificate get in. The user decides about them, and about those whose
// certificate has no rule.
TEST_F(SidecarTls, WithoutARuleForACertificateTheUserDecides) {
  Serve(ClientCertificates::kAsk);
  for (const PemTexts& tls : {Nobody(), issuer_.Issue("somebody")}) {
    EXPECT_EQ(EndOf(tls).code, kPermissionDenied);
  }
  access_->SetRules({.users = {{geteuid(), access::Role::kLead}}});
  for (const PemTexts& tls : {Nobody(), issuer_.Issue("somebody")}) EXPECT_TRUE(Attaches(tls));
}

// Plan: clients' certificates are not looked at, so this user is refused when it connects.
TEST_F(SidecarTls, IfNobodyIsAskedForACertificateNoneGivesTheRole) {
  Serve(ClientCertificates::kNone);
  EXPECT_EQ(EndOf(issuer_.Issue("application")).code, kPermissionDenied);
  EXPECT_EQ(server_->bounds().denied, 1u);
  access_->SetRules({});
  EXPECT_TRUE(Attaches(Nobody()));
}

TEST_F(SidecarTls, AUnixSocketHasNone) {
  access_->SetRules({});
  Serve(ClientCertificates::kRequire,
        "unix:" + ::testing::TempDir() + "sidecar-tls-" + std::to_string(getpid()));
  Application taken(With({}));
  EXPECT_NE(taken.AwaitToken(), "");
}

// Plan: an application is attached while the node's certificate is replaced by one of another
// authority, which alone may sign clients now. The stream goes on: the next deadline arrives. New
// connections see the new certificate, and need one of the new authority.
TEST_F(SidecarTls, AReplacedCertificateEndsNoStream) {
  Serve(ClientCertificates::kRequire);
  Application attached(With(issuer_.Issue("application")));
  ASSERT_NE(attached.AwaitToken(), "");
  const lab::Issuer next("next");
  ASSERT_TRUE(identity_->Set(next.Issue("node", "IP:127.0.0.1")).ok());
  EXPECT_EQ(EndOf(issuer_.Issue("application")).code, kUnavailable);
  EXPECT_EQ(EndOf(next.Issue("application")).code, kAlreadyExists);
  const TimePoint deadline = BootClock::now() + seconds(100);
  server_->attachment()->OnDeadline(deadline);
  EXPECT_TRUE(attached.AwaitDeadline(deadline));
}

// Plan: connections last a second. The stream ends, and the application goes on by its token.
TEST_F(SidecarTls, AConnectionEndsAtItsAgeAndTheApplicationGoesOn) {
  Serve(ClientCertificates::kRequire, "127.0.0.1:0", seconds(1));
  const PemTexts tls = issuer_.Issue("application");
  // Until then the application may act, so without the token it could not attach again.
  server_->attachment()->OnDeadline(BootClock::now() + seconds(100));
  Application first(With(tls));
  const std::string token = first.AwaitToken();
  ASSERT_NE(token, "");
  EXPECT_TRUE(first.AwaitEnd().has_value());
  Application again(With(tls, token));
  EXPECT_EQ(again.AwaitToken(), token);
  EXPECT_TRUE(again.resumed());
}

// Plan: connections of a user without the role do nothing, not even a handshake, and are kept open.
// They share a few places, and leave them after a while, so that a certificate finds one.
TEST_F(SidecarTls, ConnectionsThatDoNotBeginLeaveTheirPlaces) {
  Serve(ClientCertificates::kRequire);
  sockaddr_in name{};
  name.sin_family = AF_INET;
  name.sin_port = htons(ParseAddress(server_->address()).value().port);
  name.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  std::vector<int> sockets;
  for (std::size_t i = 0; i < kMaxDenied + 1; ++i) {
    sockets.push_back(socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0));
    ASSERT_EQ(connect(sockets.back(), reinterpret_cast<const sockaddr*>(&name), sizeof name), 0);
  }
  EXPECT_TRUE(Attaches(issuer_.Issue("application")));
  EXPECT_GE(server_->bounds().connections, 1u);
  EXPECT_EQ(server_->bounds().denied, 0u) << "nobody knows yet who they are";
  for (const int fd : sockets) close(fd);
}

}  // namespace
}  // namespace baton::sidecar
