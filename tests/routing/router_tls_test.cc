// A router over TLS: credentials that are replaced while it follows and calls, and servers of other
// groups.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <chrono>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <functional>
#include <future>
#include <memory>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "base/grpc/server_tls.h"
#include "baton/credentials.h"
#include "baton/router.h"
#include "lab/certificates.h"
#include "routing/client/channel_cache.h"
#include "routing/scripted_routes.h"

namespace baton::routing {
namespace {

using lab::Issuer;
using ::testing::ElementsAre;
using ::testing::HasSubstr;

std::shared_ptr<grpc::ChannelCredentials> CredentialsOf(const PemTexts& texts) {
  return grpc::SslCredentials(
      {.pem_root_certs = texts.ca, .pem_private_key = texts.key, .pem_cert_chain = texts.cert});
}

std::shared_ptr<grpc::ServerCredentials> ServerCredentialsOf(const PemTexts& texts) {
  auto identity = ServerIdentity::Create(texts, ClientCertificates::kRequire);
  EXPECT_TRUE(identity.ok()) << identity.error().message;
  return TlsServerCredentials(*identity);
}

/// Calls the leader of shard 0. Returns who it says the caller is, or the error.
std::string Ask(Router& router) {
  v1::LookupRequest request;
  v1::LookupResponse response;
  const grpc::Status status = router.Call(ShardId{0}, &v1::RoutingService::Stub::Lookup, request,
                                          &response, {.deadline = kPatience});
  return status.ok() ? response.group() : status.error_message();
}

// Plan: while a call is in flight the credentials change. The call ends over the earlier
// connection, the next one goes over a new one, and the stream of routes goes on at its revision.
TEST(Router, UsesNewCredentialsForNewCallsAndItsStream) {
  const Issuer issuer("authority");
  ScriptedRoutes server(0, ServerCredentialsOf(issuer.Issue("server", "IP:127.0.0.1")));
  std::promise<void> arrived;
  std::promise<void> released;
  server.Handle(
      [&](grpc::ServerContext& context, const v1::LookupRequest&, v1::LookupResponse* response) {
        response->set_group(CertifiedAs(context));
        if (response->group() == "first") {
          arrived.set_value();
          released.get_future().wait();
        }
        return grpc::Status::OK;
      });
  server.Greet(First({}, 10, {{0, "a", 10, 10, v1::Route::STATE_LED, server.address()}}));
  const auto router = Router::Start({.group = "orders",
                                     .endpoints = {server.address()},
                                     .credentials = CredentialsOf(issuer.Issue("first"))});
  ASSERT_TRUE(router.ok());
  std::string slow;
  std::thread caller([&] { slow = Ask(**router); });
  arrived.get_future().wait();
  (*router)->SetCredentials(CredentialsOf(issuer.Issue("second")));
  EXPECT_EQ(Ask(**router), "second");
  EXPECT_TRUE(server.AwaitStreams(2));
  EXPECT_THAT(server.StreamCallers(), ElementsAre("first", "second"));
  EXPECT_EQ(server.Requests().back().after_revision(), 10);
  EXPECT_TRUE(Until([&] { return (*router)->counters().resumes == 1; }));
  server.Send(Delta(11, {{1, "b", 11, 11}}));
  EXPECT_TRUE(Until([&] { return (*router)->Owner(ShardId{1}).leader == "b"; }));
  released.set_value();
  caller.join();
  EXPECT_EQ(slow, "first");
  const RouterCounters counters = (*router)->counters();
  EXPECT_EQ(counters.attempts, 2u);
  EXPECT_EQ(counters.ok, 2u);
  EXPECT_EQ(counters.snapshots, 1u);
}

// Plan: the router connects to 127.0.0.1 for localhost. The server's certificate has only this
// name, and the router must compare it: a server with another name gets no call.
TEST(Router, ExpectsTheNameLocalhostOfAServerThere) {
  const Issuer issuer("authority");
  for (const char* const name : {"localhost", "other"}) {
    ScriptedRoutes server(0,
                          ServerCredentialsOf(issuer.Issue("server", std::string("DNS:") + name)));
    server.Handle([](grpc::ServerContext&, const v1::LookupRequest&, v1::LookupResponse* response) {
      response->set_group("called");
      return grpc::Status::OK;
    });
    const std::string address = "localhost:" + std::to_string(server.port());
    server.Greet(First({}, 10, {{0, "a", 10, 10, v1::Route::STATE_LED, address}}));
    const auto router = Router::Start({.group = "orders",
                                       .endpoints = {address},
                                       .credentials = CredentialsOf(issuer.Issue("caller"))});
    ASSERT_TRUE(router.ok());
    if (name == std::string("localhost")) {
      EXPECT_EQ(Ask(**router), "called");
    } else {
      EXPECT_TRUE(Until([&] { return !(*router)->Age().problem.empty(); }));
      EXPECT_FALSE((*router)->WaitReady(std::chrono::milliseconds(0)).ok());
    }
  }
}

// Plan: the server's authority changes. The router can't follow or call any more, and says why.
// With the new authority it goes on.
TEST(Router, GoesOnWithNewCredentialsAfterTheEarlierOnesFailed) {
  const Issuer earlier("earlier");
  const Issuer later("later");
  ScriptedRoutes server(0, ServerCredentialsOf(later.Issue("server", "IP:127.0.0.1")));
  server.Greet(First({}, 10, {{0, "a", 10, 10}}));
  const auto router = Router::Start({.group = "orders",
                                     .endpoints = {server.address()},
                                     .credentials = CredentialsOf(earlier.Issue("caller"))});
  ASSERT_TRUE(router.ok());
  ASSERT_TRUE(Until([&] { return !(*router)->Age().problem.empty(); }));
  EXPECT_THAT((*router)->Age().problem, HasSubstr(server.address() + " failed: UNAVAILABLE: "));
  (*router)->SetCredentials(CredentialsOf(later.Issue("caller")));
  EXPECT_TRUE((*router)->WaitReady(kPatience).ok());
  EXPECT_EQ((*router)->Age().problem, "");
}

// Plan: a channel that a call uses outlives its place in the cache, and nothing else keeps it.
TEST(ChannelCache, KeepsNoChannelOfEarlierCredentials) {
  ChannelCache cache(grpc::InsecureChannelCredentials());
  auto used = cache.Get("127.0.0.1:1", BootClock::now());
  const std::weak_ptr<grpc::Channel> earlier = used;
  cache.SetCredentials(grpc::SslCredentials({}));
  EXPECT_EQ(cache.size(), 0u);
  EXPECT_FALSE(earlier.expired());
  EXPECT_NE(cache.Get("127.0.0.1:1", BootClock::now()), used);
  used.reset();
  EXPECT_TRUE(earlier.expired());
}

constexpr const char* kNode = "URI:spiffe://example.org/orders/node/n1";

/// Files of certificates in a folder of their own.
class GroupCredentialsTest : public testing::Test {
 protected:
  GroupCredentialsTest() {
    std::string name = testing::TempDir() + "group-credentials-XXXXXX";
    folder_ = mkdtemp(name.data());
  }
  ~GroupCredentialsTest() override { std::filesystem::remove_all(folder_); }

