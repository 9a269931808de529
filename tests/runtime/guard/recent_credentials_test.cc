// A guard keeps the credentials that its node got.
#include "runtime/guard/recent_credentials.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <vector>

namespace baton::runtime {
namespace {

using ::testing::ElementsAre;

std::vector<std::string> Kept(const RecentCredentials& recent) {
  std::vector<std::string> kept;
  for (const EtcdCredentials& each : recent.all()) kept.push_back(each.password);
  return kept;
}

// Plan: the same again changes nothing, an earlier one becomes the newest, and the fifth drops the
// oldest.
TEST(RecentCredentials, KeepsTheLastFourThatDiffer) {
  RecentCredentials recent(EtcdCredentials{.password = "a"});
  EXPECT_FALSE(recent.Add({.password = "a"}));
  EXPECT_TRUE(recent.Add({.password = "b"}));
  EXPECT_FALSE(recent.Add({.password = "b"}));
  EXPECT_THAT(Kept(recent), ElementsAre("a", "b"));
  EXPECT_TRUE(recent.Add({.password = "a"}));
  EXPECT_THAT(Kept(recent), ElementsAre("b", "a"));
  for (const char* next : {"c", "d", "e"}) EXPECT_TRUE(recent.Add({.password = next}));
  EXPECT_THAT(Kept(recent), ElementsAre("a", "c", "d", "e"));
}

// Plan: one set of credentials is one combination. If certificate and password have changed, each
// may be accepted without the other; the newest come first.
TEST(RecentCredentials, CombinesCertificatesWithPasswords) {
  RecentCredentials recent({.password = "a", .cert_pem = "A"});
  EXPECT_THAT(recent.Combinations(),
              ElementsAre(EtcdCredentials{.password = "a", .cert_pem = "A"}));
  recent.Add({.password = "b", .cert_pem = "B"});
  EXPECT_THAT(recent.Combinations(),
              ElementsAre(EtcdCredentials{.password = "b", .cert_pem = "B"},
                          EtcdCredentials{.password = "a", .cert_pem = "B"},
                          EtcdCredentials{.password = "b", .cert_pem = "A"},
                          EtcdCredentials{.password = "a", .cert_pem = "A"}));
}

}  // namespace
}  // namespace baton::runtime
