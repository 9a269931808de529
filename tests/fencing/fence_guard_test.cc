// FenceGuard: a newer term ends the older one, even if a writer is slow. With a store this survives
// a crash.
#include <algorithm>
#include <future>
#include <map>
#include <mutex>
#include <stdexcept>
#include <thread>
#include <vector>

#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include "baton/fencing.h"

namespace baton {
namespace {

constexpr ShardId kShard{3};

ErrorCode CodeOf(const Status& status) {
  return status.ok() ? ErrorCode::kInternal : status.error().code;
}

TEST(FenceGuard, RefusesATermOnceANewerOneWasSeen) {
  FenceGuard guard(8);
  EXPECT_TRUE(guard.Check(kShard, Term{10}).ok());
  EXPECT_TRUE(guard.Check(kShard, Term{10}).ok()) << "the same leader again";
  EXPECT_TRUE(guard.Check(kShard, Term{12}).ok());
  const Status stale = guard.Check(kShard, Term{10});
  ASSERT_EQ(CodeOf(stale), ErrorCode::kStaleTerm);
  EXPECT_EQ(stale.error().message,
            "shard 3: term 10 is over, term 12 was seen, so this leader no longer leads");
  EXPECT_EQ(guard.refused(), 1u);
  EXPECT_EQ(guard.Highest(kShard), Term{12});
  EXPECT_TRUE(guard.Check(ShardId{4}, Term{1}).ok()) << "another shard's terms are its own";
}

TEST(FenceGuard, NamesWhatIsWrong) {
  FenceGuard guard(8);
  const Status no_shard = guard.Check(ShardId{8}, Term{1});
  ASSERT_EQ(CodeOf(no_shard), ErrorCode::kInvalidArgument);
  EXPECT_EQ(no_shard.error().message, "no shard 8: expected one below 8");
  EXPECT_EQ(CodeOf(guard.Check(kShard, Term{})), ErrorCode::kInvalidArgument);
  EXPECT_EQ(CodeOf(guard.Check(kShard, Term{-1})), ErrorCode::kInvalidArgument);
  EXPECT_EQ(guard.Highest(kShard), Term{});
}

// Plan: the process forks while another thread's effect runs. The child's copy of the terms would
// never hear of a newer one, and its copy of the shard's lock is held for ever. So the child is
// refused, at once, and its effect does not run.
TEST(FenceGuard, RefusesEverythingInAForkedChild) {
  FenceGuard guard(8);
  std::promise<void> begun, go_on;
  std::thread busy([&] {
    EXPECT_TRUE(guard
                    .Run(kShard, Term{10},
                         [&] {
                           begun.set_value();
                           go_on.get_future().wait();
                         })
                    .ok());
  });
  begun.get_future().wait();
  const pid_t child = fork();
  if (child == 0) {
    alarm(60);  // a call that hangs
    bool ran = false;
    const ErrorCode busy_shard = CodeOf(guard.Run(kShard, Term{11}, [&] { ran = true; }));
    const ErrorCode other_shard = CodeOf(guard.Run(ShardId{4}, Term{11}, [&] { ran = true; }));
    const bool refused = busy_shard == ErrorCode::kFailedPrecondition &&
                         other_shard == ErrorCode::kFailedPrecondition;
    _exit(refused && !ran ? 0 : 1);
  }
  int ended = 1;
  EXPECT_EQ(waitpid(child, &ended, 0), child);
  EXPECT_EQ(ended, 0);
  go_on.set_value();
  busy.join();
  EXPECT_TRUE(guard.Check(ShardId{4}, Term{1}).ok()) << "the parent's guard goes on";
}

// Plan: an effect of term 10 is delayed while term 11 arrives. Term 11's effect begins only after
// it. Then term 10 is refused, and its effect does not run.
TEST(FenceGuard, LetsNoOlderEffectWorkBesideANewerOne) {
  FenceGuard guard(8);
  std::promise<void> begun, go_on;
  std::vector<int> order;  // guarded by the guard
  std::thread slow([&] {
    EXPECT_TRUE(guard
                    .Run(kShard, Term{10},
                         [&] {
                           begun.set_value();
                           go_on.get_future().wait();
                           order.push_back(10);
                         })
                    .ok());
  });
  begun.get_future().wait();
  std::thread newer(
      [&] { EXPECT_TRUE(guard.Run(kShard, Term{11}, [&] { order.push_back(11); }).ok()); });
  EXPECT_TRUE(guard.Check(ShardId{4}, Term{1}).ok()) << "other shards are not held up";
  go_on.set_value();
  slow.join();
  newer.join();
  EXPECT_EQ(order, (std::vector<int>{10, 11}));
  EXPECT_EQ(CodeOf(guard.Run(kShard, Term{10}, [&] { order.push_back(-1); })),
            ErrorCode::kStaleTerm);
  EXPECT_EQ(order.size(), 2u);
}

// Plan: writers with growing terms race. In every order, the terms of the effects that ran never
// decrease.
TEST(FenceGuard, NeverGoesBackUnderRacingWriters) {
  FenceGuard guard(1);
  std::vector<Term> ran;  // guarded by the guard
  std::vector<std::thread> writers;
  for (int writer = 0; writer < 4; ++writer) {
    writers.emplace_back([&guard, &ran, writer] {
      for (int i = 0; i < 5'000; ++i) {
        const Term term{1 + i / 10 + writer};
        const Status done = guard.Run(ShardId{0}, term, [&] { ran.push_back(term); });
        EXPECT_TRUE(done.ok() || done.error().code == ErrorCode::kStaleTerm);
      }
    });
  }
  for (std::thread& each : writers) each.join();
  EXPECT_TRUE(std::is_sorted(ran.begin(), ran.end()));
  EXPECT_EQ(ran.size() + guard.refused(), 20'000u);
}

TEST(FenceGuard, PassesOnWhatAnEffectThrows) {
  FenceGuard guard(8);
  EXPECT_THROW((void)guard.Run(kShard, Term{10}, [] { throw std::runtime_error("disk"); }),
               std::runtime_error);
  EXPECT_TRUE(guard.Check(kShard, Term{10}).ok()) << "not locked for ever";
}

/// A store in memory that outlives guards, and fails on demand.
class Terms : public TermStore {
 public:
  Result<Term> Raise(ShardId shard, Term term) override {
    if (fails) return Error{ErrorCode::kUnavailable, "no disk"};
    return terms[shard] = std::max(terms[shard], term);
  }
  std::map<ShardId, Term> terms;
  bool fails = false;
};

// Plan: a guard sees term 12 and is destroyed. The next guard on the same store refuses term 10.
TEST(FenceGuard, RemembersInItsStore) {
  const auto terms = std::make_shared<Terms>();
  EXPECT_TRUE(FenceGuard(8, terms).Check(kShard, Term{12}).ok());
  FenceGuard next(8, terms);
  EXPECT_EQ(CodeOf(next.Check(kShard, Term{10})), ErrorCode::kStaleTerm);
  EXPECT_EQ(next.Highest(kShard), Term{12});
  EXPECT_EQ(terms->terms[kShard], Term{12});
  EXPECT_TRUE(next.Check(kShard, Term{12}).ok());
}

// Plan: Highest does not wait for an effect that is running.
TEST(FenceGuard, TellsTheHighestTermWhileAnEffectIsAtWork) {
  FenceGuard guard(8);
  EXPECT_TRUE(
      guard.Run(kShard, Term{10}, [&] { EXPECT_EQ(guard.Highest(kShard), Term{10}); }).ok());
}

// Plan: if the store fails, nothing is accepted, and nothing is remembered that was not stored.
TEST(FenceGuard, AcceptsNothingThatItsStoreDoesNotTake) {
  const auto terms = std::make_shared<Terms>();
  FenceGuard guard(8, terms);
  bool ran = false;
  terms->fails = true;
  EXPECT_EQ(CodeOf(guard.Run(kShard, Term{10}, [&] { ran = true; })), ErrorCode::kUnavailable);
  terms->fails = false;
  EXPECT_TRUE(guard.Check(kShard, Term{10}).ok());
  terms->fails = true;
  EXPECT_EQ(CodeOf(guard.Run(kShard, Term{11}, [&] { ran = true; })), ErrorCode::kUnavailable);
  EXPECT_TRUE(guard.Check(kShard, Term{10}).ok()) << "term 11 was not accepted";
  EXPECT_FALSE(ran);
}

}  // namespace
}  // namespace baton
