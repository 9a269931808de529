// The HTTP server over real sockets, with a fake node.
#include "http/server.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <prometheus/counter.h>
#include <prometheus/registry.h>
#include <sys/fsuid.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <memory>
#include <sstream>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "http/client.h"
#include "http/fake_control.h"

namespace baton::http {
namespace {

using std::chrono::milliseconds;
using testing::HasSubstr;
using testing::Not;
using testing::StartsWith;

runtime::NodeStatus TwoShards() {
  runtime::NodeStatus status;
  status.group = "orders";
  status.node = "n1";
  status.shard_count = 2;
  status.revision = Revision{960};
  status.not_ready = "the view is incomplete";
  status.shards.resize(2);
  runtime::ShardStatus& led = status.shards[0];
  led.leader = "n1";
  led.address = "127.0.0.1:7400";
  led.term = Term{815};
  led.state = ShardState::kLed;
  status.shards[1].shard = ShardId{1};
  return status;
}

/// /v1/shards is more than the kernel takes of it.
runtime::NodeStatus ManyShards() {
  runtime::NodeStatus large = TwoShards();
  large.shard_count = 60'000;
  large.shards.resize(large.shard_count);
  for (std::uint32_t s = 0; s < large.shard_count; ++s) large.shards[s].shard = ShardId{s};
  return large;
}

class HttpServerTest : public testing::Test {
 protected:
  void SetUp() override {
    control_.SetStatus(TwoShards());
    registry_ = std::make_shared<prometheus::Registry>();
    prometheus::BuildCounter().Name("tests_total").Help("Tests.").Register(*registry_).Add({});
    Start({.address = "127.0.0.1:0"});
  }
  void Start(HttpOptions options) {
    server_.reset();
    auto started =
        HttpServer::Start(options, control_, {.node = {registry_}, .shards = {registry_}});
    ASSERT_TRUE(started.ok()) << started.error().message;
    server_ = std::move(started).value();
  }
  std::string Fetch(const std::string& target) { return Get(server_->port(), target); }
  /// Sends `bytes` on a connection of its own, and reads until the server closes it.
  std::string Exchange(const std::string& bytes) {
    Client client(server_->port());
    client.Send(bytes);
    bool closed = false;
    std::string response = client.ReceiveAll(&closed);
    EXPECT_TRUE(closed);
    return response;
  }

