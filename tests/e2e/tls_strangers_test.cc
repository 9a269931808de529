// A node whose ports require certificates, and those who have none that counts: what they reach,
// what they cost, and how they lose connections that they have.
#include <grpc/grpc_security.h>
#include <time.h>

#include <atomic>
#include <chrono>
#include <csignal>
#include <cstdint>
#include <filesystem>
#include <fstream>
#include <future>
#include <iostream>
#include <iterator>
#include <memory>
#include <mutex>
#include <stop_token>
#include <string>
#include <string_view>
#include <thread>
#include <utility>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <grpcpp/grpcpp.h>
#include <boost/asio/error.hpp>

#include "baton/credentials.h"
#include "baton/router.h"
#include "baton/v1/admin.grpc.pb.h"
#include "baton/v1/routing.grpc.pb.h"
#include "e2e/bad_input.h"
#include "e2e/cluster.h"
#include "e2e/http2.h"
#include "http/client.h"
#include "http/secure_client.h"
#include "lab/certificates.h"

namespace baton::e2e {
namespace {

namespace fs = std::filesystem;
using lab::Issuer;
using testing::HasSubstr;
using testing::StartsWith;

/// The processor time that a process has used so far.
Duration ProcessorTimeOf(pid_t pid) {
  clockid_t clock{};
  timespec used{};
  if (clock_getcpuclockid(pid, &clock) != 0 || clock_gettime(clock, &used) != 0) {
    throw Unmet("the node has no processor time");
  }
  return std::chrono::seconds(used.tv_sec) + std::chrono::nanoseconds(used.tv_nsec);
}

std::size_t CountIn(const std::string& text, std::string_view what) {
  std::size_t count = 0;
  for (auto at = text.find(what); at != std::string::npos; at = text.find(what, at + 1)) ++count;
  return count;
}

/// A block of headers as one frame and many small ones that go on.
std::string InPieces(const std::string& block) {
  constexpr std::size_t kPiece = 256;
  std::string frames = FrameOf({kHeaders, 0, 1}, block.substr(0, kPiece));
  for (std::size_t at = kPiece; at < block.size(); at += kPiece) {
    const char last = at + kPiece >= block.size() ? kEndOfHeaders : 0;
    frames += FrameOf({kContinuation, last, 1}, block.substr(at, kPiece));
  }
  return frames;
}

/// A whole call of a method whose request may be empty.
std::string WholeCall(const CallHeaders& headers) {
  return Http2Greeting() + FrameOf({kSettings, kAck}) +
         FrameOf({kHeaders, kEndOfHeaders, 1}, headers.Encoded()) +
         FrameOf({kData, kEndOfStream, 1}, std::string(5, '\0'));
}

/// Reads until `text` has come. False: the connection ended, or nothing came in time.
bool Hears(http::SecureClient& client, const std::string& text) {
  std::string heard;
  while (heard.find(text) == std::string::npos) {
    heard += client.ReceiveSome();
    if (client.error()) return false;
  }
  return true;
}

class Strangers : public testing::Test {
 protected:
  ~Strangers() override {
    std::error_code ignored;
    fs::remove_all(folder_, ignored);
  }

