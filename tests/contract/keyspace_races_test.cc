// Guarded writes on a real etcd under contention, small limits and a full database.
#include <algorithm>

#include "keyspace_fixture.h"

namespace baton::etcd {
namespace {

using testing::Store;

class KeyspaceRaces : public testing::LeadersTest {};

// Plan: transfer, abandon and resign of one term at once, and a claim beside them, many times. The
// key's version counts the applied writes: exactly one write per term was, and no other that writes
// the record got the answer "done". An abandon that is done was before it, and excludes the
// transfer.
TEST_F(KeyspaceRaces, LetExactlyOneOfSeveralRacingWritesOfATermThrough) {
  const SessionGuard us = Join("n1");
  const SessionGuard target = Join("n2");
  for (std::uint32_t shard = 0; shard < 30; ++shard) {
    ASSERT_EQ(Execute(ClaimBatch{.guard = us, .claims = {ClaimOf(shard)}}).outcome, Outcome::kDone);
    const Transfer transfer = Prepare(shard, us, target);
    Transfer late = transfer;
    late.reason = Reason::kOperator;
    const std::vector<Write> writes = {
        TransferBatch{us.node, {transfer}}, AbandonBatch{{AbandonOf(shard, transfer.term)}},
        ResignBatch{{us.node, us.session}, {ResignOf(shard, transfer.term)}},
        ClaimBatch{
            .guard = target,
            .claims = {ClaimOf(shard, Record(shard).revision, SessionRef{"n1", us.session})}},
        TransferBatch{us.node, {late}}};
    std::vector<std::future<WriteResult>> results;
    for (const Write& write : writes) {
      auto promise = std::make_shared<std::promise<WriteResult>>();
      results.push_back(promise->get_future());
      executor.Submit(executor.Prepare(write), testing::kCallDeadline,
                      [promise](WriteResult result) { promise->set_value(std::move(result)); });
    }
    int done = 0;
    bool abandoned = false;
    bool transferred = false;
    for (std::size_t i = 0; i < results.size(); ++i) {
      const WriteResult result = results[i].get();
      EXPECT_NE(result.outcome, Outcome::kUnknown) << result.detail;
      EXPECT_FALSE(i == 3 && result.outcome == Outcome::kDone) << "claimed from a live session";
      if (result.outcome != Outcome::kDone) continue;
      abandoned = abandoned || i == 1;
      transferred = transferred || i == 0 || i == 4;
      done += i == 1 ? 0 : 1;
    }
    EXPECT_EQ(done, 1);
    EXPECT_FALSE(abandoned && transferred);
    EXPECT_EQ(store().Get(keys.ShardKey(ShardId{shard})).kvs(0).version(), 2);
  }
}

// Plan: two nodes claim the same fifty shards at once: each shard has one winner, which knows it.
TEST_F(KeyspaceRaces, GiveEachShardOneWinnerWhenTwoNodesClaimAllOfThem) {
  const std::vector<SessionGuard> nodes = {Join("n1"), Join("n2")};
  std::vector<std::future<WriteResult>> results;
  for (const SessionGuard& node : nodes) {
    ClaimBatch batch = Claims(node, 50);
    if (node.node == "n2") std::reverse(batch.claims.begin(), batch.claims.end());
    auto promise = std::make_shared<std::promise<WriteResult>>();
    results.push_back(promise->get_future());
    executor.Submit(executor.Prepare(batch), testing::kCallDeadline,
                    [promise](WriteResult result) { promise->set_value(std::move(result)); });
  }
  const WriteResult first = results[0].get();
  const WriteResult second = results[1].get();
  for (std::uint32_t shard = 0; shard < 50; ++shard) {
    const bool n1 = first.items[shard] == Outcome::kDone;
    const bool n2 = second.items[49 - shard] == Outcome::kDone;
    EXPECT_NE(n1, n2);
    EXPECT_EQ(Record(shard).leader, n1 ? "n1" : "n2");
  }
}

// An operator may lower --max-txn-ops below our batches.
TEST(KeyspaceLimits, HalveBatchesForAServerThatAllowsFewOperations) {
  Store store({.members = 1, .arguments = {"--max-txn-ops=16"}});
  const Keyspace keys(kDefaultPrefix, "few");
  WriteExecutor executor(store.transport(), keys);
  const auto execute = [&](const Write& write) {
    return testing::Await<WriteResult>(
        [&](auto done) { executor.Submit(executor.Prepare(write), testing::kCallDeadline, done); });
  };
  MemberFact member;
  member.node = "n1";
  member.session = store.Grant(77);
  const WriteResult joined = execute(MemberCreate{member});
  ClaimBatch batch{.guard = {"n1", member.session, joined.revision}, .claims = {}};
  for (std::uint32_t shard = 0; shard < 100; ++shard) {
    Claim claim;
    claim.shard = ShardId{shard};
    batch.claims.push_back(claim);
  }
  const WriteResult result = execute(batch);
  EXPECT_EQ(result.outcome, Outcome::kDone) << result.detail;
  EXPECT_LE(executor.operation_limit(), 16u);
  const WriteResult again = execute(batch);
  EXPECT_EQ(again.items, std::vector(100, Outcome::kRefused));
}

// NOSPACE: puts are refused or unknown, but confirmations pass, so a leader goes on. It can also
// give a handoff up.
TEST(KeyspaceLimits, ConfirmWhileTheDatabaseIsFull) {
  Store store({.members = 1, .arguments = {"--quota-backend-bytes=2097152"}});
  const Keyspace keys(kDefaultPrefix, "full");
  WriteExecutor executor(store.transport(), keys);
  MemberFact member;
  member.node = "n1";
  member.session = store.Grant(77);
  const auto execute = [&](const Write& write) {
    return testing::Await<WriteResult>(
        [&](auto done) { executor.Submit(executor.Prepare(write), testing::kCallDeadline, done); });
  };
  const WriteResult joined = execute(MemberCreate{member});
  ASSERT_EQ(joined.outcome, Outcome::kDone) << joined.detail;
  const SessionGuard guard{"n1", member.session, joined.revision};
  const ShardId shard{3};
  const WriteResult claimed =
      execute(ClaimBatch{.guard = guard, .claims = {Claim{.shard = shard}}});
  ASSERT_EQ(claimed.outcome, Outcome::kDone) << claimed.detail;
  MoveFact move;
  move.shard = shard;
  move.from = "n1";
  move.to = "n2";
  move.present = true;
  move.ends = Term{claimed.revision.value};
  ASSERT_EQ(execute(MoveBatch{.moves = {MoveWrite{.move = move}}}).outcome, Outcome::kDone);
  WriteResult last = joined;
  // etcd counts the database's size when it writes it out, every 100 ms, so this is far more than
  // fits.
  Revision changed{};
  for (int i = 0; i < 300 && last.outcome == Outcome::kDone; ++i) {
    PolicyWrite write;
    write.policy.name = {PolicyKind::kDrain, "n" + std::to_string(i)};
    write.policy.present = true;
    write.policy.actor = std::string(500'000, 'x');
    write.changed = changed;
    last = execute(write);
    changed = last.revision;
  }
  EXPECT_NE(last.outcome, Outcome::kDone) << "the quota was never reached";
  const ConfirmResult confirmed = testing::Await<ConfirmResult>(
      [&](auto done) { executor.Confirm(guard, testing::kCallDeadline, done); });
  EXPECT_EQ(confirmed.outcome, Outcome::kDone) << confirmed.detail;
  EXPECT_TRUE(confirmed.passed);
  // The leader goes on in its term, and the move is gone: its transfer can't be carried out later.
  const WriteResult abandoned =
      execute(AbandonBatch{{Abandon{.shard = shard, .term = Term{claimed.revision.value}}}});
  EXPECT_EQ(abandoned.outcome, Outcome::kDone) << abandoned.detail;
  const bool deleted =
      std::any_of(abandoned.read_back.begin(), abandoned.read_back.end(), [&](const Fact& fact) {
        const auto* const left = std::get_if<MoveFact>(&fact);
        return left != nullptr && left->shard == shard && !left->present;
      });
  EXPECT_TRUE(deleted);
}

}  // namespace
}  // namespace baton::etcd
