// Changes of a running node: what comes of them, what is refused, and what messages say.
#include "base/node_change.h"

#include <gtest/gtest.h>

#include <string>
#include <utility>

#include "base/limits.h"

namespace baton {
namespace {

const NodeSettings kBefore{.weight = 2, .labels = {{"disk", "hdd"}, {"rack", "r7"}}};

TEST(NodeChange, WhatIsNotNamedStays) {
  EXPECT_EQ(SettingsAfter(kBefore, {.weight = 0}).value(),
            (NodeSettings{.weight = 0, .labels = kBefore.labels}));
  EXPECT_EQ(
      SettingsAfter(kBefore, {.labels = {{"disk", "ssd"}, {"cpu", "arm"}}}).value(),
      (NodeSettings{.weight = 2, .labels = {{"cpu", "arm"}, {"disk", "ssd"}, {"rack", "r7"}}}));
  EXPECT_EQ(SettingsAfter(kBefore, {.removed = {"disk"}}).value(),
            (NodeSettings{.weight = 2, .labels = {{"rack", "r7"}}}));
}

// Plan: the weight and the label that the node has, and a label to remove that it lacks.
TEST(NodeChange, WhatIsSoAlreadyChangesNothing) {
  const NodeChange same{.weight = 2, .labels = {{"disk", "hdd"}}, .removed = {"cpu"}};
  EXPECT_EQ(SettingsAfter(kBefore, same).value(), kBefore);
}

TEST(NodeChange, EachBadOneHasItsLine) {
  Labels many;
  for (std::size_t i = 0; i < kMaxLabels; ++i) many["l" + std::to_string(i)] = "v";
  const std::pair<NodeChange, const char*> table[] = {
      {{}, "nothing to change; give a weight or a label"},
      {{.weight = kMaxWeight + 1}, "weight is 1000001; give 0 to 1000000"},
      {{.labels = {{"zone", "a"}}}, "label 'zone' is the node's zone already; leave it out"},
      {{.removed = {"node"}}, "label 'node' is the node's id already; leave it out"},
      {{.labels = {{"Disk", "ssd"}}},
       "'Disk' is not a valid label name; give 1 to 63 lower-case letters, digits, '-', '_', '.' "
       "and "
       "'/', beginning with a letter or digit"},
      {{.removed = {""}},
       "'' is not a valid label name; give 1 to 63 lower-case letters, digits, '-', '_', '.' and "
       "'/', beginning with a letter or digit"},
      {{.labels = {{"disk", "a b"}}},
       "the value of label 'disk' is not valid; give 1 to 128 letters, digits, '-', '_' and '.', "
       "and neither \".\" nor \"..\""},
      {{.labels = {{"disk", "ssd"}}, .removed = {"disk"}},
       "label 'disk' is given and removed; do one of these"},
      {{.labels = many}, "34 labels; give at most 32"}};
  for (const auto& [change, line] : table) {
    const Result<NodeSettings> after = SettingsAfter(kBefore, change);
    ASSERT_FALSE(after.ok()) << line;
    EXPECT_EQ(after.error().code, ErrorCode::kInvalidArgument);
    EXPECT_EQ(after.error().message, line);
  }
  const NodeChange room{.labels = many, .removed = {"disk", "rack"}};
  EXPECT_EQ(SettingsAfter(kBefore, room).value().labels, many) << "what goes makes room";
}

TEST(NodeChange, Words) {
  EXPECT_EQ(ChangeWords({.weight = 3, .labels = {{"disk", "ssd"}}, .removed = {"rack"}}),
            "weight 3, label disk=ssd, no label rack");
  EXPECT_EQ(SettingsWords(kBefore), "weight 2, labels disk=hdd, rack=r7");
  EXPECT_EQ(SettingsWords({.weight = 1, .labels = {{"disk", "ssd"}}}), "weight 1, label disk=ssd");
  EXPECT_EQ(SettingsWords({}), "weight 1, no labels");
}

}  // namespace
}  // namespace baton