  /// Starts a node that requires certificates of `clients_`, and waits until it leads.
  const NodeProcess& Begin(const std::vector<std::string>& more = {}) {
    Put("node", servers_.Issue("node", "IP:127.0.0.1"));
    Put("ca.pem", clients_.pem());
    Put("access.yaml", "rules: [{certificate: \"cn:operator\", role: operate}]\n");
    std::vector<std::string> flags = {
        "--tls-cert",      folder_ + "/node.pem", "--tls-key", folder_ + "/node.key",
        "--tls-client-ca", folder_ + "/ca.pem",   "--access",  folder_ + "/access.yaml"};
    flags.insert(flags.end(), more.begin(), more.end());
    node_ = &cluster_.Start("n1", flags);
    cluster_.Await("the node leads", [&] { return Ctl("operator", {"health"}).exit == 0; });
    return *node_;
  }
  /// Ends the node in order.
  void End() {
    NodeProcess& node = cluster_.node("n1");
    node.Signal(SIGTERM);
    ASSERT_TRUE(node.WaitExit().has_value());
  }
  /// In one step, as those who renew certificates do.
  void Put(const std::string& name, const std::string& content) const {
    std::ofstream(folder_ + "/next") << content;
    fs::rename(folder_ + "/next", folder_ + "/" + name);
  }
  void Put(const std::string& name, const PemTexts& texts) const {
    Put(name + ".key", texts.key);
    Put(name + ".pem", texts.cert);
  }
  /// A client's certificate to show, and the servers that it trusts.
  PemTexts As(PemTexts shown) const {
    shown.ca = servers_.pem();
    return shown;
  }
  PemTexts Nobody() const { return As({}); }
  PemTexts Operator() const { return As(clients_.Issue("operator")); }
  PemTexts Expired() const { return As(clients_.Issue("operator", "", -std::chrono::hours(1))); }

  app::Ran CtlAs(const PemTexts& texts, std::vector<std::string> words) const {
    Put("caller", texts);
    Put("servers.pem", texts.ca);
    for (const auto& [flag, file] :
         {std::pair{"--tls-ca", "/servers.pem"}, std::pair{"--tls-cert", "/caller.pem"},
          std::pair{"--tls-key", "/caller.key"}}) {
      words.insert(words.end(), {flag, folder_ + file});
    }
    return cluster_.Ctl("n1", words);
  }
  app::Ran Ctl(const std::string& name, const std::vector<std::string>& words) const {
    return CtlAs(As(clients_.Issue(name)), words);
  }
  std::string Fetch(const PemTexts& texts, const std::string& target) const {
    return http::SecureClient(node_->http_port(), texts).Get(target);
  }
  std::uint16_t grpc_port() const { return PortOf(node_->endpoint()); }
  std::unique_ptr<v1::AdminService::Stub> StubOf(const PemTexts& texts,
                                                 grpc::ChannelArguments arguments = {}) const {
    arguments.SetInt(GRPC_ARG_USE_LOCAL_SUBCHANNEL_POOL, 1);
    return v1::AdminService::NewStub(
        grpc::CreateCustomChannel(node_->endpoint(),
                                  grpc::SslCredentials({.pem_root_certs = texts.ca,
                                                        .pem_private_key = texts.key,
                                                        .pem_cert_chain = texts.cert}),
                                  arguments));
  }
  void AwaitLogged(const std::string& words, std::size_t times = 1) {
    cluster_.Await("the node says: " + words,
                   [&] { return CountIn(node_->Log(), words) >= times; });
  }
  void ExpectNoLeaseLost() const {
    EXPECT_EQ(node_->Log().find("suspended"), std::string::npos);
    EXPECT_EQ(node_->Log().find("session lost"), std::string::npos);
  }

