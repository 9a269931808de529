// A recovery whose endpoint is not etcd. tests/contract tests recoveries with a real etcd.
#include "runtime/recovery/recovery.h"

#include <gtest/gtest.h>

#include "etcd/fake_transport.h"

namespace baton::runtime {
namespace {

// Plan: what serves the endpoint answers with the record of a shard, where the group's config was
// asked for.
TEST(Recovery, AnotherKeyThanTheConfigIsNoSurvey) {
  const etcd::Keyspace keys("/baton/v1", "orders");
  etcd::testing::FakeTransport transport;
  transport.on_txn = [&keys](const etcd::testing::FakeTxn& call) {
    etcdserverpb::TxnResponse answer;
    for (int i = 0; i < call.request.success_size(); ++i)
      answer.add_responses()->mutable_response_range();
    answer.mutable_responses(0)->mutable_response_range()->add_kvs()->set_key(
        keys.ShardKey(ShardId{5}));
    call.Answer(answer);
  };
  const auto survey = Recovery(transport, keys).Survey();
  ASSERT_FALSE(survey.ok());
  EXPECT_EQ(survey.error().code, ErrorCode::kInternal);
  EXPECT_EQ(survey.error().message, "etcd's answer does not match the request");
}

}  // namespace
}  // namespace baton::runtime
