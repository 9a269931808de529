// A program's words about its standbys, from any thread, until the loop takes them.
#include "runtime/standby_words.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <tuple>
#include <vector>

namespace baton::runtime {
namespace {

using core::CallbackKind;
using ::testing::ElementsAre;
using ::testing::IsEmpty;
using Word = std::tuple<core::OperationId, std::uint32_t, bool>;  // operation, shard, ready

constexpr ShardId kOne{1};
constexpr ShardId kTwo{2};

void Runs(StandbyWords& words, core::OperationId operation, ShardId shard, CallbackKind kind) {
  words.Note({.operation = operation, .shard = shard, .kind = kind, .term = {}});
}

std::vector<Word> Taken(StandbyWords& words, std::size_t most = 100) {
  std::vector<Word> taken;
  for (const core::StandbyReadySaid& word : words.Take(most)) {
    taken.emplace_back(word.operation, word.shard.value, word.ready);
  }
  return taken;
}

// Plan: a word about a shard counts for the standby whose callback ran last, and for none before
// the first standby and after its end, which each of three callbacks makes.
TEST(StandbyWords, AreAboutTheStandbyWhoseCallbackRanLast) {
  StandbyWords words;
  EXPECT_FALSE(words.Say(kOne, true)) << "no standby yet";
  core::OperationId operation = 10;
  for (const CallbackKind end :
       {CallbackKind::kStandbyEnded, CallbackKind::kAcquired, CallbackKind::kLost}) {
    const core::OperationId begun = ++operation;
    Runs(words, begun, kOne, CallbackKind::kStandby);
    EXPECT_TRUE(words.Say(kOne, true));
    EXPECT_THAT(Taken(words), ElementsAre(Word{begun, 1, true}));
    EXPECT_THAT(Taken(words), IsEmpty());
    Runs(words, ++operation, kOne, CallbackKind::kPrepare);
    EXPECT_TRUE(words.Say(kOne, false)) << "Prepare ends no standby";
    EXPECT_THAT(Taken(words), ElementsAre(Word{begun, 1, false}));
    EXPECT_THAT(Taken(words), IsEmpty());
    Runs(words, ++operation, kOne, end);
    EXPECT_FALSE(words.Say(kOne, true)) << ToString(end);
    EXPECT_THAT(Taken(words), IsEmpty());
  }
}

// Plan: a word waits while its standby ends and another one begins. It is still about the first
// one, so that the core ignores it; the next word replaces it.
TEST(StandbyWords, ALateOneIsNotAboutTheNextStandby) {
  StandbyWords words;
  Runs(words, 5, kOne, CallbackKind::kStandby);
  EXPECT_TRUE(words.Say(kOne, true));
  Runs(words, 6, kOne, CallbackKind::kStandbyEnded);
  Runs(words, 7, kOne, CallbackKind::kStandby);
  EXPECT_THAT(Taken(words), ElementsAre(Word{5, 1, true}));
  EXPECT_FALSE(words.Say(kOne, false)) << "a step is on its way";
  EXPECT_FALSE(words.Say(core::StandbyReadySaid{5, kOne, true})) << "and a later standby is known";
  EXPECT_THAT(Taken(words), ElementsAre(Word{7, 1, false}));
}

// Plan: a thousand words each about two shards between two looks of the loop. One step is on its
// way, and it takes the last words, in the order in which the shards were first spoken of.
TEST(StandbyWords, OneStepTakesTheLastWordAboutEachShard) {
  StandbyWords words;
  Runs(words, 3, kTwo, CallbackKind::kStandby);
  Runs(words, 4, kOne, CallbackKind::kStandby);
  EXPECT_TRUE(words.Say(kTwo, false));
  for (int i = 0; i < 1000; ++i) {
    EXPECT_FALSE(words.Say(kOne, i % 2 == 0));
    EXPECT_FALSE(words.Say(kTwo, i % 2 != 0));
  }
  EXPECT_THAT(Taken(words), ElementsAre(Word{3, 2, true}, Word{4, 1, false}));
  EXPECT_THAT(Taken(words), IsEmpty());
  EXPECT_TRUE(words.Say(kOne, true)) << "none is on its way";
}

// Plan: more shards than one turn of the loop takes, and one that is spoken of all the time. The
// turns take the others, too, each in its place.
TEST(StandbyWords, AShardThatIsSpokenOfAllTheTimeHoldsUpNoOther) {
  StandbyWords words;
  std::vector<std::uint32_t> taken;
  for (std::uint32_t shard = 0; shard < 5; ++shard) {
    EXPECT_EQ(words.Say({shard + 1, ShardId{shard}, true}), shard == 0);
  }
  for (auto turn = Taken(words, 2); !turn.empty() && taken.size() < 9; turn = Taken(words, 2)) {
    for (const auto& [operation, shard, ready] : turn) taken.push_back(shard);
    EXPECT_FALSE(words.Say({1, ShardId{0}, true}));
  }
  EXPECT_THAT(taken, ElementsAre(0, 1, 2, 3, 4, 0, 0, 0, 0));
}

}  // namespace
}  // namespace baton::runtime