  const Issuer clients_{"clients"};
  const Issuer servers_{"servers"};
  const std::string folder_ = FreshFolder();
  Cluster cluster_{SharedEtcd(), {.shards = 4, .ttl = kShortLease}};
  const NodeProcess* node_ = nullptr;
};

// CVE-2023-33953: gRPC 1.51 takes seconds of processor time for a header that comes in small
// pieces. Plan: strangers without a certificate begin handshakes; then as many send such headers
// besides. These cost the node no more than their handshakes.
TEST_F(Strangers, AHeaderInPiecesNeverReachesTheParser) {
  constexpr int kStrangers = 20;
  const NodeProcess& node = Begin();
  const auto cost = [&](const std::string& bytes) {
    const Duration before = ProcessorTimeOf(node.pid());
    for (int i = 0; i < kStrangers; ++i) {
      http::SecureClient stranger(grpc_port(), Nobody(), "h2");
      stranger.Send(bytes);
      EXPECT_EQ(stranger.ReceiveAll(), "");
      EXPECT_TRUE(stranger.error());
      EXPECT_NE(stranger.error(), boost::asio::error::timed_out) << "the connection is open";
    }
    return ProcessorTimeOf(node.pid()) - before;
  };
  const CallHeaders headers{.more = Header("x-pad", std::string(512 << 10, 'a'))};
  const Duration handshakes = cost("");
  const Duration attacks = cost(Http2Greeting() + InPieces(headers.Encoded()));
  EXPECT_LT(attacks, 4 * handshakes);
  EXPECT_EQ(Ctl("operator", {"status"}).exit, 0);
  ExpectNoLeaseLost();
}

// CVE-2023-1428 (AbortingHeaders) over TLS. Plan: the node requires certificates, then it only asks
// for them. Each form comes from callers with and without one. If it is required, the others end in
// their handshakes. Else callers are closed who acknowledged the limit of headers, and those who
// did not may go on; nothing ends the node.
TEST_F(Strangers, HeadersThatAbortedOtherGrpcsAbortNothingOverTls) {
  constexpr const char* kPong = "are you?";  // a ping has eight bytes, which its answer repeats
  for (const char* asked : {"require", "ask"}) {
    const NodeProcess& node = Begin({"--tls-client-auth", asked});
    const pid_t pid = node.pid();
    const bool required = std::string_view(asked) == "require";
    for (const auto& [name, headers] : AbortingHeaders("https")) {
      const std::string frames =
          FrameOf({kHeaders, kEndOfHeaders, 1}, headers) + FrameOf({kPing}, kPong);
      for (const PemTexts& shown : {Operator(), Nobody()}) {
        const bool gets_in = !required || !shown.cert.empty();
        SCOPED_TRACE(name + (shown.cert.empty() ? " without" : " with"));
        http::SecureClient honest(grpc_port(), shown, "h2");
        honest.Send(Http2Greeting());
        EXPECT_EQ(!honest.ReceiveSome().empty(), gets_in);
        honest.Send(FrameOf({kSettings, kAck}) + frames);
        honest.ReceiveAll();
        EXPECT_TRUE(honest.error());
        EXPECT_NE(honest.error(), boost::asio::error::timed_out) << "the connection is open";
        http::SecureClient silent(grpc_port(), shown, "h2");
        silent.Send(Http2Greeting() + frames);
        EXPECT_EQ(Hears(silent, kPong), gets_in);
        ASSERT_TRUE(node_->running());
      }
    }
    EXPECT_EQ(Ctl("operator", {"status"}).exit, 0);
    EXPECT_EQ(node.pid(), pid);
    ExpectNoLeaseLost();
    End();
  }
}

// A page can't set the header `te`, and a browser can't send HTTP/2's preface but as the content
// of a request. Plan: with an operator's certificate, as a browser that has one in its store, the
// same call in each of these forms, at each port. None is carried out; the call as a client sends
// it is.
TEST_F(Strangers, ABrowserCannotCall) {
  Begin();
  const PemTexts own = Operator();
  constexpr const char* kPong = "are you?";  // a ping has eight bytes, which its answer repeats
  http::SecureClient without(grpc_port(), own, "h2");
  without.Send(WholeCall({.method = "PauseBalance", .scheme = "https", .te = ""}) +
               FrameOf({kPing}, kPong));
  EXPECT_TRUE(Hears(without, kPong));
  const std::string call = WholeCall({.method = "PauseBalance", .scheme = "https"});
  const std::string wrapped =
      "POST / HTTP/1.1\r\nHost: localhost\r\nContent-Length: " + std::to_string(call.size()) +
      "\r\n\r\n" + call;
  for (const char* protocol : {"", "http/1.1", "h2"}) {
    http::SecureClient to_grpc(grpc_port(), own, protocol);
    to_grpc.Send(wrapped);
    to_grpc.ReceiveAll();
    EXPECT_TRUE(to_grpc.error()) << protocol;
    EXPECT_NE(to_grpc.error(), boost::asio::error::timed_out) << protocol;
    http::SecureClient to_http(node_->http_port(), own, protocol);
    to_http.Send(wrapped);
    EXPECT_THAT(to_http.ReceiveSome(), StartsWith("HTTP/1.1 4")) << protocol;
  }
  http::SecureClient client(grpc_port(), own, "h2");
  client.Send(call);
  EXPECT_TRUE(Hears(client, "grpc-status"));
  AwaitLogged("change verb=PauseBalance");
  EXPECT_EQ(CountIn(node_->Log(), "change verb=PauseBalance"), 1U);
}

// Plan: a client's certificate that has expired, over gRPC and HTTP. Then the node itself has one.
TEST_F(Strangers, AnExpiredCertificateGetsNobodyAnywhere) {
  Begin();
  EXPECT_EQ(CtlAs(Operator(), {"status"}).exit, 0);
  EXPECT_THAT(Fetch(Operator(), "/livez"), StartsWith("HTTP/1.1 200"));
  EXPECT_EQ(CtlAs(Expired(), {"status"}).exit, 3);
  EXPECT_EQ(Fetch(Expired(), "/livez"), "");

  Put("node", servers_.Issue("node", "IP:127.0.0.1", -std::chrono::hours(1)));
  AwaitLogged("the certificates of --tls-cert have changed in their files");
  AwaitLogged("the ports' certificate has ended, at");
  const app::Ran refused = CtlAs(Operator(), {"status"});
  EXPECT_EQ(refused.exit, 3) << refused.out;
  EXPECT_EQ(Fetch(Operator(), "/livez"), "");
  ExpectNoLeaseLost();
}

// Plan: an operator's certificate expires while its connection is open, and while it has a session
// to resume. The open connection may do nothing any more, nor may one that resumes the session; and
// soon none is resumed. On a slow machine a certificate may expire before the first call: then
// another one is valid for longer.
TEST_F(Strangers, AnExpiredCertificateLosesItsConnectionsAndItsSessions) {
  Begin();
  grpc_ssl_session_cache* const sessions = grpc_ssl_session_cache_create_lru(4);
  const auto connect = [&](const PemTexts& texts) {
    const grpc_arg made = grpc_ssl_session_cache_create_channel_arg(sessions);
    grpc::ChannelArguments arguments;
    arguments.SetPointerWithVtable(made.key, made.value.pointer.p, made.value.pointer.vtable);
    return StubOf(texts, std::move(arguments));
  };
  const auto resume = [](v1::AdminService::Stub& stub) {
    grpc::ClientContext context;
    context.set_deadline(std::chrono::system_clock::now() + std::chrono::seconds(60));
    v1::ResumeBalanceResponse response;
    return stub.ResumeBalance(&context, {}, &response).error_code();
  };
  PemTexts texts;
  std::unique_ptr<v1::AdminService::Stub> open;
  auto said = grpc::StatusCode::UNAVAILABLE;
  for (std::chrono::seconds valid{4}; said != grpc::StatusCode::OK && valid.count() < 100;
       valid *= 2) {
    texts = As(clients_.Issue("operator", "", valid));
    open = connect(texts);
    said = resume(*open);
  }
  ASSERT_EQ(said, grpc::StatusCode::OK);
  cluster_.Await("the certificate expires", [&] {
    said = resume(*open);
    return said != grpc::StatusCode::OK;
  });
  EXPECT_EQ(said, grpc::StatusCode::UNAUTHENTICATED);
  // Each of these gets a new ticket, for as long as it is resumed.
  cluster_.Await("no session is resumed", [&] {
    const auto again = resume(*connect(texts));
    EXPECT_TRUE(again == grpc::StatusCode::UNAUTHENTICATED ||
                again == grpc::StatusCode::UNAVAILABLE)
        << again;
    return again == grpc::StatusCode::UNAVAILABLE;
  });
  EXPECT_EQ(CtlAs(Operator(), {"status"}).exit, 0);
  grpc_ssl_session_cache_destroy(sessions);
}

// Plan: four strangers begin handshakes with what does not count, at both ports, for three leases'
// time, and as often as they can. The log gets one line about it, the node keeps its lease, and an
// operator gets in meanwhile. The test says how often they tried: the machine decides that.
TEST_F(Strangers, FailingHandshakesFillNoLogAndCostNoLease) {
  const NodeProcess& node = Begin();
  const PemTexts foreign = As(Issuer("clients").Issue("operator"));
  const std::vector<PemTexts> shown = {Nobody(), Expired(), foreign};
  constexpr int kAtLeast = 5;  // each of them, also on a slow machine
  const TimePoint began = BootClock::now();
  const TimePoint until = began + 3 * cluster_.ttl();
  std::atomic<int> tried{0};
  {
    std::vector<std::jthread> strangers;
    for (int i = 0; i < 4; ++i) {
      strangers.emplace_back([&, port = i % 2 == 0 ? grpc_port() : node.http_port()] {
        for (int turn = 0; turn < kAtLeast || BootClock::now() < until; ++turn) {
          http::SecureClient stranger(port, shown[turn % shown.size()], "h2");
          EXPECT_EQ(stranger.ReceiveAll(), "");
          const Socket garbage(port);
          garbage.Send("GET / HTTP/1.1\r\n\r\n");
          ++tried;
        }
      });
    }
    while (BootClock::now() < until) {
      EXPECT_EQ(Ctl("operator", {"pause"}).exit, 0);
      EXPECT_EQ(Ctl("operator", {"resume"}).exit, 0);
    }
  }
  const auto took = std::chrono::duration_cast<std::chrono::milliseconds>(BootClock::now() - began);
  std::cout << tried << " failing handshakes, and as many requests without TLS, in " << took.count()
            << " ms\n";
  RecordProperty("handshakes", tried);
  const std::string log = node.Log();
  EXPECT_EQ(CountIn(log, "library=grpc"), 1U) << log;
  ExpectNoLeaseLost();
  EXPECT_EQ(Ctl("operator", {"health"}).exit, 0);
}

// Plan: connections last a second. A client follows events over gRPC, one over HTTP, and one keeps
// a connection for requests. Their authority is replaced: all three lose their connections, the
// feed with its next heartbeat, and get no new one. Those of the new authority get in.
TEST_F(Strangers, AnOldAuthorityLosesItsConnectionsAfterTheirAge) {
  Begin({"--tls-max-age", "1s"});
  const PemTexts earlier = Operator();
  const auto stub = StubOf(earlier);
  grpc::ClientContext context;
  const auto stream = stub->WatchEvents(&context, v1::WatchEventsRequest{});
  http::SecureClient feed(node_->http_port(), earlier);
  feed.Send("GET /v1/events HTTP/1.1\r\nHost: localhost\r\nAccept: text/event-stream\r\n\r\n");
  ASSERT_THAT(feed.ReceiveSome(), StartsWith("HTTP/1.1 200"));
  const std::string request = "GET /livez HTTP/1.1\r\nHost: localhost\r\n\r\n";
  http::SecureClient kept(node_->http_port(), earlier);
  kept.Send(request);
  ASSERT_THAT(kept.ReceiveSome(), StartsWith("HTTP/1.1 200"));

  const Issuer later("later");
  Put("ca.pem", later.pem());
  AwaitLogged("the certificates of --tls-cert have changed in their files");
  auto ended = std::async(std::launch::async, [&] {
    v1::WatchEventsResponse response;
    while (stream->Read(&response)) {
    }
    return stream->Finish();
  });
  feed.ReceiveAll();
  EXPECT_NE(feed.error(), boost::asio::error::timed_out) << "the feed is open";
  ASSERT_EQ(ended.wait_for(kPatience), std::future_status::ready) << "the stream is open";
  EXPECT_FALSE(ended.get().ok());
  // Over a connection that is too old a request gets the last answer.
  kept.Send(request);
  kept.ReceiveAll();
  EXPECT_TRUE(kept.error());
  EXPECT_NE(kept.error(), boost::asio::error::timed_out) << "the connection is open";

  grpc::ClientContext again;
  v1::WhoAmIResponse who;
  EXPECT_EQ(stub->WhoAmI(&again, v1::WhoAmIRequest{}, &who).error_code(),
            grpc::StatusCode::UNAVAILABLE);
  EXPECT_EQ(CtlAs(earlier, {"whoami"}).exit, 3);
  EXPECT_EQ(Fetch(earlier, "/livez"), "");
  const PemTexts next = As(later.Issue("operator"));
  EXPECT_EQ(CtlAs(next, {"whoami"}).out, "cn:operator: operate\n");
  EXPECT_THAT(Fetch(next, "/livez"), StartsWith("HTTP/1.1 200"));
  ExpectNoLeaseLost();
}

// Plan: connections last a second. A router follows the node's routes, and calls the leader, the
// same node, again and again. Its connections reach their age. Then the authority of clients is
// replaced: first both count, then the router gets a certificate of the new one, then the earlier
// one goes. The stream of routes goes on each time, and no call fails.
TEST_F(Strangers, ARouterLosesNoCallAsItsConnectionsReachTheirAge) {
  Begin({"--tls-max-age", "1s"});
  Put("router", clients_.Issue("operator"));
  Put("router-ca.pem", servers_.pem());
  const auto credentials = GroupCredentials::FromFiles({.ca_file = folder_ + "/router-ca.pem",
                                                        .servers = {"cn:node"},
                                                        .cert_file = folder_ + "/router.pem",
                                                        .key_file = folder_ + "/router.key"});
  ASSERT_TRUE(credentials.ok()) << credentials.error().message;
  const auto router = Router::Start({.group = cluster_.group(),
                                     .endpoints = {node_->endpoint()},
                                     .group_credentials = *credentials});
  ASSERT_TRUE(router.ok()) << router.error().message;
  ASSERT_TRUE((*router)->WaitReady(kPatience).ok()) << (*router)->Age().problem;
  std::mutex mutex;
  std::vector<std::string> failures;
  std::vector<std::jthread> callers;
  for (const std::uint32_t shard : {0U, 1U}) {
    callers.emplace_back([&, shard](const std::stop_token& stop) {
      v1::LookupRequest request;
      request.set_shard(shard);
      while (!stop.stop_requested()) {
        v1::LookupResponse response;
        const grpc::Status status =
            (*router)->Call(ShardId{shard}, &v1::RoutingService::Stub::Lookup, request, &response,
                            {.deadline = kPatience});
        if (status.ok()) continue;
        const std::lock_guard lock(mutex);
        return failures.push_back(status.error_message());
      }
    });
  }
  const auto await_streams = [&](std::uint64_t more) {
    const std::uint64_t enough = (*router)->counters().resumes + more;
    cluster_.Await("the stream of routes goes on over another connection",
                   [&] { return (*router)->counters().resumes >= enough; });
  };
  await_streams(1);
  const Issuer later("later");
  Put("ca.pem", clients_.pem() + later.pem());
  AwaitLogged("the certificates of --tls-cert have changed in their files", 1);
  const auto earlier = (*credentials)->Get();
  Put("router", later.Issue("operator"));
  cluster_.Await("the router has the new certificate",
                 [&] { return (*credentials)->Get() != earlier; });
  Put("ca.pem", later.pem());
  AwaitLogged("the certificates of --tls-cert have changed in their files", 2);
  await_streams(2);
  callers.clear();  // asks them to stop, and waits for them
  EXPECT_THAT(failures, testing::IsEmpty());
  const RouterCounters counters = (*router)->counters();
  EXPECT_GT(counters.ok, 0U);
  EXPECT_EQ(counters.snapshots, 1U);
  RecordProperty("calls", static_cast<int>(counters.ok));
  RecordProperty("attempts", static_cast<int>(counters.attempts));
  ExpectNoLeaseLost();
}

// Plan: one authority signs for the nodes of two groups. With the names of its group's servers,
// batonctl believes these alone, at any address.
TEST_F(Strangers, BatonctlBelievesTheServersOfItsGroupAlone) {
  Begin();
  Put("node", servers_.Issue("node", "URI:spiffe://example.org/orders/node/n1"));
  AwaitLogged("the certificates of --tls-cert have changed in their files");
  const auto ran = [&](const std::vector<std::string>& words) {
    std::vector<std::string> all = {"whoami"};
    all.insert(all.end(), words.begin(), words.end());
    return CtlAs(Operator(), all);
  };
  EXPECT_EQ(ran({}).exit, 3) << "its certificate does not have the address";
  const std::string ours = "spiffe://example.org/orders/node/*";
  const std::string others = "spiffe://example.org/users/node/*";
  EXPECT_EQ(ran({"--tls-servers", ours}).out, "cn:operator: operate\n");
  EXPECT_EQ(ran({"--tls-servers", others + "," + ours}).exit, 0);
  const app::Ran foreign = ran({"--tls-servers", others});
  EXPECT_EQ(foreign.exit, 3);
  EXPECT_THAT(foreign.err, HasSubstr("--tls-servers"));
  const app::Ran misnamed = ran({"--tls-servers", "orders"});
  EXPECT_EQ(misnamed.exit, 2);
  EXPECT_THAT(misnamed.err, HasSubstr("\"orders\" can't name a server's certificate"));
  EXPECT_EQ(ran({"--tls-servers", ours, "--tls-name", "n1"}).exit, 2);
}

/// The files and sockets that a process has open.
std::ptrdiff_t DescriptorsOf(pid_t pid) {
  const fs::directory_iterator all("/proc/" + std::to_string(pid) + "/fd");
  return std::distance(fs::begin(all), fs::end(all));
}

// Plan: a feed over HTTP and a stream over gRPC are open while the files of the certificate change
// ten times, as fast as the node notices. New connections get the newest one, and no descriptor
// stays. At the end both hear of one change. (A thousand changes: ServerTlsTest, HttpTlsTest.)
TEST_F(Strangers, FeedsAndStreamsSurviveReloads) {
  const NodeProcess& node = Begin();
  const PemTexts own = Operator();
  http::SecureClient feed(node.http_port(), own);
  feed.Send("GET /v1/events HTTP/1.1\r\nHost: localhost\r\nAccept: text/event-stream\r\n\r\n");
  ASSERT_TRUE(Hears(feed, "\"seq\":4,")) << "each shard was gained";
  const auto stub = StubOf(own);
  grpc::ClientContext context;
  const auto stream = stub->WatchEvents(&context, v1::WatchEventsRequest{});
  stream->WaitForInitialMetadata();
  const auto open = DescriptorsOf(node.pid());
  for (std::size_t i = 1; i <= 10; ++i) {
    const Issuer issuer("servers");
    Put("node", issuer.Issue("node", "IP:127.0.0.1"));
    AwaitLogged("the certificates of --tls-cert have changed in their files", i);
    PemTexts caller = own;
    EXPECT_EQ(Fetch(caller, "/livez"), "") << "the earlier certificate is shown";
    caller.ca = issuer.pem();
    EXPECT_THAT(Fetch(caller, "/livez"), StartsWith("HTTP/1.1 200"));
    EXPECT_EQ(CtlAs(caller, {i % 2 == 1 ? "pause" : "resume"}).exit, 0);
  }
  ASSERT_TRUE(Hears(feed, "\"seq\":14,"));
  std::string changes;
  v1::WatchEventsResponse response;
  while (CountIn(changes, " ") < 10 && stream->Read(&response)) {
    for (const v1::Event& event : response.events()) changes += std::to_string(event.seq()) + " ";
  }
  EXPECT_EQ(changes, "5 6 7 8 9 10 11 12 13 14 ");
  context.TryCancel();
  cluster_.Await("no descriptor stays", [&] { return DescriptorsOf(node.pid()) <= open; });
}

}  // namespace
}  // namespace baton::e2e
