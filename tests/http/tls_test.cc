// The HTTP server with TLS, over real sockets.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <malloc.h>
#include <sys/fsuid.h>
#include <unistd.h>

#include <boost/asio/error.hpp>

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <iterator>
#include <memory>
#include <string>
#include <thread>
#include <utility>

#include "base/test_identity.h"
#include "http/client.h"
#include "http/fake_control.h"
#include "http/secure_client.h"
#include "http/server.h"
#include "lab/certificates.h"

namespace baton::http {
namespace {

namespace net = boost::asio;
using lab::Issuer;
using testing::HasSubstr;
using testing::StartsWith;

class HttpTlsTest : public testing::Test {
 protected:
  void Start(ClientCertificates clients, HttpOptions options = {}) {
    identity_ = TestIdentity(issuer_, clients);
    ASSERT_NE(identity_, nullptr);
    options.address = "127.0.0.1:0";
    options.tls = identity_;
    runtime::NodeStatus status;
    status.group = "orders";
    control_.SetStatus(std::move(status));
    auto started = HttpServer::Start(std::move(options), control_, {});
    ASSERT_TRUE(started.ok()) << started.error().message;
    server_ = std::move(started).value();
  }
  std::string Fetch(const std::string& target, const PemTexts& texts) {
    return SecureClient(server_->port(), texts).Get(target);
  }
  PemTexts Nobody() const { return {.ca = issuer_.pem()}; }