  FakeControl control_;
  std::shared_ptr<prometheus::Registry> registry_;
  std::unique_ptr<HttpServer> server_;
};

TEST_F(HttpServerTest, TellsLifeAndReadinessApart) {
  // Plan: live and ready; then not ready, with the reason; then a loop that no longer turns.
  EXPECT_EQ(StatusOf(Fetch("/livez")), 200);
  EXPECT_EQ(BodyOf(Fetch("/readyz")), "ready\n");
  control_.ready = false;
  EXPECT_EQ(StatusOf(Fetch("/livez")), 200);
  EXPECT_EQ(StatusOf(Fetch("/readyz")), 503);
  EXPECT_EQ(BodyOf(Fetch("/readyz")), "the view is incomplete\n");
  control_.alive = false;
  EXPECT_EQ(StatusOf(Fetch("/livez")), 503);
}

TEST_F(HttpServerTest, SaysWhyANodeHalted) {
  runtime::NodeStatus status = TwoShards();
  status.halted = Error{ErrorCode::kFailedPrecondition, "another etcd cluster"};
  control_.SetStatus(status);
  control_.ready = false;
  EXPECT_EQ(BodyOf(Fetch("/readyz")), "halted: another etcd cluster\n");
}

TEST_F(HttpServerTest, AnswersProbesWhileTheLoopIsStuck) {
  // Plan: the loop does not answer. More scrapes than workers wait for it. Probes are still
  // answered.
  control_.Hold();
  std::vector<Client> scrapes;
  for (int i = 0; i < 2 * kWorkers; ++i) {
    scrapes.emplace_back(server_->port());
    scrapes.back().Send("GET /v1/shards HTTP/1.1\r\nHost: localhost\r\n\r\n");
  }
  EXPECT_EQ(StatusOf(Fetch("/livez")), 200);
  EXPECT_EQ(StatusOf(Fetch("/readyz")), 200);
  for (Client& scrape : scrapes) EXPECT_EQ(StatusOf(scrape.Receive()), 503);
  EXPECT_EQ(control_.asked(), 1) << "a stuck loop is not piled up with questions";
  control_.Release();
  EXPECT_EQ(StatusOf(Fetch("/v1/shards")), 200);
}

TEST_F(HttpServerTest, RefusesRequestsBeyondTheWaitingOnes) {
  // Plan: the node does not answer, and more requests come than may wait. One of them is refused at
  // once. Then the node answers, and every request gets a response.
  control_.Hold();
  std::vector<Client> clients;
  for (std::size_t i = 0; i < kMaxWaiting + 8; ++i) {
    clients.emplace_back(server_->port());
    clients.back().Send("GET /v1/shards HTTP/1.1\r\nHost: localhost\r\n\r\n");
  }
  const auto deadline = std::chrono::steady_clock::now() + std::chrono::seconds(10);
  const auto answered = [](const Client& client) { return client.Readable(); };
  while (std::none_of(clients.begin(), clients.end(), answered) &&
         std::chrono::steady_clock::now() < deadline) {
    std::this_thread::yield();
  }
  control_.Release();
  int refused = 0;
  for (Client& client : clients) {
    const std::string response = client.Receive();
    EXPECT_NE(StatusOf(response), 0);
    if (BodyOf(response) == "{\"error\":\"too many requests are waiting; try again later\"}\n") {
      ++refused;
    }
  }
  EXPECT_GT(refused, 0);
}

TEST_F(HttpServerTest, LeaderProbeIsOkOnlyWhereTheLeaderIsActivated) {
  // Plan: a follower; leading but not activated; activated; suspended; then numbers out of range.
  EXPECT_EQ(StatusOf(Fetch("/shards/0/leader")), 503);
  control_.Lead({.shard = ShardId{0}, .term = Term{815}, .leads = true, .activated = false});
  EXPECT_EQ(StatusOf(Fetch("/shards/0/leader")), 503);
  control_.Lead({.shard = ShardId{0}, .term = Term{815}, .leads = true, .activated = true});
  EXPECT_EQ(StatusOf(Fetch("/shards/0/leader")), 200);
  control_.Lead({.shard = ShardId{0}, .term = Term{815}, .leads = false, .activated = true});
  EXPECT_EQ(StatusOf(Fetch("/shards/0/leader")), 503);
  for (const char* wrong : {"/shards/2/leader", "/shards/-1/leader", "/shards/x/leader",
                            "/shards/99999999999999999999/leader", "/shards/0x1/leader"}) {
    EXPECT_EQ(BodyOf(Fetch(wrong)), "no such shard; expected a number from 0 to 1\n") << wrong;
  }
}

TEST_F(HttpServerTest, ServesShardsAsJson) {
  const std::string response = Fetch("/v1/shards?pretty=no");
  EXPECT_EQ(HeaderOf(response, "Content-Type"), "application/json");
  EXPECT_EQ(BodyOf(response),
            R"({"group":"orders","revision":960,"stale":false,"shards":[)"
            R"({"shard":0,"leader":"n1","address":"127.0.0.1:7400","term":815,"state":"led"},)"
            R"({"shard":1,"leader":null,"address":null,"term":0,"state":"leaderless"}]})"
            "\n");
  EXPECT_EQ(StatusOf(Fetch("/v1/shards/1")), 200);
  const std::string missing = Fetch("/v1/shards/2");
  EXPECT_EQ(StatusOf(missing), 404);
  EXPECT_EQ(BodyOf(missing), "{\"error\":\"no such shard; expected a number from 0 to 1\"}\n");
}

// Plan: "order-4711" is Kafka's partition 1 of 2. A plus stays a plus, encoded or not. Invalid keys
// are refused with one line, and so is every key before the node has read the group and after it
// has halted.
TEST_F(HttpServerTest, LooksUpAKeysShard) {
  const std::string response = Fetch("/v1/lookup?key=order-4711");
  EXPECT_EQ(HeaderOf(response, "Content-Type"), "application/json");
  EXPECT_EQ(BodyOf(response),
            R"({"group":"orders","revision":960,"stale":false,"age_ms":0,"shard":1,)"
            R"("leader":null,"address":null,"term":0,"state":"leaderless","standbys":[]})"
            "\n");
  EXPECT_EQ(BodyOf(Fetch("/v1/lookup?key=9+9")), BodyOf(Fetch("/v1/lookup?key=9%2B9")));
  EXPECT_NE(BodyOf(Fetch("/v1/lookup?key=9+9")), BodyOf(Fetch("/v1/lookup?key=9%209")));
  const auto refused = [this](const std::string& target, const std::string& message) {
    const std::string answer = Fetch(target);
    EXPECT_EQ(StatusOf(answer), 400) << target;
    EXPECT_EQ(BodyOf(answer), "{\"error\":\"" + message + "\"}\n");
  };
  refused("/v1/lookup", "no key; expected /v1/lookup?key=KEY");
  refused("/v1/lookup?key=", "the key is empty");
  refused(
      "/v1/lookup?key=" + std::string(4097, 'k'),
      "the key has 4097 bytes; a lookup takes up to 4096 (longer ones: map them in the library)");
  refused("/v1/lookup?key=%zz", "the path is not percent-encoded as RFC 3986 says");
  runtime::NodeStatus status = TwoShards();
  status.revision = Revision{};
  control_.SetStatus(status);
  EXPECT_EQ(StatusOf(Fetch("/v1/lookup?key=order-4711")), 503);
  status.revision = Revision{960};
  status.halted = Error{ErrorCode::kFailedPrecondition, "another shard count"};
  control_.SetStatus(status);
  EXPECT_EQ(StatusOf(Fetch("/v1/lookup?key=order-4711")), 503);
}

TEST_F(HttpServerTest, ShowsTheNewestPicture) {
  EXPECT_NE(BodyOf(Fetch("/v1/shards")).find("\"revision\":960"), std::string::npos);
  runtime::NodeStatus status = TwoShards();
  status.revision = Revision{961};
  control_.SetStatus(status);
  EXPECT_NE(BodyOf(Fetch("/v1/shards")).find("\"revision\":961"), std::string::npos);
}

TEST_F(HttpServerTest, ServesMetricsInPrometheusText) {
  for (const char* path : {"/metrics", "/metrics/shards"}) {
    const std::string response = Fetch(path);
    EXPECT_EQ(HeaderOf(response, "Content-Type"), "text/plain; version=0.0.4; charset=utf-8");
    EXPECT_THAT(
        BodyOf(response),
        StartsWith("# HELP tests_total Tests.\n# TYPE tests_total counter\ntests_total 0\n"));
  }
  EXPECT_EQ(Fetch("/metrics/shards").find("baton_http"), std::string::npos);
}

TEST_F(HttpServerTest, NamesThePathsWhereThereIsNone) {
  const std::string response = Fetch("/nothing");
  EXPECT_EQ(StatusOf(response), 404);
  EXPECT_EQ(BodyOf(response),
            "no such path; expected one of / /livez /readyz /metrics /metrics/shards /v1/shards "
            "/v1/shards/{s} /v1/lookup?key= /v1/routes?after=REV /v1/events?after=SEQ "
            "/v1/status /v1/overview /shards/{s}/leader\n");
  EXPECT_TRUE(BodyOf(Fetch("/v1/nothing")).starts_with("{\"error\":\"no such path"));
  EXPECT_EQ(StatusOf(Fetch("/shards//leader")), 404);
}

TEST_F(HttpServerTest, AnswersHeadWithoutABody) {
  Client client(server_->port());
  client.Send(
      "HEAD /livez HTTP/1.1\r\nHost: localhost\r\n\r\nGET /livez HTTP/1.1\r\nHost: "
      "localhost\r\n\r\n");
  const std::string head = client.Receive(/*head_request=*/true);
  EXPECT_EQ(HeaderOf(head, "Content-Length"), "3");
  EXPECT_EQ(BodyOf(head), "");
  EXPECT_EQ(BodyOf(client.Receive()), "ok\n") << "the body of HEAD would stand here";
}

TEST_F(HttpServerTest, RefusesMethodsThatChangeThings) {
  for (const char* method : {"POST", "PUT", "DELETE", "OPTIONS", "TRACE", "BREW"}) {
    const std::string response =
        Exchange(std::string(method) +
                 " /v1/shards HTTP/1.1\r\nHost: localhost\r\nContent-Length: 2\r\nConnection: "
                 "close\r\n\r\n{}");
    EXPECT_EQ(StatusOf(response), 405) << method;
    EXPECT_EQ(HeaderOf(response, "Allow"), "GET, HEAD") << method;
  }
}

TEST_F(HttpServerTest, AnswersPipelinedRequestsInOrder) {
  // Plan: ten requests in one write, slow and quick ones mixed. The answers come back in that
  // order.
  Client client(server_->port());
  std::string requests;
  for (int i = 0; i < 5; ++i) {
    requests += "GET /v1/shards/0 HTTP/1.1\r\nHost: localhost\r\n\r\n";
    requests += "GET /livez HTTP/1.1\r\nHost: localhost\r\n\r\n";
  }
  client.Send(requests);
  for (int i = 0; i < 5; ++i) {
    EXPECT_TRUE(BodyOf(client.Receive()).starts_with("{"));
    EXPECT_EQ(BodyOf(client.Receive()), "ok\n");
  }
}

TEST_F(HttpServerTest, ClosesAfterAMalformedRequest) {
  EXPECT_EQ(StatusOf(Exchange("nonsense\r\n\r\n")), 400);
  EXPECT_EQ(StatusOf(Exchange("GET /livez HTTP/9.9\r\n\r\n")), 400);
  EXPECT_EQ(StatusOf(Exchange("GET /livez HTTP/1.1\r\nContent-Length: x\r\n\r\n")), 400);
  EXPECT_EQ(StatusOf(Exchange(std::string("\x16\x03\x01\x02\0\x01\0\x01\xFC\x03\r\n\r\n", 14))),
            400)
      << "somebody spoke TLS";
  EXPECT_EQ(StatusOf(Fetch("/livez")), 200);
}

TEST_F(HttpServerTest, RefusesOversizedHeadersAndBodies) {
  const std::string big(100'000, 'x');
  EXPECT_EQ(StatusOf(Exchange("GET /livez HTTP/1.1\r\nBig: " + big + "\r\n\r\n")), 431);
  EXPECT_EQ(StatusOf(Exchange("GET /" + big + " HTTP/1.1\r\n\r\n")), 431);
  EXPECT_EQ(StatusOf(Exchange("GET /livez HTTP/1.1\r\nContent-Length: 100000\r\n\r\n" + big)), 413);
  EXPECT_EQ(StatusOf(Exchange("GET /livez HTTP/1.1\r\nTransfer-Encoding: chunked\r\n\r\n186a0\r\n" +
                              big + "\r\n0\r\n\r\n")),
            413);
}

TEST_F(HttpServerTest, ClosesOnAClientThatTricklesItsRequest) {
  // Plan: a client sends a byte, gets other requests answered, and sends the next byte. Every read
  // makes progress, but the whole request never arrives within the limit, and the connection is
  // closed then. The other requests take so long that no machine sends a header of the greatest
  // length within the limit.
  Start({.address = "127.0.0.1:0", .idle_timeout = milliseconds(300)});
  Client client(server_->port());
  std::thread trickle([&] {
    while (client.Send("G")) {
      for (int i = 0; i < 20; ++i) Fetch("/livez");
    }
  });
  bool closed = false;
  EXPECT_EQ(client.ReceiveAll(&closed), "") << "a request that never ends is not answered";
  trickle.join();
  EXPECT_TRUE(closed);
  EXPECT_EQ(server_->bounds().slow_requests, 1U);
}

TEST_F(HttpServerTest, AnIdleConnectionIsClosedAndNoSlowRequest) {
  // Plan: a client is answered and then sends nothing. It is closed after the limit, and not
  // counted.
  Start({.address = "127.0.0.1:0", .idle_timeout = milliseconds(100)});
  Client client(server_->port());
  client.Send("GET /livez HTTP/1.1\r\nHost: localhost\r\n\r\n");
  bool closed = false;
  EXPECT_EQ(StatusOf(client.ReceiveAll(&closed)), 200);
  EXPECT_TRUE(closed);
  EXPECT_EQ(server_->bounds().slow_requests, 0U);
}

TEST_F(HttpServerTest, ServesWhileFiveHundredConnectionsIdle) {
  // Plan: more idle connections than the server keeps for one user. Probes get through, and the
  // server never holds more than its limit: it closed the oldest ones.
  std::vector<Client> idle;
  for (int i = 0; i < 500; ++i) {
    idle.emplace_back(server_->port());
    ASSERT_TRUE(idle.back().connected());
  }
  EXPECT_EQ(StatusOf(Fetch("/livez")), 200);
  EXPECT_EQ(StatusOf(Fetch("/v1/shards")), 200);
  bool closed = false;
  idle.front().ReceiveAll(&closed);
  EXPECT_TRUE(closed) << "the one idle longest made room";
  EXPECT_GE(server_->bounds().clients, 500 - kMaxConnectionsOfClient);
  idle.back().Send("GET /livez HTTP/1.1\r\nHost: localhost\r\n\r\n");
  EXPECT_EQ(StatusOf(idle.back().Receive()), 200);
}

// Plan: connections of another user rest, as many as one client leaves. Then one user opens so many
// that all places together are not enough. It loses its own, and the other user's are still there.
TEST_F(HttpServerTest, AFloodOfOneUserTakesNoConnectionFromAnother) {
  if (geteuid() != 0) GTEST_SKIP() << "only root can have a socket of another user's";
  const auto served = [](Client& client) {
    client.Send("GET /livez HTTP/1.1\r\nHost: localhost\r\n\r\n");
    return StatusOf(client.Receive()) == 200;
  };
  setfsuid(4711);
  std::vector<Client> others;
  while (others.size() < kMaxConnections - kMaxConnectionsOfClient) {
    others.emplace_back(server_->port());
  }
  setfsuid(0);
  for (Client& other : others) ASSERT_TRUE(served(other));
  std::vector<Client> flood;
  for (std::size_t i = 0; i < 2 * kMaxConnections; ++i) flood.emplace_back(server_->port());
  EXPECT_TRUE(served(flood.back())) << "the newest of its own";
  for (Client& other : others) EXPECT_TRUE(served(other));
  EXPECT_EQ(server_->bounds().clients, 2 * kMaxConnections - kMaxConnectionsOfClient);
  EXPECT_EQ(server_->bounds().connections, 0U);
}

TEST_F(HttpServerTest, AReaderThatNeverReadsIsCutOff) {
  // Plan: a client asks for far more than socket buffers hold, and reads nothing. The server closes
  // the connection after the limit, so the client can then read less than the whole (whose size a
  // more patient server tells).
  Start({.address = "127.0.0.1:0"});
  runtime::NodeStatus status = TwoShards();
  status.shard_count = 200'000;
  status.shards.resize(200'000);
  control_.SetStatus(status);
  const std::string whole = Fetch("/v1/shards");
  ASSERT_GT(whole.size(), 10'000'000U);
  Start({.address = "127.0.0.1:0", .write_timeout = milliseconds(300)});
  Client client(server_->port());
  client.Send("GET /v1/shards HTTP/1.1\r\nHost: localhost\r\n\r\n");
  const auto patience = std::chrono::steady_clock::now() + std::chrono::seconds(60);
  while (server_->bounds().slow_readers == 0) {
    ASSERT_LT(std::chrono::steady_clock::now(), patience) << "it is never cut off";
    ASSERT_EQ(StatusOf(Fetch("/livez")), 200) << "the slow reader hurts nobody else";
  }
  EXPECT_THAT(Fetch("/metrics"), HasSubstr("bound=\"slow_reader\"} 1\n"));
  bool closed = false;
  EXPECT_LT(client.ReceiveAll(&closed).size(), whole.size());
  EXPECT_TRUE(closed);
}

TEST_F(HttpServerTest, SpeaksHttp10) {
  const std::string response = Exchange("GET /livez HTTP/1.0\r\n\r\n");
  EXPECT_TRUE(response.starts_with("HTTP/1.0 200 OK\r\n")) << response;
}

TEST_F(HttpServerTest, StopsWhileClientsWait) {
  // Plan: one client is idle, and one waits for a stuck node. The server stops within its limit.
  control_.Hold();
  Client idle(server_->port());
  Client waiting(server_->port());
  waiting.Send("GET /v1/shards HTTP/1.1\r\nHost: localhost\r\n\r\n");
  while (control_.waiting() == 0) std::this_thread::yield();
  server_.reset();
  bool closed = false;
  waiting.ReceiveAll(&closed);
  EXPECT_TRUE(closed);
  control_.Release();  // an answer that comes after the server was destroyed
}

TEST(HttpServer, SaysWhyItCannotListen) {
  auto first = HttpServer::Bind({.address = "127.0.0.1:0"});
  ASSERT_TRUE(first.ok());
  const std::string taken = first.value()->address();
  auto second = HttpServer::Bind({.address = taken});
  ASSERT_FALSE(second.ok());
  EXPECT_EQ(second.error().message, "can't listen on " + taken + ": Address already in use");
  auto malformed = HttpServer::Bind({.address = "7401"});
  ASSERT_FALSE(malformed.ok());
  EXPECT_EQ(malformed.error().code, ErrorCode::kInvalidArgument);
}

TEST(HttpServer, KeepsEarlyConnectionsUntilItServes) {
  // Plan: a client asks between Bind and Serve. It is answered when the server serves.
  auto bound = HttpServer::Bind({.address = "127.0.0.1:0"});
  ASSERT_TRUE(bound.ok());
  Client early(bound.value()->port());
  ASSERT_TRUE(early.Send("GET /livez HTTP/1.1\r\nHost: localhost\r\n\r\n"));
  FakeControl control;
  bound.value()->Serve(control, {});
  EXPECT_EQ(StatusOf(early.Receive()), 200);
}

// Two documents are being sent to clients that do not read, which uses the budget up. A third
// client is refused, and a small answer is not. Clients of the same document share it. Once the
// slow ones have gone, there is room again.
TEST_F(HttpServerTest, UnreadDocumentsShareABudget) {
  control_.SetStatus(ManyShards());
  const std::string whole = Fetch("/v1/shards");
  ASSERT_GT(whole.size(), 4u << 20) << "more than the kernel takes of it";
  Start({.address = "127.0.0.1:0", .most_unread = 1 << 20});
  std::vector<Client> slow;
  for (int i = 0; i < 2; ++i) {
    slow.emplace_back(server_->port());
    slow.back().Send("GET /v1/shards HTTP/1.1\r\nHost: localhost\r\n\r\n");
    while (!slow.back().Readable()) std::this_thread::yield();
  }
  EXPECT_EQ(StatusOf(Fetch("/v1/shards")), 200) << "the same document";
  const std::string refused = Fetch("/v1/overview");
  EXPECT_EQ(StatusOf(refused), 503);
  EXPECT_EQ(HeaderOf(refused, "Retry-After"), "5");
  EXPECT_EQ(StatusOf(Fetch("/v1/shards/7")), 200) << "a small one";
  EXPECT_GE(server_->bounds().bytes, 1u);
  slow.clear();
  int status = 503;
  while (status == 503) status = StatusOf(Fetch("/v1/overview"));
  EXPECT_EQ(status, 200);
}

// Plan: clients that read nothing of their answers have all places, and their time limit is far
// off. A probe gets through all the same, again and again, though another such client takes each
// place that it leaves.
TEST_F(HttpServerTest, ClientsThatReadNothingKeepNoProbeOut) {
  control_.SetStatus(ManyShards());
  Start({.address = "127.0.0.1:0", .write_timeout = std::chrono::minutes(10)});
  std::vector<Client> deaf;
  const auto begin = [&] {
    deaf.emplace_back(server_->port());
    deaf.back().Send("GET /v1/shards HTTP/1.1\r\nHost: localhost\r\n\r\n");
    while (!deaf.back().Readable()) std::this_thread::yield();
  };
  while (deaf.size() < kMaxConnections) begin();
  for (int probe = 0; probe < 3; ++probe) {
    const auto deadline = std::chrono::steady_clock::now() + std::chrono::seconds(60);
    int status = 0;
    while (status != 200 && std::chrono::steady_clock::now() < deadline) {
      status = StatusOf(Fetch("/readyz"));
    }
    EXPECT_EQ(status, 200);
    begin();
  }
  EXPECT_EQ(server_->bounds().slow_readers, 0U);
}

// Plan: reading is restricted, and the server's own user closes its sending side at once.
TEST_F(HttpServerTest, ACallerWhoClosedItsSendingSideIsKnown) {
  const auto access = std::make_shared<access::Access>(access::Access::Defaults{});
  access->SetRules({.users = {}, .this_host = access::Role::kProbe, .other_hosts = {}});
  Start({.address = "127.0.0.1:0", .access = access});
  Client client(server_->port());
  client.Send("GET /v1/status HTTP/1.1\r\nHost: localhost\r\n\r\n");
  client.CloseSending();
  EXPECT_THAT(client.ReceiveAll(), StartsWith("HTTP/1.1 200"));
}

// Plan: this user may only probe. The metrics say how often somebody was denied, once this user may
// read them again.
TEST_F(HttpServerTest, WhoMayNotReadGetsProbesAlone) {
  const auto access = std::make_shared<access::Access>(access::Access::Defaults{});
  Start({.address = "127.0.0.1:0", .access = access});
  EXPECT_THAT(Fetch("/v1/status"), StartsWith("HTTP/1.1 200"));
  access->SetRules({.users = {{geteuid(), access::Role::kProbe}}});
  for (const char* path : {"/livez", "/readyz", "/shards/1/leader", "/", "/page/main.js"}) {
    EXPECT_THAT(Fetch(path), Not(StartsWith("HTTP/1.1 403"))) << path;
  }
  const char* const closed[] = {"/metrics",           "/metrics/shards",  "/v1/shards",
                                "/v1/shards/1",       "/v1/status",       "/v1/overview",
                                "/v1/events?after=0", "/v1/lookup?key=k", "/nothing"};
  for (const char* path : closed) {
    const std::string answer = Fetch(path);
    EXPECT_THAT(answer, StartsWith("HTTP/1.1 403")) << path;
    EXPECT_THAT(answer, HasSubstr("it needs the role read")) << path;
  }
  EXPECT_EQ(server_->bounds().denied, std::size(closed));
  access->SetRules({.users = {{geteuid(), access::Role::kNone}}});
  for (const char* path : {"/livez", "/readyz"}) {
    EXPECT_THAT(Fetch(path), Not(StartsWith("HTTP/1.1 403"))) << path;
  }
  for (const char* path : {"/shards/1/leader", "/", "/page/main.js", "/v1/status", "/nothing"}) {
    EXPECT_THAT(Fetch(path), StartsWith("HTTP/1.1 403")) << path;
  }
  access->SetRules({});
  EXPECT_THAT(Fetch("/v1/status"), StartsWith("HTTP/1.1 200"));
}

// Plan: the same question under names of this server and of others, by pages of this origin and of
// others; for probes the name does not matter. The rules are in foreign_test.cc.
TEST_F(HttpServerTest, RefusesRequestsForOtherHostsAndOfForeignPages) {
  Start({.address = "127.0.0.1:0", .names = {"node.example"}});
  const auto ask = [&](const std::string& headers, const std::string& path = "/v1/status") {
    Client client(server_->port());
    client.Send("GET " + path + " HTTP/1.1\r\n" + headers + "\r\n");
    return StatusOf(client.Receive());
  };
  const std::string own = "Host: 127.0.0.1:7401\r\n";
  EXPECT_EQ(ask(own), 200);
  EXPECT_EQ(ask("Host: node.example\r\n"), 200);
  EXPECT_EQ(ask("Host: evil.example:7401\r\nOrigin: http://evil.example:7401\r\n"), 421);
  EXPECT_EQ(ask("Host: evil.example\r\n", "/livez"), 200);
  EXPECT_EQ(ask(own + "Host: evil.example\r\n"), 400);
  EXPECT_EQ(ask(own + "Origin: http://evil.example\r\n"), 403);
  EXPECT_EQ(ask(own + "Sec-Fetch-Site: cross-site\r\nSec-Fetch-Mode: no-cors\r\n"), 403);
  EXPECT_EQ(server_->bounds().foreign, 4U);
}

// Plan: the paths that the server names to those who ask for another one.
TEST_F(HttpServerTest, EachPathHasARow) {
  Start({.address = "127.0.0.1:0"});
  const std::string answer = Fetch("/nothing");
  const std::string before = "expected one of ";
  std::istringstream paths(answer.substr(answer.find(before) + before.size()));
  int rows = 0;
  for (std::string path; paths >> path && path.starts_with('/'); ++rows) {
    path = path.substr(0, path.find_first_of("?\""));
    if (const auto number = path.find("{s}"); number != std::string::npos) {
      path.replace(number, 3, "7");
    }
    EXPECT_TRUE(access::DemandOfPath(path)) << path << " needs a row in src/access/access.cc";
  }
  EXPECT_EQ(rows, 13);
}

// Plan: a reader has used its questions up. It is told to come back later; probes go on.
TEST_F(HttpServerTest, WhoAsksTooOftenIsToldToComeBack) {
  const auto access = std::make_shared<access::Access>(access::Access::Defaults{});
  access->SetRules({.users = {{geteuid(), access::Role::kRead}}});
  Start({.address = "127.0.0.1:0", .access = access});
  const access::Caller self{.peer = "ipv4:127.0.0.1:5", .user = geteuid()};
  std::string answer;
  do {  // a slow machine has a new question by then
    while (!access->RefuseRead(self, access::kUnknownPath, "/nothing")) {
    }
    answer = Fetch("/nothing");
  } while (StatusOf(answer) == 404);
  EXPECT_EQ(StatusOf(answer), 429);
  EXPECT_EQ(HeaderOf(answer, "Retry-After"), "1");
  EXPECT_THAT(answer, HasSubstr("asks too often: at most 50 questions a second"));
  EXPECT_EQ(StatusOf(Fetch("/livez")), 200);
  EXPECT_GE(access->limited(access::CallLimits::Kind::kRead), 1U);
  EXPECT_EQ(server_->bounds().denied, 0U);
  access->SetRules({});
  EXPECT_EQ(StatusOf(Fetch("/nothing")), 404) << "this user may make changes now";
}

TEST(Response, ErrorsAreJsonWhateverTheySay) {
  EXPECT_EQ(*JsonError(403, "cn:a\"b\\c").body, "{\"error\":\"cn:a\\\"b\\\\c\"}\n");
}

}  // namespace
}  // namespace baton::http
