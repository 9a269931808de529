// PendingWrites: what it sends again of a write whose outcome is not definite, and when.
#include <gtest/gtest.h>

#include "core/options.h"
#include "core/pending_writes.h"

namespace baton::core {
namespace {

constexpr OperationId kOperation = 7;
const TimePoint kStart(std::chrono::seconds(100));

class PendingWritesTest : public ::testing::Test {
 protected:
  PendingWritesTest() {
    pending_.Submit(kOperation, WriteOwner::kLeaderships, ResignBatch{}, actions_);
  }

  bool Definite(Outcome outcome, std::vector<Outcome> items, TimePoint now) {
    WriteResult result;
    result.outcome = outcome;
    result.items = std::move(items);
    result.revision = Revision{30};
    return pending_.Settle({kOperation, std::move(result)}, now).has_value();
  }

  /// A server refuses the copy without a look at the keys.
  static WriteResult Unseen() { return {.outcome = Outcome::kRefused}; }

  /// The writes submitted at `now`.
  std::vector<SubmitWrite> At(TimePoint now) {
    actions_.clear();
    TimePoint wake_at = TimePoint::max();
    pending_.Advance(now, actions_, wake_at);
    std::vector<SubmitWrite> result;
    for (const Action& action : actions_) result.push_back(std::get<SubmitWrite>(action));
    return result;
  }

  PendingWrites pending_;
  std::vector<Action> actions_;
};

TEST_F(PendingWritesTest, TheFirstCopyHasNothingBeforeIt) {
  ASSERT_EQ(actions_.size(), 1u);
  EXPECT_FALSE(std::get<SubmitWrite>(actions_[0]).earlier.has_value());
  EXPECT_FALSE(pending_.Unknown(kOperation));
}

// Plan: two unknown answers: each copy repeats what the answer before it left open, after a pause
// that doubles. A definite answer ends it.
TEST_F(PendingWritesTest, ACopySaysWhatTheLastAnswerLeftOpen) {
  const std::vector first{Outcome::kDone, Outcome::kUnknown, Outcome::kUnknown};
  EXPECT_FALSE(Definite(Outcome::kUnknown, first, kStart));
  EXPECT_TRUE(pending_.Unknown(kOperation));
  EXPECT_TRUE(At(kStart + kMinRetryPause - Duration(1)).empty());
  auto sent = At(kStart + kMinRetryPause);
  ASSERT_EQ(sent.size(), 1u);
  EXPECT_EQ(sent[0].operation, kOperation);
  EXPECT_EQ(sent[0].earlier, first);
  EXPECT_TRUE(At(kStart + kMaxRetryPause).empty()) << "one copy at a time";

  const std::vector second{Outcome::kDone, Outcome::kRefused, Outcome::kUnknown};
  EXPECT_FALSE(Definite(Outcome::kUnknown, second, kStart));
  EXPECT_TRUE(At(kStart + 2 * kMinRetryPause - Duration(1)).empty());
  sent = At(kStart + 2 * kMinRetryPause);
  ASSERT_EQ(sent.size(), 1u);
  EXPECT_EQ(sent[0].earlier, second);

  EXPECT_TRUE(
      Definite(Outcome::kRefused, {Outcome::kDone, Outcome::kRefused, Outcome::kDone}, kStart));
  EXPECT_FALSE(pending_.Has(kOperation));
}

// An answer that names no item leaves all of them open; the copy still counts as a resend.
TEST_F(PendingWritesTest, ACopyAfterSilenceIsNoFirstOne) {
  EXPECT_FALSE(Definite(Outcome::kUnknown, {}, kStart));
  const auto sent = At(kStart + kMinRetryPause);
  ASSERT_EQ(sent.size(), 1u);
  ASSERT_TRUE(sent[0].earlier.has_value());
  EXPECT_TRUE(sent[0].earlier->empty());
}

// Plan: a server refuses the only copy without a look at the keys, so it is never applied.
TEST_F(PendingWritesTest, ARefusalWithoutALookDecidesIfNoCopyIsOnItsWay) {
  const auto settled = pending_.Settle({kOperation, Unseen()}, kStart);
  ASSERT_TRUE(settled);
  EXPECT_TRUE(settled->sent_once);
}

// Plan: the first copy's outcome is unknown, so it may be applied later. Servers refuse the next
// copies without a look at the keys: that decides nothing, and each is sent again. The first server
// that looks decides.
TEST_F(PendingWritesTest, ARefusalWithoutALookDecidesNothingAboutAnEarlierCopy) {
  const std::vector first{Outcome::kDone, Outcome::kUnknown};
  EXPECT_FALSE(Definite(Outcome::kUnknown, first, kStart));
  WriteResult denied = Unseen();
  denied.revision = Revision{30};
  denied.permanent = true;
  TimePoint now = kStart;
  for (const WriteResult& result : {Unseen(), denied}) {
    ASSERT_EQ(At(now += kMaxRetryPause).size(), 1u);
    EXPECT_FALSE(pending_.Settle({kOperation, result}, now));
    EXPECT_TRUE(pending_.Unknown(kOperation));
  }
  const auto sent = At(now += kMaxRetryPause);
  ASSERT_EQ(sent.size(), 1u);
  EXPECT_EQ(sent[0].earlier, first) << "the refusals say nothing of the items either";
  WriteResult refused;
  refused.outcome = Outcome::kRefused;
  refused.revision = Revision{31};
  const auto settled = pending_.Settle({kOperation, refused}, now);
  ASSERT_TRUE(settled);
  EXPECT_FALSE(settled->sent_once);
}

}  // namespace
}  // namespace baton::core
