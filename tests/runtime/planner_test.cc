// Plans of moves for everybody who asks, beside a node that is busy.
#include "runtime/planner.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <condition_variable>
#include <future>
#include <vector>

#include "core/assignment_of_view.h"
#include "runtime/fake_control.h"
#include "runtime/status_assignment.h"

namespace baton::runtime {
namespace {

using testing::HasSubstr;
using Moves = Result<std::vector<MoveFact>>;

/// A node that answers when the test lets it, and counts what it is asked.
class BusyControl final : public FakeControl {
 public:
  BusyControl() : FakeControl({"n1", "n2"}, 4) {
    Freeze(true);
    SharedBlocks<core::ShardOfAssignment> shards;
    for (int shard = 0; shard < 4; ++shard) {
      shards.push_back({.takes_part = true, .movable = true, .shard = {.leader = 0}});
    }
    const std::vector<core::AssignmentMember> members = {{"n1"}, {"n2"}};
    Change([&](NodeStatus& status) {
      status.assignment = std::make_shared<const StatusAssignment>(
          members, std::vector<core::AssignmentPool>(), shards);
    });
  }
  void GetStatus(std::function<void(std::shared_ptr<const NodeStatus>)> handler) override {
    {
      std::unique_lock lock(mutex_);
      ++asked_;
      changed_.wait(lock, [this] { return free_; });
    }
    FakeControl::GetStatus(std::move(handler));
  }
  void Free() {
    const std::lock_guard lock(mutex_);
    free_ = true;
    changed_.notify_all();
  }
  int asked() {
    const std::lock_guard lock(mutex_);
    return asked_;
  }

 private:
  std::mutex mutex_;
  std::condition_variable changed_;
  bool free_ = false;
  int asked_ = 0;
};

Moves PlanOf(Planner& planner) {
  std::promise<Moves> answered;
  planner.Plan([&](Moves moves) { answered.set_value(std::move(moves)); });
  return answered.get_future().get();
}

// Plan: n1 leads all four shards, two of them move to n2, each in its present term.
TEST(Planner, PlansFromTheNodesStatus) {
  BusyControl control;
  control.Free();
  Planner planner(control, [] {});
  const Moves moves = PlanOf(planner);
  ASSERT_TRUE(moves.ok()) << moves.error().message;
  ASSERT_EQ(moves->size(), 2u);
  for (const MoveFact& move : moves.value()) {
    EXPECT_EQ(move.from + " " + move.to, "n1 n2");
    EXPECT_EQ(move.cause, Cause{.kind = CauseKind::kBalance});
    EXPECT_EQ(move.ends, Term{800 + move.shard.value});
  }
}

// Plan: a shard goes to another node and comes back, so its term is another one, and the assignment
// is the same.
TEST(Planner, PlansInTheTermsOfTheNewestStatus) {
  BusyControl control;
  control.Free();
  Planner planner(control, [] {});
  const Moves first = PlanOf(planner);
  ASSERT_TRUE(first.ok());
  const ShardId moved = first->front().shard;
  control.Change([&](NodeStatus& status) {
    status.shards[moved.value].term = Term{990};
    status.revision = Revision{990};
  });
  const Moves second = PlanOf(planner);
  ASSERT_TRUE(second.ok());
  ASSERT_EQ(second->front().shard, moved);
  EXPECT_EQ(second->front().ends, Term{990});
}

// Plan: before it asks for the status, the planner asks the node to make a new one.
TEST(Planner, AsksForANewStatusFirst) {
  BusyControl control;
  control.Free();
  std::vector<int> asked_before;
  Planner planner(control, [&] { asked_before.push_back(control.asked()); });
  ASSERT_TRUE(PlanOf(planner).ok());
  ASSERT_TRUE(PlanOf(planner).ok());
  EXPECT_THAT(asked_before, testing::ElementsAre(0, 1));
}

// Plan: 5,000 callers ask at once while the node is busy. It is asked once, a few callers wait, and
// the rest is refused at once.
TEST(Planner, AFloodOfPlansAsksTheNodeOnceAtATime) {
  constexpr int kCallers = 5000;
  BusyControl control;
  int done = 0;
  int refused = 0;
  std::mutex mutex;
  {
    Planner planner(control, [] {});
    for (int i = 0; i < kCallers; ++i) {
      planner.Plan([&](Moves moves) {
        const std::lock_guard lock(mutex);
        ++(moves.ok() ? done : refused);
        if (!moves.ok()) {
          EXPECT_THAT(moves.error().message, HasSubstr("too many"));
        }
      });
    }
    EXPECT_LE(control.asked(), 1);
    {
      const std::lock_guard lock(mutex);
      EXPECT_EQ(done, 0);
      EXPECT_GE(refused, kCallers - static_cast<int>(Planner::kMaxWaiting) - 1);
    }
    control.Free();
  }
  EXPECT_EQ(done + refused, kCallers);
  EXPECT_GE(done, static_cast<int>(Planner::kMaxWaiting));
}

// Plan: the assignment has a node, which is to get two shards, that is not among the members.
TEST(Planner, RefusesIfAMemberOfTheAssignmentIsMissing) {
  BusyControl control;
  control.Change([](NodeStatus& status) { status.members.pop_back(); });
  control.Free();
  Planner planner(control, [] {});
  const Moves moves = PlanOf(planner);
  ASSERT_FALSE(moves.ok());
  EXPECT_EQ(moves.error().code, ErrorCode::kUnavailable);
}

TEST(Planner, RefusesBeforeTheViewIsComplete) {
  BusyControl control;
  control.Free();
  control.Change([](NodeStatus& status) { status.assignment = nullptr; });
  Planner planner(control, [] {});
  const Moves moves = PlanOf(planner);
  ASSERT_FALSE(moves.ok());
  EXPECT_EQ(moves.error().code, ErrorCode::kUnavailable);
  EXPECT_THAT(moves.error().message, HasSubstr("not complete"));
}

}  // namespace
}  // namespace baton::runtime
