// CompareTerm on a real etcd: an application's own transactions, fenced by Baton's record.
#include "baton/fencing.h"
#include "keyspace_fixture.h"

namespace baton::etcd {
namespace {

class CompareTerm : public testing::LeadersTest {
 protected:
  /// Makes the application's write; returns whether it was applied.
  bool Put(const TermCompare& fence, const std::string& value) {
    etcdserverpb::TxnRequest request;
    auto* compare = request.add_compare();
    compare->set_key(fence.key);
    compare->set_target(etcdserverpb::Compare::MOD);
    compare->set_result(etcdserverpb::Compare::EQUAL);
    compare->set_mod_revision(fence.mod_revision);
    auto* put = request.add_success()->mutable_request_put();
    put->set_key("/app/value");
    put->set_value(value);
    const auto reply = testing::Await<Reply<etcdserverpb::TxnResponse>>([&](auto done) {
      store().transport().Txn(std::make_shared<etcdserverpb::TxnRequest>(request),
                              testing::kCallDeadline, done);
    });
    EXPECT_TRUE(reply.status.ok()) << reply.status.message;
    return reply.response.succeeded();
  }
  TermCompare Fence(std::uint32_t shard, Term term) const {
    const auto fence = baton::CompareTerm(
        kDefaultPrefix, ::testing::UnitTest::GetInstance()->current_test_info()->name(),
        ShardId{shard}, term);
    EXPECT_TRUE(fence.ok());
    return fence.value();
  }
};

// Plan: n1 leads and writes. It hands the shard to n2: n1's transactions are refused from the very
// next revision on, before n2 has written anything.
TEST_F(CompareTerm, RefusesTheOldLeaderFromTheTransferOn) {
  const SessionGuard us = Join("n1");
  const SessionGuard target = Join("n2");
  ASSERT_EQ(Execute(ClaimBatch{.guard = us, .claims = {ClaimOf(0)}}).outcome, Outcome::kDone);
  const Transfer transfer = Prepare(0, us, target);
  EXPECT_TRUE(Put(Fence(0, transfer.term), "by n1"));
  ASSERT_EQ(Execute(TransferBatch{us.node, {transfer}}).outcome, Outcome::kDone);
  EXPECT_FALSE(Put(Fence(0, transfer.term), "by n1, late"));
  EXPECT_TRUE(Put(Fence(0, Record(0).term()), "by n2"));
}

TEST_F(CompareTerm, RefusesWhoHasResigned) {
  const SessionGuard us = Join("n1");
  ASSERT_EQ(Execute(ClaimBatch{.guard = us, .claims = {ClaimOf(0)}}).outcome, Outcome::kDone);
  const Term term = Record(0).term();
  ASSERT_EQ(Execute(ResignBatch{{us.node, us.session}, {ResignOf(0, term)}}).outcome,
            Outcome::kDone);
  EXPECT_FALSE(Put(Fence(0, term), "late"));
}

TEST(CompareTermArguments, AreChecked) {
  const auto no_term = baton::CompareTerm(kDefaultPrefix, "orders", ShardId{0}, Term{});
  ASSERT_FALSE(no_term.ok());
  EXPECT_EQ(no_term.error().code, ErrorCode::kInvalidArgument);
  EXPECT_FALSE(baton::CompareTerm("no-slash", "orders", ShardId{0}, Term{1}).ok());
  EXPECT_FALSE(baton::CompareTerm(kDefaultPrefix, "a/b", ShardId{0}, Term{1}).ok());
  const auto fence = baton::CompareTerm("/baton/v1", "orders", ShardId{342}, Term{960});
  ASSERT_TRUE(fence.ok());
  EXPECT_EQ(fence.value(), (TermCompare{"/baton/v1/orders/shards/342", 960}));
}

}  // namespace
}  // namespace baton::etcd