  const Issuer issuer_{"authority"};
  FakeControl control_;
  std::shared_ptr<ServerIdentity> identity_;
  std::unique_ptr<HttpServer> server_;
};

TEST_F(HttpTlsTest, WhoGetsIn) {
  Start(ClientCertificates::kRequire);
  EXPECT_THAT(Fetch("/livez", issuer_.Issue("operator")), StartsWith("HTTP/1.1 200"));
  EXPECT_EQ(Fetch("/livez", Nobody()), "");
  PemTexts foreign = Issuer("authority").Issue("operator");
  foreign.ca = issuer_.pem();
  EXPECT_EQ(Fetch("/livez", foreign), "");
  EXPECT_EQ(Get(server_->port(), "/livez"), "") << "no TLS";
  EXPECT_THAT(Fetch("/livez", issuer_.Issue("operator")), StartsWith("HTTP/1.1 200"));
}

TEST_F(HttpTlsTest, WithoutAnAuthorityEverybodyGetsIn) {
  Start(ClientCertificates::kNone);
  EXPECT_THAT(Fetch("/livez", Nobody()), StartsWith("HTTP/1.1 200"));
}

TEST_F(HttpTlsTest, TheCertificateDecidesWhoMayRead) {
  const auto access = std::make_shared<access::Access>(access::Access::Defaults{});
  Start(ClientCertificates::kAsk, {.access = access});
  access->SetRules(
      {.certificates = {{"cn:scraper", access::Role::kRead}, {"cn:*", access::Role::kProbe}}});
  EXPECT_THAT(Fetch("/metrics", issuer_.Issue("scraper")), StartsWith("HTTP/1.1 200"));
  const std::string refused = Fetch("/metrics", issuer_.Issue("probe"));
  EXPECT_THAT(refused, StartsWith("HTTP/1.1 403"));
  EXPECT_THAT(refused, HasSubstr("cn:probe may not do this: it needs the role read"));
  EXPECT_THAT(Fetch("/livez", issuer_.Issue("probe")), StartsWith("HTTP/1.1 200"));
  EXPECT_THAT(Fetch("/metrics", Nobody()), StartsWith("HTTP/1.1 200")) << "by its user";
}

// Plan: a connection is open when its certificate expires. On a slow machine a certificate may
// expire before the first request: then another one is valid for longer.
TEST_F(HttpTlsTest, AnOpenConnectionsCertificateExpires) {
  const auto access = std::make_shared<access::Access>(access::Access::Defaults{});
  Start(ClientCertificates::kRequire, {.idle_timeout = std::chrono::minutes(2), .access = access});
  access->SetRules({.certificates = {{"cn:scraper", access::Role::kOperate}}});  // without limits
  const std::string metrics = "HEAD /metrics HTTP/1.1\r\nHost: localhost\r\n\r\n";
  std::unique_ptr<SecureClient> client;
  const auto ask = [&] {
    client->Send(metrics);
    const std::string answer = client->ReceiveSome();
    return answer.substr(0, answer.find("\r\n"));
  };
  std::string said;
  constexpr std::chrono::seconds kPatience{60};
  for (std::chrono::seconds valid{2}; said != "HTTP/1.1 200 OK" && valid < kPatience; valid *= 2) {
    client = std::make_unique<SecureClient>(server_->port(), issuer_.Issue("scraper", "", valid));
    said = ask();
  }
  ASSERT_EQ(said, "HTTP/1.1 200 OK");
  const auto deadline = std::chrono::steady_clock::now() + kPatience;
  while (said == "HTTP/1.1 200 OK" && std::chrono::steady_clock::now() < deadline) said = ask();
  EXPECT_EQ(said, "HTTP/1.1 403 Forbidden");
}

// Plan: clients change their keys, which costs this server's one thread far more than it costs
// them.
TEST_F(HttpTlsTest, WhoChangesItsKeysAgainAndAgainIsCutOff) {
  Start(ClientCertificates::kNone);
  const std::string rest = "ET /livez HTTP/1.1\r\nHost: localhost\r\n\r\n";
  SecureClient usual(server_->port(), Nobody());
  EXPECT_TRUE(usual.SendWithNewKeys("G"));
  EXPECT_TRUE(usual.Send(rest));
  EXPECT_THAT(usual.ReceiveSome(), StartsWith("HTTP/1.1 200"));
  SecureClient flood(server_->port(), Nobody());
  flood.SendWithNewKeys("G" + rest);
  EXPECT_EQ(flood.ReceiveAll(), "");
  EXPECT_NE(flood.error(), net::error::timed_out);
}

// Plan: an answer that closes, with a length and without; the server says that it is complete.
TEST_F(HttpTlsTest, AnAnswersEndIsSaid) {
  Start(ClientCertificates::kNone);
  for (const char* request : {"GET /livez HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n",
                              "nonsense\r\n\r\n"}) {
    SecureClient client(server_->port(), Nobody());
    client.Send(request);
    EXPECT_THAT(client.ReceiveAll(), StartsWith("HTTP/1.1 "));
    EXPECT_EQ(client.error(), net::error::eof) << client.error().message();
  }
}

// Plan: an answer of megabytes, and the head alone.
TEST_F(HttpTlsTest, LargeAnswersArriveWhole) {
  Start(ClientCertificates::kNone);
  runtime::NodeStatus status;
  status.group = "orders";
  status.shard_count = 20'000;
  status.shards.resize(status.shard_count);
  control_.SetStatus(std::move(status));
  SecureClient client(server_->port(), Nobody());
  const std::string all = client.Get("/v1/shards");
  EXPECT_EQ(client.error(), net::error::eof) << client.error().message();
  EXPECT_EQ(BodyOf(all).size(), std::stoul(HeaderOf(all, "Content-Length")));
  EXPECT_GT(all.size(), std::size_t{1} << 20);
  SecureClient head(server_->port(), Nobody());
  head.Send("HEAD /v1/shards HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n");
  EXPECT_EQ(HeaderOf(head.ReceiveAll(), "Content-Length"), HeaderOf(all, "Content-Length"));
}

TEST_F(HttpTlsTest, WhoShowsNoCertificateHasWhatItsUserHas) {
  const auto access = std::make_shared<access::Access>(access::Access::Defaults{});
  Start(ClientCertificates::kAsk, {.access = access});
  access->SetRules({.users = {{geteuid(), access::Role::kProbe}},
                    .certificates = {{"cn:scraper", access::Role::kRead}}});
  EXPECT_THAT(Fetch("/metrics", Nobody()), StartsWith("HTTP/1.1 403"));
  EXPECT_THAT(Fetch("/metrics", issuer_.Issue("other")), StartsWith("HTTP/1.1 403"));
  EXPECT_THAT(Fetch("/metrics", issuer_.Issue("scraper")), StartsWith("HTTP/1.1 200"));
}

// Plan: with and without TLS on this host. A token that does not count is refused, whatever its
// sender could do without it; but probes don't look at it.
TEST_F(HttpTlsTest, TokensCountAndWrongOnesAreRefused) {
  const auto access = std::make_shared<access::Access>(access::Access::Defaults{});
  Start(ClientCertificates::kNone, {.access = access});
  access->SetRules({.users = {{geteuid(), access::Role::kProbe}},
                    .tokens = {{"scrape", access::DigestOf("secret"), access::Role::kRead, {}}}});
  const auto fetch = [&](const std::string& path, const std::string& headers) {
    SecureClient client(server_->port(), Nobody());
    client.Send("GET " + path + " HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n" + headers +
                "\r\n");
    return client.ReceiveAll();
  };
  const std::string good = "Authorization: Bearer secret\r\n";
  EXPECT_THAT(fetch("/metrics", ""), StartsWith("HTTP/1.1 403"));
  EXPECT_THAT(fetch("/metrics", good), StartsWith("HTTP/1.1 200"));
  access->SetRules({.tokens = {{"scrape", access::DigestOf("secret"), access::Role::kRead, {}}}});
  EXPECT_THAT(fetch("/metrics", ""), StartsWith("HTTP/1.1 200"));
  for (const std::string& bad : {std::string("Authorization: Bearer secrets\r\n"), good + good,
                                 std::string("Authorization: Bearer\r\n"),
                                 "Authorization: Bearer " + std::string(5000, 'a') + "\r\n",
                                 std::string("Authorization: Bearer \xff\xc3\r\n")}) {
    const std::string refused = fetch("/v1/status", bad);
    EXPECT_THAT(refused, StartsWith("HTTP/1.1 401")) << bad;
    EXPECT_EQ(HeaderOf(refused, "WWW-Authenticate"), "Bearer");
    EXPECT_THAT(refused, HasSubstr("sent a token that does not count"));
    EXPECT_THAT(fetch("/livez", bad), StartsWith("HTTP/1.1 200"));
  }
}

// Plan: several requests on one connection, a certificate that changes between them, and a client
// that trusts only the new one.
TEST_F(HttpTlsTest, OpenConnectionsGoOnWhenTheCertificateChanges) {
  Start(ClientCertificates::kNone);
  const std::string request = "GET /livez HTTP/1.1\r\nHost: localhost\r\n\r\n";
  SecureClient open(server_->port(), Nobody());
  open.Send(request);
  EXPECT_THAT(open.ReceiveSome(), StartsWith("HTTP/1.1 200"));
  const Issuer other("other");
  PemTexts next = other.Issue("server");
  next.ca.clear();
  ASSERT_TRUE(identity_->Set(next).ok());
  EXPECT_THAT(Fetch("/livez", {.ca = other.pem()}), StartsWith("HTTP/1.1 200"));
  EXPECT_EQ(Fetch("/livez", Nobody()), "");
  open.Send(request);
  EXPECT_THAT(open.ReceiveSome(), StartsWith("HTTP/1.1 200"));
}

/// The files and sockets that this process has open.
std::ptrdiff_t OpenDescriptors() {
  const std::filesystem::directory_iterator all("/proc/self/fd");
  return std::distance(begin(all), end(all));
}

// Plan: a feed of events is open. The certificate changes 1,000 times; after each change somebody
// connects, and is shown the new one. The feed misses no event, and neither memory nor descriptors
// grow.
TEST_F(HttpTlsTest, AThousandChangesEndNoFeedAndKeepNothing) {
  Start(ClientCertificates::kRequire);
  const PemTexts client = issuer_.Issue("reader");
  SecureClient feed(server_->port(), client);
  feed.Send("GET /v1/events HTTP/1.1\r\nHost: localhost\r\nAccept: text/event-stream\r\n\r\n");
  ASSERT_THAT(feed.ReceiveSome(), StartsWith("HTTP/1.1 200"));
  const Issuer other("other");
  const PemTexts of_other = other.Issue("server");
  const PemTexts ours = issuer_.Issue("server");
  constexpr int kChanges = 1000;
  std::size_t memory = 0;
  std::ptrdiff_t descriptors = 0;
  std::string heard;
  for (int i = 0; i < kChanges; ++i) {
    if (i == kChanges / 2) {
      memory = mallinfo2().uordblks;
      descriptors = OpenDescriptors();
    }
    const bool others = i % 2 == 0;
    PemTexts next = others ? of_other : ours;
    next.ca = issuer_.pem();
    ASSERT_TRUE(identity_->Set(next).ok());
    PemTexts caller = client;
    caller.ca = others ? other.pem() : issuer_.pem();
    ASSERT_THAT(Fetch("/livez", caller), StartsWith("HTTP/1.1 200")) << i;
    if (i % 100 != 0) continue;
    control_.kept->AddChange("pause", "cn:operator", Revision{i + 1});
    const std::string event = "\"seq\":" + std::to_string(i / 100 + 1) + ",";
    while (heard.find(event) == std::string::npos && !feed.error()) heard += feed.ReceiveSome();
    ASSERT_THAT(heard, HasSubstr(event));
  }
  EXPECT_LE(OpenDescriptors(), descriptors + 1) << "the last client's may close a little later";
  constexpr std::size_t kNoise = 4 << 20;
  EXPECT_LT(mallinfo2().uordblks, memory + kNoise);
}

// Plan: a request on a connection that is too old: the answer says that it is the last.
TEST_F(HttpTlsTest, AnOldConnectionEndsWithItsNextAnswer) {
  Start(ClientCertificates::kNone, {.max_age = std::chrono::milliseconds(1)});
  SecureClient client(server_->port(), Nobody());
  const auto old = std::chrono::steady_clock::now() + std::chrono::milliseconds(2);
  while (std::chrono::steady_clock::now() < old) std::this_thread::yield();
  client.Send("GET /livez HTTP/1.1\r\nHost: localhost\r\n\r\n");
  EXPECT_EQ(HeaderOf(client.ReceiveAll(), "Connection"), "close");
  EXPECT_EQ(client.error(), net::error::eof) << client.error().message();
}

// Plan: one user has used up its handshakes. The server closes its next connection before it
// computes anything, while another user gets in. On a slow machine the user may get one more before
// that connection is there: then it tries again.
TEST_F(HttpTlsTest, AFloodOfHandshakesOfOneUserIsCutShort) {
  if (geteuid() != 0) GTEST_SKIP() << "only root can have a socket of another user's";
  const auto access = std::make_shared<access::Access>(access::Access::Defaults{});
  Start(ClientCertificates::kNone, {.access = access});
  const auto limited = [&] { return access->limited(access::CallLimits::Kind::kHandshake); };
  EXPECT_THAT(Fetch("/livez", Nobody()), StartsWith("HTTP/1.1 200"));
  EXPECT_EQ(limited(), 0U);
  const access::Caller flood{.peer = "ipv4:127.0.0.1:5", .user = 0};
  const auto deadline = std::chrono::steady_clock::now() + std::chrono::minutes(1);
  std::string said;
  std::uint64_t before = 0;
  do {
    while (access->TakeHandshake(flood)) {
    }
    before = limited();
    said = Fetch("/livez", Nobody());
  } while (!said.empty() && std::chrono::steady_clock::now() < deadline);
  EXPECT_EQ(said, "");
  EXPECT_EQ(limited(), before + 1) << "the server has refused it";
  while (access->TakeHandshake(flood)) {
  }
  setfsuid(4711);
  EXPECT_THAT(Fetch("/livez", Nobody()), StartsWith("HTTP/1.1 200"));
  setfsuid(0);
}

// Plan: a client that says nothing, one that stops in the middle of its hello, and one that speaks
// HTTP without TLS. None of them keeps its place.
TEST_F(HttpTlsTest, AHandshakeThatDoesNotEndIsCutOff) {
  Start(ClientCertificates::kNone, {.idle_timeout = std::chrono::milliseconds(200)});
  for (const char* bytes : {"", "\x16\x03\x01\x02", "GET /livez HTTP/1.1\r\n\r\n"}) {
    Client client(server_->port());
    client.Send(bytes);
    bool closed = false;
    client.ReceiveAll(&closed);
    EXPECT_TRUE(closed) << bytes;
  }
}

}  // namespace
}  // namespace baton::http
