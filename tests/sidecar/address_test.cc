#include "sidecar/address.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace baton::sidecar {
namespace {

using ::testing::HasSubstr;

std::string Wrong(const std::string& text) {
  const auto parsed = ParseAddress(text);
  return parsed ? "" : parsed.error().message;
}

// Plan: each form is written as it was read.
TEST(SidecarAddress, IsReadAndWritten) {
  for (const std::string text : {"unix:/run/baton.sock", "127.0.0.1:7410", "[::1]:0"}) {
    const auto parsed = ParseAddress(text);
    ASSERT_TRUE(parsed.ok()) << parsed.error().message;
    EXPECT_EQ(FormatAddress(parsed.value()), text);
  }
  EXPECT_EQ(ParseAddress("unix:///run/s").value().path, "/run/s");
}

// Plan: addresses that other hosts can reach, and texts that are not addresses.
TEST(SidecarAddress, RefusesWhatIsNotLocal) {
  EXPECT_THAT(Wrong("0.0.0.0:7410"), HasSubstr("this host only"));
  EXPECT_THAT(Wrong("10.0.0.1:7410"), HasSubstr("this host only"));
  EXPECT_THAT(Wrong("localhost:7410"), HasSubstr("not numeric"));
  EXPECT_THAT(Wrong("[::]:7410"), HasSubstr("this host only"));
  EXPECT_THAT(Wrong("unix:relative"), HasSubstr("absolute path"));
  EXPECT_THAT(Wrong("unix:/" + std::string(107, 'x')), HasSubstr("at most 107"));
  EXPECT_THAT(Wrong("127.0.0.1"), HasSubstr("not a local address"));
  EXPECT_THAT(Wrong("127.0.0.1:70000"), HasSubstr("not a local address"));
  EXPECT_THAT(Wrong("127.0.0.1:"), HasSubstr("not a local address"));
  EXPECT_THAT(Wrong("::1:7400"), HasSubstr("not a local address"));
  EXPECT_THAT(Wrong("[127.0.0.1]:7400"), HasSubstr("not a local address"));
}

}  // namespace
}  // namespace baton::sidecar
