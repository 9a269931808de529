// The words of causes, which people read in logs, tables and on the page.
#include "baton/cause.h"

#include <gtest/gtest.h>

#include <set>
#include <string>

namespace baton {
namespace {

TEST(Cause, EachKindHasAWordOfItsOwnAndPlainWords) {
  std::set<std::string> kinds;
  std::set<std::string> words;
  for (int i = 0; i < kCauseCount; ++i) {
    const Cause cause{.kind = static_cast<CauseKind>(i)};
    kinds.insert(ToString(cause.kind));
    words.insert(CauseWords(cause));
  }
  EXPECT_EQ(kinds.size(), std::size_t{kCauseCount});
  EXPECT_EQ(words.size(), std::size_t{kCauseCount});
  EXPECT_EQ(CauseWords({}), "");
}

TEST(Cause, ItsWordsNameTheRuleAndTheDetail) {
  const auto words = [](CauseKind kind, std::uint32_t rule, const char* detail) {
    return CauseWords({.kind = kind, .rule = rule, .detail = detail});
  };
  EXPECT_EQ(words(CauseKind::kReadyStandby, 1, "zone=b"), "ready standby in zone b");
  EXPECT_EQ(words(CauseKind::kReadyStandby, 1, ""), "ready standby");
  EXPECT_EQ(words(CauseKind::kPassedOver, 0, "n2"), "n2 did not claim it");
  EXPECT_EQ(words(CauseKind::kRuleRequires, 2, "disk=ssd"), "rule 2 requires disk=ssd");
  EXPECT_EQ(words(CauseKind::kRulePrefers, 2, "zone=a,disk=ssd"), "rule 2 prefers zone=a,disk=ssd");
  EXPECT_EQ(words(CauseKind::kDrain, 0, "n2"), "n2 gives its shards away");
  EXPECT_EQ(words(CauseKind::kRuleForbids, 64, "n2"), "rule 64 forbids n2");
  EXPECT_EQ(words(CauseKind::kActivationFailed, 0, "n2"), "activation failed on n2");
}

// Plan: a detail that could not be read back, and a rule's number that is missing.
TEST(Cause, ItsWordsAreASentenceWithoutTheDetail) {
  EXPECT_EQ(CauseWords({.kind = CauseKind::kPassedOver}), "another node did not claim it");
  EXPECT_EQ(CauseWords({.kind = CauseKind::kRulePrefers}), "a rule prefers it");
  EXPECT_EQ(CauseWords({.kind = CauseKind::kRuleForbids, .rule = 3}), "rule 3 forbids its leader");
  EXPECT_EQ(CauseWords({.kind = CauseKind::kDrain}), "its leader gives its shards away");
}

}  // namespace
}  // namespace baton
