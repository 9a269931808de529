// The model of etcd answers as one version or another does; tests/sim/model_check compares
// this with real ones.
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "sim/etcd_model.h"

namespace baton::sim {
namespace {

constexpr Duration kAnswersTake = milliseconds(10);

class EtcdDialectTest : public ::testing::TestWithParam<const char*> {
 protected:
  explicit EtcdDialectTest() : etcd_(world_, {.dialect = DialectOf(GetParam())}) {}

  void Run(Duration length) { world_.RunUntil(world_.now() + length); }

  // Whether a progress request of a watch from `start` on is answered.
  bool TellsProgress(std::int64_t start) {
    pb::WatchCreateRequest request;
    request.set_key("k");
    request.set_start_revision(start);
    std::size_t told = 0;
    const WatchId id = etcd_.Watch(0, request, [&](const pb::WatchResponse& response) {
      told += response.watch_id() == -1 ? 1 : 0;
    });
    etcd_.Progress(id);
    Run(kAnswersTake);
    etcd_.Cancel(id);
    return told > 0;
  }

  std::int64_t Put() {
    auto txn = std::make_shared<pb::TxnRequest>();
    auto* put = txn->add_success()->mutable_request_put();
    put->set_key("k");
    put->set_lease(7);
    std::int64_t revision = 0;
    etcd_.Txn(0, txn, 1, [&](const Failure&, const pb::TxnResponse& response) {
      revision = response.header().revision();
    });
    Run(kAnswersTake);
    return revision;
  }

  World world_{1, false};
  EtcdModel etcd_;
};

// Plan: ask for the progress of a watch that has still to send an event, and of one that begins
// later than now; read keys alone, of which one has a lease.
TEST_P(EtcdDialectTest, AnswersAsItsVersion) {
  const std::string version = GetParam();
  pb::LeaseGrantRequest grant;
  grant.set_id(7);
  grant.set_ttl(60);
  etcd_.Grant(0, grant, 1, [](const Failure&, const pb::LeaseGrantResponse&) {});
  Run(kAnswersTake);
  const std::int64_t revision = Put();
  ASSERT_GT(revision, 1);
  EXPECT_EQ(TellsProgress(revision), version == "3.4.23");
  EXPECT_EQ(TellsProgress(revision + 1), version == "3.4.23" || version == "3.5.16");
  pb::RangeRequest read;
  read.set_key("k");
  read.set_keys_only(true);
  std::int64_t lease = -1;
  etcd_.Range(0, read, [&](const Failure&, const pb::RangeResponse& response) {
    lease = response.kvs(0).lease();
  });
  Run(kAnswersTake);
  EXPECT_EQ(lease, version == "3.7.3" ? 0 : 7);
}

INSTANTIATE_TEST_SUITE_P(Versions, EtcdDialectTest,
                         ::testing::Values("3.4.23", "3.5.16", "3.5.35", "3.6.16", "3.7.3"));

TEST(EtcdDialect, ChangesWithTheFirstVersionOfEachLine) {
  EXPECT_TRUE(DialectOf("3.4.24").progress_while_behind);
  EXPECT_FALSE(DialectOf("3.4.25").progress_while_behind);
  EXPECT_TRUE(DialectOf("3.5.22").progress_before_start);
  EXPECT_FALSE(DialectOf("3.5.30").progress_before_start);
  EXPECT_TRUE(DialectOf("3.6.0").progress_before_start);
  EXPECT_FALSE(DialectOf("3.5.35").checks_in_order);
  EXPECT_TRUE(DialectOf("3.6.0").checks_in_order);
  EXPECT_FALSE(DialectOf("3.6.13").nested_puts_need_space);
  EXPECT_TRUE(DialectOf("3.6.14").nested_puts_need_space);
  EXPECT_TRUE(DialectOf("3.6.16").keys_only_tells_leases);
  EXPECT_FALSE(DialectOf("4.0.0").keys_only_tells_leases);
  EXPECT_TRUE(DialectOf("4.0.0").nested_puts_need_space);
}

}  // namespace
}  // namespace baton::sim
