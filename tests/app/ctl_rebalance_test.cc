// How batonctl judges an applied rebalance by what nodes answer.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "app/ctl/watch.h"
#include "app/group_status.h"

namespace baton::app {
namespace {

using std::chrono::seconds;

StatusAnswer Answer(bool requested, std::size_t in_flight = 0, Reason reason = Reason::kRebalance) {
  StatusAnswer answer{StatusOf({LiveNode("a"), LiveNode("b")}, {}), {}};
  answer.status.view_age = seconds(1);
  answer.status.rebalance_requested = requested;
  answer.moves.resize(in_flight);
  for (MoveFact& move : answer.moves) move.reason = reason;
  return answer;
}

class JudgeRebalanceTest : public testing::Test {
 protected:
  Verdict Judge(const StatusAnswer& answer, std::optional<std::uint32_t> left,
                std::chrono::nanoseconds since = seconds(1)) {
    return JudgeRebalance(&progress_, {.answer = answer, .left = left, .since = since});
  }
  void ExpectGoesOn(const Verdict& verdict, const std::string& line) {
    EXPECT_FALSE(verdict.exit) << verdict.line;
    EXPECT_EQ(verdict.line, line);
  }
  void ExpectEnd(const Verdict& verdict, ExitCode exit, const std::string& line) {
    EXPECT_EQ(verdict.exit, exit) << verdict.line;
    EXPECT_EQ(verdict.line, line);
  }

  RebalanceProgress progress_{.initial = 3, .left = 3};
};

// Plan: the request, moves, the end, as most rebalances go.
TEST_F(JudgeRebalanceTest, IsDoneOnceThePlanHasNoMoves) {
  ExpectGoesOn(Judge(Answer(true), {}), "0 of 3 moves done, 0 in flight");
  const Verdict half = Judge(Answer(true, 1), 1);
  ExpectGoesOn(half, "1 of 3 moves done, 1 in flight");
  EXPECT_TRUE(half.partly);
  ExpectGoesOn(Judge(Answer(true), {}), "2 of 3 moves done, 0 in flight");
  ExpectEnd(Judge(Answer(false), 0), ExitCode::kDone, "balanced: 3 of 3 moves done");
}

// Plan: the request came and went between two answers. No answer ever shows it, so once an answer
// must be younger, what is left is left for good. Such a command waited until its timeout.
TEST_F(JudgeRebalanceTest, EndsIfNoAnswerEverShowsTheRequest) {
  ExpectGoesOn(Judge(Answer(false), 3, seconds(0)), "0 of 3 moves done");
  ExpectGoesOn(Judge(Answer(false), 3, seconds(11)), "0 of 3 moves done");
  ExpectEnd(Judge(Answer(false), 3, seconds(12)), ExitCode::kFailed,
            "the rebalance has ended, and 3 moves are left (cancelled, given up, or new): 0 of 3 "
            "moves done");
  progress_.known = false;
  ExpectEnd(Judge(Answer(false), 1, seconds(12)), ExitCode::kPartly,
            "the rebalance has ended, and 1 move is left (cancelled, given up, or new): 2 of 3 "
            "moves done");
}

// Plan: the node's view is so old that it may not know the request yet.
TEST_F(JudgeRebalanceTest, GoesOnWhileTheViewMayBeOlderThanTheRequest) {
  StatusAnswer old = Answer(false);
  old.status.view_age = seconds(60);
  ExpectGoesOn(Judge(old, 3, seconds(60)), "0 of 3 moves done");
}

// Plan: it was carried out before the first answer.
TEST_F(JudgeRebalanceTest, IsDoneAtTheFirstAnswerIfNothingIsLeft) {
  ExpectEnd(Judge(Answer(false), 0, seconds(0)), ExitCode::kDone, "balanced: 3 of 3 moves done");
}

// Plan: the members lead as many shards as they should, but rules swap three of them. An answer
// from before the request, which counts alone would call balanced, ends nothing.
TEST_F(JudgeRebalanceTest, WhatMembersLeadDoesNotSayThatNothingIsLeft) {
  ExpectGoesOn(Judge(Answer(false), 3, seconds(0)), "0 of 3 moves done");
  ExpectGoesOn(Judge(Answer(true), {}), "0 of 3 moves done, 0 in flight");
  ExpectEnd(Judge(Answer(false), 3), ExitCode::kFailed,
            "the rebalance has ended, and 3 moves are left (cancelled, given up, or new): 0 of 3 "
            "moves done");
}

// Plan: cancelled while a prepared move still ends, and while a drain goes on for hours.
TEST_F(JudgeRebalanceTest, WaitsForItsOwnMovesAlone) {
  Judge(Answer(true, 2), 1);
  ExpectGoesOn(Judge(Answer(false, 1), 1), "1 of 3 moves done, 1 in flight");
  ExpectEnd(Judge(Answer(false, 4, Reason::kDrain), 2), ExitCode::kPartly,
            "the rebalance has ended, and 2 moves are left (cancelled, given up, or new): 1 of 3 "
            "moves done");
}

// Plan: no plan can be had for a moment. Nothing is said then that only a plan can prove.
TEST_F(JudgeRebalanceTest, SaysNothingWithoutAPlan) {
  Judge(Answer(true), {});
  ExpectGoesOn(Judge(Answer(false), {}), "0 of 3 moves done, 0 in flight");
}

}  // namespace
}  // namespace baton::app
