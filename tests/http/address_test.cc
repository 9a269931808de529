#include "http/address.h"

#include <gtest/gtest.h>

#include <string>
#include <vector>

namespace baton::http {
namespace {

TEST(Address, ReadsHostAndPort) {
  for (const char* text : {"127.0.0.1:7400", "[::1]:0", "node-1.example_net:65535"}) {
    const Result<Address> address = ParseAddress(text);
    ASSERT_TRUE(address.ok()) << text;
    EXPECT_EQ(FormatAddress(address.value()), text);
  }
  EXPECT_EQ(ParseAddress("[::1]:7").value().host, "::1");
  EXPECT_EQ(ParseAddress("127.2:7").value().host, "127.0.0.2") << "as the system takes it";
}

TEST(Address, RefusesWhatIsNotHostAndPort) {
  for (const char* text :
       {"", "7400", ":7400", "host", "host:", "host:70000", "host:-1", "host:1x", "::1:7400",
        "[]:1", "[host]:1", "http://host:1", "a b:1", "host:+1", "a%b:1"}) {
    EXPECT_FALSE(ParseAddress(text).ok()) << text;
  }
  EXPECT_TRUE(ParseAddress(std::string(253, 'a') + ":1").ok());
  EXPECT_FALSE(ParseAddress(std::string(254, 'a') + ":1").ok()) << "longer than a host's name";
  EXPECT_EQ(ParseAddress("7400").error().message,
            "\"7400\" is not an address; expected host:port, such as 127.0.0.1:7400 or [::1]:7400");
}

TEST(Address, KnowsWildcards) {
  EXPECT_TRUE(IsWildcard({"0.0.0.0", 1}));
  for (const char* host :
       {"::", "0:0:0:0:0:0:0:0", "::0.0.0.0", "::ffff:0.0.0.0", "0", "00", "0x0", "0.0"}) {
    EXPECT_TRUE(IsWildcard({host, 1})) << host;
    EXPECT_FALSE(IsLoopback({host, 1})) << host;
  }
  EXPECT_FALSE(IsWildcard({"::1", 1}));
  EXPECT_FALSE(IsWildcard({"127.0.0.1", 1}));
  EXPECT_FALSE(IsWildcard({"node-0", 1}));
}

TEST(Address, KnowsLoopbackAddresses) {
  for (const char* host :
       {"localhost", "127.0.0.1", "127.1", "127.255.255.254", "::1", "::ffff:127.0.0.1"}) {
    EXPECT_TRUE(IsLoopback({host, 1})) << host;
  }
  for (const char* host : {"10.0.0.7", "::ffff:10.0.0.7", "2001:db8::1", "127.0.0.1.example"}) {
    EXPECT_FALSE(IsLoopback({host, 1})) << host;
  }
}

}  // namespace
}  // namespace baton::http
