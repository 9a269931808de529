// The model of etcd says what a real etcd says: fixed scripts, and fresh ones.
#include <gtest/gtest.h>

#include <cstdio>
#include <random>

#include "sim/model_check/check.h"

namespace baton::sim {
namespace {

constexpr std::uint64_t kFixedFrom = 1;
constexpr int kFixedOperations = 2000;
constexpr int kFreshOperations = 2000;

class ModelCheck : public ::testing::Test {
 protected:
  static void SetUpTestSuite() {
    std::string why;
    etcd_ = StartScriptsEtcd(why).release();
    ASSERT_NE(etcd_, nullptr) << why;
  }
  static void TearDownTestSuite() {
    delete etcd_;
    etcd_ = nullptr;
  }
  static void ExpectNoDifference(std::uint64_t from, int operations) {
    ASSERT_NE(etcd_, nullptr);
    const CheckResult result = CheckScripts(*etcd_, from, operations, false);
    EXPECT_FALSE(result.difference) << *result.difference;
    EXPECT_GE(result.total(), static_cast<std::uint64_t>(operations));
  }

  static RealParty* etcd_;
};
RealParty* ModelCheck::etcd_ = nullptr;

TEST_F(ModelCheck, FixedScriptsGetTheSameAnswers) {
  ExpectNoDifference(kFixedFrom, kFixedOperations);
}

// Plan: scripts that nobody has run before.
TEST_F(ModelCheck, FreshScriptsGetTheSameAnswers) {
  std::random_device device;
  const std::uint64_t from = (std::uint64_t{device()} << 32) | device();
  std::printf("fresh scripts from seed %llu\n", static_cast<unsigned long long>(from));
  ExpectNoDifference(from, kFreshOperations);
}

// Plan: a lease of 2 s ends by itself, at an etcd with its defaults and in the model, three times.
TEST(ModelCheckOfLeases, EndByThemselvesAsInEtcd) {
  std::string why;
  const auto etcd = RealParty::Start({}, why);
  ASSERT_NE(etcd, nullptr) << why;
  for (std::uint64_t seed = 1; seed <= 3; ++seed) {
    const CheckResult result = CheckExpiry(*etcd, seed);
    EXPECT_FALSE(result.difference) << *result.difference;
  }
}

// Plan: 2,500 revisions are made, then a watch begins before them. etcd sends 1,000 in a message,
// and each header has the store's revision, although more is to come.
TEST(ModelCheckOfWatches, CatchUpByBatchesUnderTheStoresRevision) {
  std::string why;
  const auto etcd = RealParty::Start({}, why);
  ASSERT_NE(etcd, nullptr) << why;
  const CheckResult result = CheckCatchUp(*etcd, 1);
  EXPECT_FALSE(result.difference) << *result.difference;
  EXPECT_EQ(result.told, 4u) << "its creation and three batches";
}

// Plan: fill an etcd with a small quota, and compare what it accepts and refuses then.
TEST(ModelCheckOfSpace, AFullStoreRefusesTheSame) {
  std::string why;
  const auto etcd = RealParty::Start({"--quota-backend-bytes=2097152"}, why);
  ASSERT_NE(etcd, nullptr) << why;
  const CheckResult result = CheckNoSpace(*etcd, 1);
  EXPECT_FALSE(result.difference) << *result.difference;
}

}  // namespace
}  // namespace baton::sim
