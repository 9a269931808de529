// A router over TLS: credentials that are replaced while it follows and calls.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <future>
#include <memory>
#include <string>
#include <thread>

#include "base/grpc/server_tls.h"
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
  EXPECT_THAT((*router)->Age().problem, HasSubstr(server.address() + " answered with status 14"));
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

}  // namespace
}  // namespace baton::routing