  std::string Path(const std::string& name) const { return folder_ + "/" + name; }
  /// In one step, as those who renew certificates do.
  void Write(const std::string& name, const std::string& content) const {
    std::ofstream(Path("next")) << content;
    std::filesystem::rename(Path("next"), Path(name));
  }
  void Write(const PemTexts& texts) const {
    Write("ca", texts.ca);
    Write("cert", texts.cert);
    Write("key", texts.key);
  }
  GroupCredentialsOptions Options() const {
    return {.ca_file = Path("ca"),
            .servers = {"spiffe://example.org/orders/node/*", "spiffe://example.org/orders/relay"},
            .cert_file = Path("cert"),
            .key_file = Path("key")};
  }
  std::shared_ptr<const GroupCredentials> Read() const {
    auto read = GroupCredentials::FromFiles(Options());
    EXPECT_TRUE(read.ok()) << read.error().message;
    return *std::move(read);
  }

  const Issuer issuer_{"authority"};
  std::string folder_;
};

class RouterOfGroup : public GroupCredentialsTest {
 protected:
  std::unique_ptr<Router> Follow(const ScriptedRoutes& server,
                                 std::shared_ptr<const GroupCredentials> credentials) {
    auto router = Router::Start({.group = "orders",
                                 .endpoints = {server.address()},
                                 .group_credentials = std::move(credentials)});
    EXPECT_TRUE(router.ok()) << router.error().message;
    return *std::move(router);
  }
};

// Plan: one authority signs for the nodes of two groups. A node of the other group has the address
// of the leader: no request reaches it. A node of this group gets there, and the call goes on.
TEST_F(RouterOfGroup, ANodeOfAnotherGroupIsNotBelieved) {
  Write(issuer_.Issue("caller"));
  ScriptedRoutes ours(0, ServerCredentialsOf(issuer_.Issue("node", kNode)));
  std::atomic<int> reached{0};
  int port = 0;
  {
    ScriptedRoutes foreign(0, ServerCredentialsOf(issuer_.Issue(
                                  "node", "IP:127.0.0.1,URI:spiffe://example.org/users/node/n1")));
    port = foreign.port();
    foreign.Handle([&](grpc::ServerContext&, const v1::LookupRequest&, v1::LookupResponse*) {
      ++reached;
      return grpc::Status::OK;
    });
    ours.Greet(First({}, 10, {{0, "a", 10, 10, v1::Route::STATE_LED, foreign.address()}}));
    const auto router = Follow(ours, Read());
    ASSERT_TRUE(router->WaitReady(kPatience).ok()) << router->Age().problem;
    v1::LookupResponse response;
    const grpc::Status status = router->Call(ShardId{0}, &v1::RoutingService::Stub::Lookup, {},
                                             &response, {.deadline = std::chrono::seconds(1)});
    EXPECT_EQ(status.error_code(), grpc::StatusCode::UNAVAILABLE) << "nothing took effect";
    EXPECT_EQ(router->counters().attempts, 0u);

    const auto lost = Follow(foreign, Read());
    EXPECT_TRUE(Until([&] {
      return lost->Age().problem.find(
                 "its certificate is that of "
                 "\"spiffe://example.org/users/node/n1\", which is not one of "
                 "the group's servers") != std::string::npos;
    })) << lost->Age().problem;
    EXPECT_TRUE(foreign.Requests().empty());
  }
  EXPECT_EQ(reached, 0);
  const auto router = Follow(ours, Read());
  ScriptedRoutes again(port, ServerCredentialsOf(issuer_.Issue("node", kNode)));
  ASSERT_TRUE(again.serves());
  again.Handle(
      [](grpc::ServerContext& context, const v1::LookupRequest&, v1::LookupResponse* response) {
        response->set_group(CertifiedAs(context));
        return grpc::Status::OK;
      });
  EXPECT_EQ(Ask(*router), "caller");
}

// Plan: servers whose certificates differ in name and authority, and one that has expired.
TEST_F(GroupCredentialsTest, BelieveTheNamedServersOfTheAuthorityAlone) {
  Write(issuer_.Issue("caller"));
  const auto credentials = Read();
  const Issuer other("authority");
  const std::pair<PemTexts, bool> cases[] = {
      {issuer_.Issue("node", kNode), true},
      {issuer_.Issue("", "URI:spiffe://example.org/orders/relay"), true},
      {issuer_.Issue("node", "URI:spiffe://example.org/orders/relay/1"), false},
      {issuer_.Issue("node", "URI:spiffe://example.org/orders/operator/bob"), false},
      {issuer_.Issue("node", std::string(kNode) + ",URI:spiffe://example.org/users/node/n1"),
       false},
      {issuer_.Issue("node", "IP:127.0.0.1"), false},
      {issuer_.Issue("spiffe://example.org/orders/node/n1", "IP:127.0.0.1"), false},
      {issuer_.Issue(""), false},
      {other.Issue("node", kNode), false},
      {issuer_.Issue("node", kNode, -std::chrono::hours(1)), false},
  };
  int number = 0;
  for (const auto& [texts, believed] : cases) {
    ScriptedRoutes server(0, ServerCredentialsOf({issuer_.pem(), texts.cert, texts.key}));
    server.Handle([](grpc::ServerContext&, const v1::LookupRequest&, v1::LookupResponse*) {
      return grpc::Status::OK;
    });
    const auto stub =
        v1::RoutingService::NewStub(grpc::CreateChannel(server.address(), credentials->Get()));
    grpc::ClientContext context;
    context.set_deadline(std::chrono::system_clock::now() + kPatience);
    v1::LookupResponse response;
    const grpc::Status status = stub->Lookup(&context, {}, &response);
    EXPECT_EQ(status.error_code(), believed ? grpc::StatusCode::OK : grpc::StatusCode::UNAVAILABLE)
        << number << ": " << status.error_message();
    ++number;
  }
}

// Plan: the files change one after the other. While certificate and key don't belong together the
// earlier ones stay, and this is said. Then the router's calls and its stream use the new ones.
TEST_F(RouterOfGroup, GoesOnWithTheCertificatesThatAreInTheFiles) {
  Write(issuer_.Issue("first"));
  ScriptedRoutes server(0, ServerCredentialsOf(issuer_.Issue("node", kNode)));
  server.Handle(
      [](grpc::ServerContext& context, const v1::LookupRequest&, v1::LookupResponse* response) {
        response->set_group(CertifiedAs(context));
        return grpc::Status::OK;
      });
  server.Greet(First({}, 10, {{0, "a", 10, 10, v1::Route::STATE_LED, server.address()}}));
  const auto credentials = Read();
  const auto first = credentials->Get();
  const auto router = Follow(server, credentials);
  EXPECT_EQ(Ask(*router), "first");
  const PemTexts second = issuer_.Issue("second");
  Write("cert", second.cert);
  EXPECT_TRUE(Until([&] { return !credentials->problem().empty(); }));
  EXPECT_EQ(credentials->problem(), "the client key does not belong to the client certificate");
  EXPECT_EQ(credentials->Get(), first);
  EXPECT_EQ(Ask(*router), "first");
  Write("key", second.key);
  EXPECT_TRUE(Until([&] { return Ask(*router) == "second"; }));
  EXPECT_EQ(credentials->problem(), "");
  EXPECT_TRUE(server.AwaitStreams(2));
  EXPECT_THAT(server.StreamCallers(), ElementsAre("first", "second"));
  EXPECT_EQ(server.Requests().back().after_revision(), 10);
  EXPECT_EQ(router->counters().failed, 0u);
}

// Plan: the authority is replaced as the header says: both are believed, the server changes, the
// earlier one is removed. The router never stops.
TEST_F(RouterOfGroup, GoesOnThroughAChangeOfAuthority) {
  const Issuer later("later authority");  // OpenSSL finds an authority by its name
  const PemTexts caller = issuer_.Issue("caller");
  Write(caller);
  const PemTexts before = issuer_.Issue("node", kNode);
  auto identity = ServerIdentity::Create(before, ClientCertificates::kRequire);
  ASSERT_TRUE(identity.ok());
  ScriptedRoutes server(0, TlsServerCredentials(*identity));
  server.Handle([](grpc::ServerContext&, const v1::LookupRequest&, v1::LookupResponse* response) {
    response->set_group("served");
    return grpc::Status::OK;
  });
  server.Greet(First({}, 10, {{0, "a", 10, 10, v1::Route::STATE_LED, server.address()}}));
  const auto credentials = Read();
  const auto router = Follow(server, credentials);
  EXPECT_EQ(Ask(*router), "served");
  const auto change = [&](const std::function<void()>& write) {
    const auto earlier = credentials->Get();
    const std::size_t streams = server.Requests().size();
    write();
    EXPECT_TRUE(Until([&] { return credentials->Get() != earlier; }));
    EXPECT_TRUE(server.AwaitStreams(streams + 1)) << router->Age().problem;
    EXPECT_EQ(Ask(*router), "served");
  };
  const std::string both = issuer_.pem() + later.pem();
  change([&] { Write("ca", both); });
  const PemTexts after = later.Issue("node", kNode);
  ASSERT_TRUE((*identity)->Set({both, after.cert, after.key}).ok());
  change([&] {
    const PemTexts renewed = later.Issue("caller");
    Write("cert", renewed.cert);
    Write("key", renewed.key);
  });
  ASSERT_TRUE((*identity)->Set(after).ok());
  change([&] { Write("ca", later.pem()); });
  EXPECT_EQ(router->counters().failed + router->counters().unavailable, 0u);
}

TEST_F(GroupCredentialsTest, RefuseInvalidOptions) {
  Write(issuer_.Issue("caller"));
  Write("foreign", issuer_.Issue("other").key);
  Write("empty", "\n");
  const std::pair<std::string, std::function<void(GroupCredentialsOptions&)>> cases[] = {
      {"ca_file is empty", [](auto& options) { options.ca_file.clear(); }},
      {"0 servers are named; name 1 to 16", [](auto& options) { options.servers.clear(); }},
      {"17 servers are named", [](auto& options) { options.servers.assign(17, "dns:a"); }},
      {"\"orders\\n\" can't name a server's certificate; give spiffe://DOMAIN/PATH, dns:NAME or",
       [](auto& options) { options.servers = {"orders\n"}; }},
      {"cert_file and key_file go together", [](auto& options) { options.key_file.clear(); }},
      {"can't read " + Path("none"), [this](auto& options) { options.ca_file = Path("none"); }},
      {Path("empty") + " is empty", [this](auto& options) { options.key_file = Path("empty"); }},
      {"/dev/null is empty", [](auto& options) { options.ca_file = "/dev/null"; }},
      {"the client key does not belong to the client certificate",
       [this](auto& options) { options.key_file = Path("foreign"); }},
  };
  for (const auto& [said, spoil] : cases) {
    GroupCredentialsOptions options = Options();
    spoil(options);
    const auto read = GroupCredentials::FromFiles(options);
    ASSERT_FALSE(read.ok()) << said;
    EXPECT_EQ(read.error().code, ErrorCode::kInvalidArgument);
    EXPECT_THAT(read.error().message, HasSubstr(said));
  }
  EXPECT_EQ(Router::Start({.group = "orders",
                           .endpoints = {"127.0.0.1:1"},
                           .credentials = grpc::InsecureChannelCredentials(),
                           .group_credentials = Read()})
                .error()
                .message,
            "credentials and group_credentials are given; give one of them");
}

// Plan: a forked child destroys credentials that the parent made. The thread that reads the files
// is not in the child, so nothing can be waited for.
TEST_F(GroupCredentialsTest, AreDestroyedInAForkedChildWithoutWaiting) {
  Write(issuer_.Issue("client"));
  auto credentials = Read();
  auto certificates =
      ServerCertificates::FromFiles({.cert_file = Path("cert"), .key_file = Path("key")});
  ASSERT_TRUE(certificates.ok()) << certificates.error().message;
  const pid_t child = fork();
  if (child == 0) {
    alarm(30);  // ends a child that waits
    credentials.reset();
    certificates.value().reset();
    _exit(0);
  }
  int status = 0;
  ASSERT_EQ(waitpid(child, &status, 0), child);
  EXPECT_TRUE(WIFEXITED(status)) << "the child waited for ever";
}

// Plan: a caller without a certificate of its own, at a server that asks for none.
TEST_F(GroupCredentialsTest, NeedNoCertificateOfTheCaller) {
  Write("ca", issuer_.pem());
  const auto credentials =
      GroupCredentials::FromFiles({.ca_file = Path("ca"), .servers = {"cn:node"}});
  ASSERT_TRUE(credentials.ok()) << credentials.error().message;
  auto identity = ServerIdentity::Create(issuer_.Issue("node"), ClientCertificates::kNone);
  ASSERT_TRUE(identity.ok());
  ScriptedRoutes server(0, TlsServerCredentials(*identity));
  const auto router = Router::Start(
      {.group = "orders", .endpoints = {server.address()}, .group_credentials = *credentials});
  ASSERT_TRUE(router.ok());
  EXPECT_TRUE(server.AwaitStreams(1)) << (*router)->Age().problem;
}

}  // namespace
}  // namespace baton::routing
