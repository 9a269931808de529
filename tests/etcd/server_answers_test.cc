// Answers of etcd about leases.
#include "etcd/server_answers.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <limits>

#include "etcd/records.h"

namespace baton::etcd {
namespace {

using std::chrono::seconds;
using testing::HasSubstr;

constexpr std::int64_t kMax = std::numeric_limits<std::int64_t>::max();

Reply<etcdserverpb::LeaseGrantResponse> Granted(std::int64_t ttl) {
  Reply<etcdserverpb::LeaseGrantResponse> reply;
  reply.status.outcome = Outcome::kDone;
  reply.response.set_ttl(ttl);
  return reply;
}

Reply<etcdserverpb::LeaseGrantResponse> Refused(const std::string& message) {
  Reply<etcdserverpb::LeaseGrantResponse> reply;
  reply.status.outcome = Outcome::kRefused;
  reply.status.message = message;
  return reply;
}

TEST(ServerAnswers, BoundATtl) {
  EXPECT_EQ(TtlOf(std::numeric_limits<std::int64_t>::min()), seconds(0));
  EXPECT_EQ(TtlOf(-1), seconds(0));
  EXPECT_EQ(TtlOf(10), seconds(10));
  EXPECT_EQ(TtlOf(kMax), kLongestTtl);
}

// Plan: more than was asked for, as etcd gives if its election timeout is long; beyond all limits;
// zero; a lease that exists already; a refusal; an unknown outcome.
TEST(ServerAnswers, SayWhatBecameOfAGrant) {
  const Grant more = GrantOf(Granted(15), seconds(10));
  EXPECT_EQ(more.outcome, Outcome::kDone);
  EXPECT_EQ(more.ttl, seconds(15));

  EXPECT_EQ(GrantOf(Granted(kMax), seconds(10)).ttl, kLongestTtl);

  for (const std::int64_t none : {std::int64_t{0}, std::int64_t{-5}}) {
    const Grant grant = GrantOf(Granted(none), seconds(10));
    EXPECT_EQ(grant.outcome, Outcome::kRefused);
    EXPECT_THAT(grant.detail, HasSubstr("a lease of " + std::to_string(none) + " s"));
  }

  const Grant again = GrantOf(Refused("etcdserver: lease already exists"), seconds(10));
  EXPECT_EQ(again.outcome, Outcome::kDone);
  EXPECT_EQ(again.ttl, seconds(10));

  const Grant refused = GrantOf(Refused("etcdserver: too large lease TTL"), seconds(10));
  EXPECT_EQ(refused.outcome, Outcome::kRefused);
  EXPECT_EQ(refused.detail, "etcdserver: too large lease TTL");

  EXPECT_EQ(GrantOf({}, seconds(10)).outcome, Outcome::kUnknown);
}

}  // namespace
}  // namespace baton::etcd
