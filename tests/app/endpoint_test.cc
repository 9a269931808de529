// Endpoints as people give them.
#include "base/endpoint.h"

#include <string>

#include <gtest/gtest.h>

namespace baton {
namespace {

std::string Refusal(const std::string& text) {
  const Status checked = CheckEndpoint(text, kEtcdPort);
  return checked.ok() ? "" : checked.error().message;
}

TEST(Endpoint, IsAHostAndAPort) {
  for (const char* text :
       {"127.0.0.1:2379", "etcd-1.example:1", "a_b:65535", "[::1]:2379", "[fe80::1%eth0]:2379"}) {
    EXPECT_EQ(Refusal(text), "");
  }
}

// Plan: without TLS, localhost must not become ::1. Other hosts, even similar ones, stay.
TEST(Endpoint, LocalhostIsAnIPv4Address) {
  EXPECT_EQ(LocalhostAsAddress("localhost:2379"), "127.0.0.1:2379");
  for (const char* text : {"localhost.example:1", "localhost", "[::1]:1", "127.0.0.1:1", ""}) {
    EXPECT_EQ(LocalhostAsAddress(text), text);
  }
}

// Plan: a server that listens at localhost must be where its clients look for it.
TEST(Endpoint, ListensAtLocalhostWhereClientsConnect) {
  EXPECT_EQ(HostToListenOn("localhost") + ":7400", LocalhostAsAddress("localhost:7400"));
  for (const char* host : {"localhost.example", "::1", "0.0.0.0", "n1.example.org"}) {
    EXPECT_EQ(HostToListenOn(host), host);
  }
}

TEST(Endpoint, IsRefusedWithOneLineThatSaysWhatToWrite) {
  for (const std::string& text :
       {std::string(), std::string("localhost"), std::string("a:"), std::string("a:0"),
        std::string("a:65536"), std::string("a:12x"), std::string("a:-1"), std::string(":2379"),
        std::string("a b:1"), std::string("::1:2379"), std::string("[]:1"), std::string("[a:1"),
        std::string("user@a:1"), std::string("a:1/v3"), std::string("unix:/run/etcd.sock"),
        std::string(254, 'a') + ":1"}) {
    EXPECT_EQ(Refusal(text), "\"" + text +
                                 "\" is not an endpoint; write host:port, such as 10.0.0.7:2379 or "
                                 "[::1]:2379");
  }
  for (const std::string scheme : {"http://", "https://", "dns://"}) {
    EXPECT_EQ(Refusal(scheme + "a:1"),
              "\"" + scheme + "a:1\" is not an endpoint; write host:port, without " + scheme);
  }
  EXPECT_EQ(Refusal("a\nb:1"),
            "\"a\\nb:1\" is not an endpoint; write host:port, such as 10.0.0.7:2379 or [::1]:2379");
}

// Plan: what a peer may not name, although a person may: gRPC would read these as the schemes of
// its resolvers.
TEST(Endpoint, OfAPeerNamesNoResolver) {
  for (const std::string text : {"10.0.0.7:80", "[::1]:80", "unix1:80", "app:80"}) {
    EXPECT_TRUE(IsPeerEndpoint(text)) << text;
    EXPECT_EQ(DnsTarget(text), "dns:///" + text);
  }
  EXPECT_EQ(DnsTarget("[fe80::1%10]:80"), "dns:///[fe80::1%2510]:80") << "gRPC decodes it";
  for (const char* text : {"unix:80", "dns:80", "xds:80", "ipv4:80", "unix:/run/a.sock", "a:1/b",
                           "dns://10.0.0.9/a:80", "xds:///orders", "unix-abstract:80", ""}) {
    EXPECT_FALSE(IsPeerEndpoint(text)) << text;
  }
}

// Plan: what callers can use, and then what only the program itself could make sense of. A socket
// of this host is an address, but no endpoint.
TEST(Endpoint, OfThisProgramIsOneThatOthersCanUse) {
  for (const char* text :
       {"10.0.0.7:80", "[::1]:80", "[fe80::1%eth0]:80", "localhost:80", "app:80"}) {
    EXPECT_TRUE(CheckOwnEndpoint(text, 7400).ok()) << text;
    EXPECT_TRUE(CheckOwnAddress(text, 7400).ok()) << text;
  }
  EXPECT_TRUE(CheckOwnAddress("unix:/run/app.sock", 7400).ok());
  EXPECT_FALSE(CheckOwnEndpoint("unix:/run/app.sock", 7400).ok());
  EXPECT_FALSE(CheckOwnAddress("unix:/" + std::string(512, 'a'), 7400).ok());
  for (const char* text :
       {"localhost", "127.0.0.1:99999", "::1:7410", "xds:///a", "http://a:1", "a b", "dns:80",
        "0.0.0.0:80", "0:80", "[::]:80", "[::%eth0]:80", "[::ffff:0.0.0.0]:80", ""}) {
    EXPECT_FALSE(CheckOwnEndpoint(text, 7400).ok()) << text;
    EXPECT_FALSE(CheckOwnAddress(text, 7400).ok()) << text;
  }
  EXPECT_EQ(
      CheckOwnAddress("[::]:80", 7400).error().message,
      "\"[::]:80\" is a wildcard, which others can't connect to; write the name or IP address "
      "at which others reach this host");
  EXPECT_EQ(CheckOwnAddress("dns:80", 7400).error().message,
            "\"dns:80\" has a host that gRPC takes for a resolver; write the name or IP address at "
            "which others reach this host");
}

}  // namespace
}  // namespace baton
