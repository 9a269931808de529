#include "http/foreign.h"

#include <gtest/gtest.h>

namespace baton::http {
namespace {

const std::vector<std::string> kNames = {"n1", "baton.example"};

/// The status for a request with this Host; 200: it is not refused.
unsigned StatusFor(const std::string& host, const std::string& target = "/v1/status",
                   const std::vector<std::string>& names = kNames) {
  const auto refusal = RefuseForeign({.hosts = 1, .host = host}, target, names);
  return refusal ? refusal->status : 200;
}
unsigned StatusFor(const Caller& caller) {
  const auto refusal = RefuseForeign(caller, "/v1/events", kNames);
  return refusal ? refusal->status : 200;
}

TEST(ForeignRequests, NameAnotherHost) {
  for (const char* ours :
       {"localhost", "LocalHost:7401", "127.0.0.1:7401", "10.0.0.5", "[::1]:7401", "[fe80::1]",
        "n1:7401", "Baton.Example.", "baton.example.:80"}) {
    EXPECT_EQ(StatusFor(ours), 200u) << ours;
  }
  for (const char* foreign :
       {"evil.example", "evil.example:7401", "127.0.0.1.evil.example", "localhost.evil.example",
        "n1.evil.example", "", "0x7f.1", "[evil.example]", "[", "127.0.0.1@evil.example"}) {
    EXPECT_EQ(StatusFor(foreign), 421u) << foreign;
  }
  EXPECT_EQ(StatusFor("evil.example", "/v1/status", {"*"}), 200u);
}

// The kernel takes these to loopback, and a browser may not know that.
TEST(ForeignRequests, NameAnAddressThatNoServerHas) {
  for (const char* nobodys : {"0.0.0.0", "0.0.0.0:7401", "[::]:7401", "[0:0:0:0:0:0:0:0]",
                              "[::ffff:127.0.0.1]:7401", "[::ffff:7f00:1]", "[::127.0.0.1]"}) {
    EXPECT_EQ(StatusFor(nobodys), 421u) << nobodys;
    EXPECT_EQ(StatusFor(nobodys, "/livez"), 200u) << nobodys;
  }
}

TEST(ForeignRequests, NameAHostOfOurDomain) {
  const std::vector<std::string> names = {".batond.default.svc"};
  EXPECT_EQ(StatusFor("batond-0.batond.default.svc:7401", "/metrics", names), 200u);
  EXPECT_EQ(StatusFor("Batond-1.Batond.Default.Svc.", "/metrics", names), 200u);
  for (const char* foreign : {"batond.default.svc", "evilbatond.default.svc", ".batond.default.svc",
                              "batond-0.batond.default.svc.evil.example"}) {
    EXPECT_EQ(StatusFor(foreign, "/metrics", names), 421u) << foreign;
  }
}

TEST(ForeignRequests, AreNotProbes) {
  for (const char* probe : {"/livez", "/readyz?verbose", "/shards/7/leader"}) {
    EXPECT_EQ(StatusFor("balancer.example", probe), 200u) << probe;
  }
  EXPECT_EQ(StatusFor("balancer.example", "/metrics"), 421u);
}

TEST(ForeignRequests, NameNoHostOrOne) {
  EXPECT_FALSE(RefuseForeign({}, "/v1/status", kNames).has_value()) << "HTTP/1.0";
  EXPECT_EQ(RefuseForeign({.hosts = 2, .host = "n1"}, "/v1/status", kNames)->status, 400u);
}

TEST(ForeignRequests, ComeFromPagesOfOthers) {
  Caller caller{.hosts = 1, .host = "127.0.0.1:7401"};
  caller.fetch_site = "same-origin";
  EXPECT_EQ(StatusFor(caller), 200u);
  caller.fetch_site = "none";
  EXPECT_EQ(StatusFor(caller), 200u);
  for (const char* site : {"cross-site", "same-site", "nonsense"}) {
    caller.fetch_site = site;
    caller.fetch_mode = "no-cors";
    EXPECT_EQ(StatusFor(caller), 403u) << site;
    caller.fetch_mode = "navigate";
    caller.fetch_dest = "iframe";
    EXPECT_EQ(StatusFor(caller), 403u) << site;
    caller.fetch_dest = "document";
    EXPECT_EQ(StatusFor(caller), 200u) << "a link";
  }
}

// Browsers say Sec-Fetch-Site only to servers that they trust: on loopback, or with TLS.
TEST(ForeignRequests, HaveAForeignOrigin) {
  Caller caller{.hosts = 1, .host = "10.0.0.5:7401"};
  caller.origin = "http://10.0.0.5:7401";
  EXPECT_EQ(StatusFor(caller), 200u);
  for (const char* origin : {"http://evil.example", "http://10.0.0.5:8080", "null"}) {
    caller.origin = origin;
    EXPECT_EQ(StatusFor(caller), 403u) << origin;
  }
}

}  // namespace
}  // namespace baton::http
