// Labels and placement rules: what is allowed, what fits, and what messages say.
#include "base/placement.h"

#include <gtest/gtest.h>

#include <functional>
#include <utility>

#include "base/facts.h"
#include "base/limits.h"
#include "base/text_rules.h"

namespace baton {
namespace {

std::string BadName(const std::string& name) {
  return "'" + name +
         "' is not a valid label name; give 1 to 63 lower-case letters, digits, '-', '_', '.' and "
         "'/', beginning with a letter or digit";
}

/// The message, or "" if all is well.
std::string Refused(const Status& status) {
  if (status) return "";
  EXPECT_EQ(status.error().code, ErrorCode::kInvalidArgument);
  return status.error().message;
}

std::string BadValue(const std::string& label) {
  return "the value of label '" + label + "' is not valid; give " + kNameRule;
}

PlacementRule Rule(LabelTerms require) {
  return {.shards = {}, .require = std::move(require), .prefer = {}};
}

TEST(Labels, HaveNamesOfLowerCaseLettersDigitsAndSomeSigns) {
  const std::string longest(kLongestLabel, 'a');
  for (const std::string& name : {std::string("a"), std::string("0"), longest,
                                  std::string("example.org/disk_2-a"), std::string("a//")}) {
    EXPECT_TRUE(IsLabelName(name)) << name;
  }
  for (const std::string& name :
       {std::string(), longest + "a", std::string("Disk"), std::string("-a"), std::string("_a"),
        std::string(".a"), std::string("/a"), std::string("a b"), std::string("a=b"),
        std::string("a,b"), std::string("a\n"), std::string("caf\xc3\xa9"),
        std::string("a\0", 2)}) {
    EXPECT_FALSE(IsLabelName(name)) << name;
  }
}

// Plan: the bounds of count, names and values, on both sides; and the two names that are taken.
TEST(Labels, OfANodeAreFewValidAndItsOwn) {
  Labels many;
  for (std::size_t i = 0; i < kMaxLabels; ++i) many["l" + std::to_string(i)] = "v";
  EXPECT_EQ(Refused(CheckLabels({})), "");
  EXPECT_EQ(Refused(CheckLabels(many)), "");
  EXPECT_EQ(Refused(CheckLabels({{"disk", std::string(kLongestName, 'V')}})), "");
  many["one-more"] = "v";
  EXPECT_EQ(Refused(CheckLabels(many)), "33 labels; give at most 32");
  EXPECT_EQ(Refused(CheckLabels({{"Disk", "ssd"}})), BadName("Disk"));
  EXPECT_EQ(Refused(CheckLabels({{"", "ssd"}})), BadName(""));
  for (const std::string& value :
       {std::string(), std::string(kLongestName + 1, 'v'), std::string("a b"), std::string("a|b"),
        std::string("a/b"), std::string("..")}) {
    EXPECT_EQ(Refused(CheckLabels({{"disk", value}})), BadValue("disk")) << value;
  }
  EXPECT_EQ(Refused(CheckLabels({{"zone", "a"}})),
            "label 'zone' is the node's zone already; leave it out");
  EXPECT_EQ(Refused(CheckLabels({{"node", "n1"}})),
            "label 'node' is the node's id already; leave it out");
}

TEST(Labels, OfAMemberAreAlsoItsIdAndItsZone) {
  MemberFact member{.node = "n1", .zone = "a", .labels = {{"disk", "ssd"}}};
  EXPECT_EQ(member.Label("node"), "n1");
  EXPECT_EQ(member.Label("zone"), "a");
  EXPECT_EQ(member.Label("disk"), "ssd");
  EXPECT_EQ(member.Label("rack"), "");
}

// Plan: no terms; one value of several; one term of two that does not fit; a label that the node
// does not have.
TEST(LabelTerms, FitANodeThatHasOneOfTheValuesOfEachLabel) {
  const MemberFact member{.node = "n1", .labels = {{"disk", "ssd"}}};
  EXPECT_TRUE(member.Fits({}));
  EXPECT_TRUE(member.Fits({{"disk", {"hdd", "ssd"}}}));
  EXPECT_TRUE(member.Fits({{"disk", {"ssd"}}, {"node", {"n1"}}}));
  EXPECT_FALSE(member.Fits({{"disk", {"ssd"}}, {"node", {"n2"}}}));
  EXPECT_FALSE(member.Fits({{"disk", {"hdd"}}}));
  EXPECT_FALSE(member.Fits({{"zone", {"a"}}})) << "it has no zone";
  EXPECT_FALSE(member.Fits({{"zone", {""}}})) << "a missing label has no value";
}

TEST(LabelTerms, HaveWords) {
  EXPECT_EQ(TermWords({}), "any node");
  EXPECT_EQ(TermWords({{"zone", {"a"}}}), "zone=a");
  EXPECT_EQ(TermWords({{"zone", {"a", "b"}}, {"disk", {"ssd"}}}), "zone=a|b, disk=ssd");
}

TEST(PlacementRule, CountsForItsRangesWithBothEnds) {
  PlacementRule rule;
  EXPECT_TRUE(rule.CountsFor(ShardId{0})) << "without ranges for all";
  rule.shards = {{.first = 3, .last = 3}, {.first = 7, .last = 9}};
  std::vector<std::uint32_t> counts;
  for (std::uint32_t shard = 0; shard < 12; ++shard) {
    if (rule.CountsFor(ShardId{shard})) counts.push_back(shard);
  }
  EXPECT_EQ(counts, (std::vector<std::uint32_t>{3, 7, 8, 9}));
}

// Plan: each bound is reached, all in one; that is allowed.
TEST(Placement, MayReachEachBound) {
  LabelTerms terms;
  for (std::size_t i = 0; i < kMaxLabelTerms; ++i)
    terms.push_back({"l" + std::to_string(i), {"v"}});
  LabelTerm wide{"disk", std::vector<std::string>(kMaxLabelValues, "v")};
  PlacementRule rule = Rule(terms);
  rule.shards.assign(kMaxShardRanges, {.first = 0, .last = kMaxShards - 1});
  rule.prefer.assign(kMaxPreferences, {wide});
  rule.standbys = kMaxStandbys;
  rule.spread = std::string(kLongestLabel, 's');
  EXPECT_EQ(Refused(CheckPlacement(Placement(kMaxPlacementRules, rule))), "");
  EXPECT_EQ(Refused(CheckPlacement({})), "");
}

// Plan: each fault alone, in the second rule of two, with the whole message.
TEST(Placement, FirstFaultIsNamedWithItsPlace) {
  using Spoil = std::function<void(PlacementRule&)>;
  const std::pair<Spoil, std::string> faults[] = {
      {[](auto& rule) {
         rule.require = {{"Zone", {"a"}}};
       },
       "require: " + BadName("Zone")},
      {[](auto& rule) {
         rule.require = {{"zone", {}}};
       },
       "require: label 'zone' has no value"},
      {[](auto& rule) {
         rule.require = {{"zone", {"a", "b c"}}};
       },
       "require: " + BadValue("zone")},
      {[](auto& rule) {
         rule.require = {{"zone", {"a"}}, {"zone", {"b"}}};
       },
       "require: label 'zone' stands there twice; give it once, with all values"},
      {[](auto& rule) {
         rule.require.clear();
         for (int i = 0; i < 17; ++i) rule.require.push_back({"l" + std::to_string(i), {"v"}});
       },
       "require: 17 labels; give at most 16"},
      {[](auto& rule) {
         rule.require = {{"zone", std::vector<std::string>(65, "a")}};
       },
       "require: 65 values of a label; give at most 64"},
      {[](auto& rule) { rule.shards = {{.first = 4, .last = 3}}; },
       "shards: shards 4-3 are no range; give the lower number first, and none above 999999"},
      {[](auto& rule) { rule.shards = {{.first = 0, .last = 1'000'000}}; },
       "shards: shards 0-1000000 are no range; give the lower number first, and none above 999999"},
      {[](auto& rule) { rule.shards.assign(257, {.first = 1, .last = 1}); },
       "shards: 257 ranges of shards; give at most 256"},
      {[](auto& rule) {
         rule.prefer.assign(9, {{"zone", {"a"}}});
       },
       "9 preferences; give at most 8"},
      {[](auto& rule) {
         rule.prefer = {{{"zone", {"a"}}}, {}};
       },
       "preference 2 has no label"},
      {[](auto& rule) {
         rule.prefer = {{{"zone", {"a"}}}, {{"zone", {""}}}};
       },
       "preference 2: " + BadValue("zone")},
      {[](auto& rule) { rule.standbys = 9; }, "9 standbys; give at most 8"},
      {[](auto& rule) {
         rule.standbys = 1;
         rule.spread = "Zone";
       },
       "spread: " + BadName("Zone")},
      {[](auto& rule) {
         rule.standbys = 1;
         rule.spread = "node";
       },
       "spread: each node has a value of label 'node' of its own; give another label"},
      {[](auto& rule) { rule.spread = "zone"; }, "spread needs standbys; give standbys, too"}};
  for (const auto& [spoil, words] : faults) {
    Placement placement(2, Rule({{"zone", {"a"}}}));
    EXPECT_EQ(Refused(CheckPlacement(placement)), "");
    spoil(placement[1]);
    EXPECT_EQ(Refused(CheckPlacement(placement)), "rule 2: " + words);
  }
}

// Plan: one rule too many; and texts that are short enough one by one, but not together.
TEST(Placement, IsBoundedAsAWhole) {
  EXPECT_EQ(Refused(CheckPlacement(Placement(65, Rule({})))), "65 rules; give at most 64");
  // 64 rules of 8 values of 128 bytes are 64 KiB; the labels come on top.
  const LabelTerms terms{{"zone", std::vector<std::string>(8, std::string(128, 'z'))}};
  EXPECT_EQ(Refused(CheckPlacement(Placement(63, Rule(terms)))), "");
  EXPECT_EQ(Refused(CheckPlacement(Placement(64, Rule(terms)))),
            "the rules have 65792 bytes of labels and values; at most 65536 are allowed");
}

// Plan: rules that just fit, and one more label that is counted, too.
TEST(Placement, TheLabelThatSpreadsCountsAsText) {
  const LabelTerms terms{{"zone", std::vector<std::string>(8, std::string(128, 'z'))}};
  Placement placement(63, Rule(terms));  // 64,764 bytes
  for (std::size_t r = 0; r < 12; ++r) {
    placement[r].standbys = 1;
    placement[r].spread = std::string(kLongestLabel, 's');
  }
  EXPECT_EQ(Refused(CheckPlacement(placement)), "");
  placement[12].standbys = 1;
  placement[12].spread = std::string(kLongestLabel, 's');
  EXPECT_EQ(Refused(CheckPlacement(placement)),
            "the rules have 65583 bytes of labels and values; at most 65536 are allowed");
}

}  // namespace
}  // namespace baton
