// The settings that a node writes to its guard come out as they went in.
#include "runtime/guard/guard_settings.h"

#include <gtest/gtest.h>

#include <string>

namespace baton::runtime {
namespace {

TEST(GuardSettings, ComeOutAsTheyWentIn) {
  GuardSettings settings{.group = "orders",
                         .node = "n1",
                         .state_dir = "/tmp/with \"quotes\"\n and lines",
                         .trust = LockTrust::kAnyFileSystem,
                         .etcd = {.endpoints = {"a:1", "[::1]:2"},
                                  .user = "root",
                                  .password = "p\\w\"",
                                  .ca_pem = "-----BEGIN\nx\n",
                                  .cert_pem = "c",
                                  .key_pem = "k",
                                  .prefix = "/baton/v2"},
                         .hang_timeout = std::chrono::milliseconds(2500),
                         .process = 4711};
  const std::string line = Format(settings);
  EXPECT_EQ(line.find('\n'), line.size() - 1) << "one line";
  const auto read = ParseGuardSettings(line);
  ASSERT_TRUE(read.ok()) << read.error().message;
  const GuardSettings& found = read.value();
  EXPECT_EQ(found.group, settings.group);
  EXPECT_EQ(found.node, settings.node);
  EXPECT_EQ(found.state_dir, settings.state_dir);
  EXPECT_EQ(found.trust, settings.trust);
  EXPECT_EQ(found.etcd.endpoints, settings.etcd.endpoints);
  EXPECT_EQ(found.etcd.user, settings.etcd.user);
  EXPECT_EQ(found.etcd.password, settings.etcd.password);
  EXPECT_EQ(found.etcd.ca_pem, settings.etcd.ca_pem);
  EXPECT_EQ(found.etcd.cert_pem, settings.etcd.cert_pem);
  EXPECT_EQ(found.etcd.key_pem, settings.etcd.key_pem);
  EXPECT_EQ(found.etcd.prefix, settings.etcd.prefix);
  EXPECT_EQ(found.hang_timeout, settings.hang_timeout);
  EXPECT_EQ(found.process, settings.process);
}

// Plan: the line of a node whose version knows no timeout for hangs, and runs on after an upgrade.
TEST(GuardSettings, AnEarlierNodeSaysLess) {
  std::string line = Format({.group = "orders", .node = "n1", .state_dir = "/tmp"});
  const std::size_t begin = line.find(",\"hang_timeout_ms\"");
  ASSERT_NE(begin, std::string::npos);
  line = line.substr(0, begin) + "}";
  const auto read = ParseGuardSettings(line);
  ASSERT_TRUE(read.ok()) << read.error().message;
  EXPECT_EQ(read.value().hang_timeout.count(), 0);
}

TEST(GuardSettings, AnythingElseIsRefused) {
  for (const char* line : {"", "{}", "[]", "{\"group\":1}", "not json"}) {
    EXPECT_FALSE(ParseGuardSettings(line).ok()) << line;
  }
}

}  // namespace
}  // namespace baton::runtime
