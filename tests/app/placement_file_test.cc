// The file of `batonctl placement`: what it may say, and the one line that refuses it otherwise.
#include <unistd.h>

#include <string>
#include <utility>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "app/ctl/interrupt.h"
#include "app/ctl/placement_file.h"

namespace baton::app {
namespace {

Placement Read(const std::string& text) {
  const Result<Placement> placement = ParsePlacement("p.yaml", text);
  EXPECT_TRUE(placement.ok()) << (placement.ok() ? "" : placement.error().message);
  return placement.ok() ? placement.value() : Placement{};
}

std::string Refusal(const std::string& text) {
  const Result<Placement> placement = ParsePlacement("p.yaml", text);
  EXPECT_FALSE(placement.ok()) << text;
  if (placement.ok()) return "";
  EXPECT_EQ(placement.error().code, ErrorCode::kInvalidArgument);
  return placement.error().message;
}

std::string Repeated(const std::string& text, std::size_t times) {
  std::string all;
  for (std::size_t i = 0; i < times; ++i) all += text;
  return all;
}

const Placement kAllForms = {
    {.shards = {{0, 99}, {120, 120}},
     .require = {{"zone", {"a"}}, {"disk", {"ssd", "nvme"}}},
     .prefer = {{{"zone", {"a"}}}, {{"zone", {"b"}}, {"rack", {"7"}}}}},
    {.shards = {{7, 7}}, .require = {{"node", {"n3"}}}, .prefer = {}},
    {.shards = {}, .require = {}, .prefer = {{{"example.org/x", {"null", "a-1.b_C"}}}}},
    {.shards = {{8, 8}}, .require = {}, .prefer = {}, .standbys = 8, .spread = "7-racks"},
    {.shards = {}, .require = {}, .prefer = {}, .standbys = 1},
    {}};

// Plan: texts and lists, several values, a pin, and a rule that says nothing.
TEST(PlacementFile, SaysRules) {
  EXPECT_EQ(Read("rules:\n"
                 "  - shards: 0-99, 120\n"
                 "    require: {zone: a, disk: [ssd, nvme]}\n"
                 "    prefer: [{zone: a}, {zone: b, rack: 7}]\n"
                 "  - shards: 7\n"
                 "    node: n3\n"
                 "  - prefer: [{example.org/x: ['null', a-1.b_C]}]\n"
                 "  - {spread: 7-racks, standbys: '8', shards: 8}\n"
                 "  - standbys: 1\n"
                 "  - standbys: 0\n"),
            kAllForms);
  EXPECT_EQ(Read("rules: [{shards: [0-99, 120, '5,6'], node: [n1, n2]}]"),
            (Placement{{.shards = {{0, 99}, {120, 120}, {5, 5}, {6, 6}},
                        .require = {{"node", {"n1", "n2"}}},
                        .prefer = {}}}));
  EXPECT_EQ(Read("rules: []"), Placement{});
  EXPECT_EQ(Read("# nobody is told where to lead\nrules: [] # none\n"), Placement{});
}

// Plan: a pin and labels besides it make one rule.
TEST(PlacementFile, APinIsALabelLikeOthers) {
  EXPECT_EQ(Read("rules: [{node: n3, require: {zone: a}}]"),
            Read("rules: [{require: {node: n3, zone: a}}]"));
  EXPECT_EQ(Refusal("rules:\n- node: n3\n  require: {node: n4}"),
            "p.yaml:3: label node is there twice; give it once, with all its values");
}

// Plan: each form is printed and read again. A word that YAML could take for a number, a truth or
// nothing is in quotes.
TEST(PlacementFile, WhatIsPrintedIsReadAgain) {
  const std::string yaml = PlacementYaml(kAllForms);
  EXPECT_EQ(yaml,
            "rules:\n"
            "  - shards: 0-99, 120\n"
            "    require: {zone: a, disk: [ssd, nvme]}\n"
            "    prefer: [{zone: a}, {zone: b, rack: \"7\"}]\n"
            "  - shards: 7\n"
            "    node: n3\n"
            "  - prefer: [{example.org/x: [\"null\", a-1.b_C]}]\n"
            "  - shards: 8\n"
            "    standbys: 8\n"
            "    spread: \"7-racks\"\n"
            "  - standbys: 1\n"
            "  - {}\n");
  EXPECT_EQ(Read(yaml), kAllForms);
  const std::string json = PlacementJson(kAllForms);
  EXPECT_EQ(json,
            R"({"rules":[{"shards":["0-99","120"],"require":{"zone":["a"],"disk":["ssd","nvme"]},)"
            R"("prefer":[{"zone":["a"]},{"zone":["b"],"rack":["7"]}]},)"
            R"({"shards":["7"],"require":{"node":["n3"]}},)"
            R"({"prefer":[{"example.org/x":["null","a-1.b_C"]}]},)"
            R"({"shards":["8"],"standbys":8,"spread":"7-racks"},{"standbys":1},{}]})");
  EXPECT_EQ(Read(json), kAllForms);
  EXPECT_EQ(PlacementYaml({}), "rules: []\n");
  EXPECT_EQ(Read(PlacementJson({})), Placement{});
  for (const char* value : {"-", "..a", "~", "1e3", "0x1", "yes", "True", "NULL", "y", "-1"}) {
    const Placement odd = {{.shards = {}, .require = {{"null", {value}}}, .prefer = {}}};
    if (!CheckPlacement(odd)) continue;
    EXPECT_EQ(Read(PlacementYaml(odd)), odd) << value;
  }
}

// Plan: each fault in one line: where it is, what is wrong, and what was expected.
TEST(PlacementFile, WrongFilesAreRefused) {
  const std::string no_rules = "expected rules: and a list of rules, or rules: []";
  const std::string no_rule = "expected shards, require, prefer, node, standbys or spread";
  const std::string no_shards =
      "expected numbers and ranges, such as 7 or 0-99, 120; leave shards out for all shards";
  const std::string no_labels = "expected labels and values, such as {zone: a, disk: [ssd, nvme]}";
  const std::string no_value = "expected one value or a list of values, such as a or [a, b]";
  const std::vector<std::pair<std::string, std::string>> table = {
      {"", "1: there is nothing; " + no_rules},
      {"# only words\n", "1: there is nothing; " + no_rules},
      {"- a", "1: " + no_rules},
      {"{}", "1: " + no_rules},
      {"rules: []\n---\nrules: []\n", "2: a second YAML document begins here; keep one"},
      {"{rules: []},\nrules: []\n", "1: a second YAML document begins here; keep one"},
      {"rules: []\nrule: 7\n",
       "2: unknown key \"rule\"; " + no_rules + "; did you mean \"rules\"?"},
      {"rules: []\nrules: []\n", "2: \"rules\" is there twice; keep one"},
      {"? [a]\n: b\n", "1: a key is not a word; " + no_rules},
      {"rules:\n", "1: rules has no value"},
      {"rules: {}", "1: rules is no list; " + no_rules},
      {"rules:\n  - 7\n", "2: this is no rule; " + no_rule},
      {"rules:\n  -\n", "3: this is no rule; " + no_rule},
      {"rules:\n  - standby: 2\n",
       "2: unknown key \"standby\"; " + no_rule + "; did you mean \"standbys\"?"},
      {"rules:\n  - requires: {zone: a}\n",
       "2: unknown key \"requires\"; " + no_rule + "; did you mean \"require\"?"},
      {"rules:\n  - {shards: 0-99, 120}\n", "2: unknown key \"120\"; " + no_rule},
      {"rules:\n  - node: a\n    node: b\n", "3: \"node\" is there twice; keep one"},
      {"rules:\n  - shards: []\n", "2: shards names no shards; " + no_shards},
      {"rules:\n  - shards:\n", "2: shards has no value"},
      {"rules:\n  - shards: {0: 9}\n", "2: shards names no shards; " + no_shards},
      {"rules:\n  - shards: [[1]]\n", "2: this is no range; " + no_shards},
      {"rules:\n  - shards: all\n", "2: \"all\" is no shard and no range of shards; " + no_shards},
      {"rules:\n  - shards: 1-\n", "2: \"1-\" is no shard and no range of shards; " + no_shards},
      {"rules:\n  - shards: 1,,2\n", "2: \"\" is no shard and no range of shards; " + no_shards},
      {"rules:\n  - shards: -1\n", "2: \"-1\" is no shard and no range of shards; " + no_shards},
      {"rules:\n  - shards: 4294967296\n",
       "2: \"4294967296\" is no shard and no range of shards; " + no_shards},
      {"rules:\n  - node: a\n  - shards: 9-3\n",
       "3: rule 2: shards: shards 9-3 are no range; give the lower number first, and none above "
       "999999"},
      {"rules:\n  - shards: 1000000\n",
       "2: rule 1: shards: shards 1000000-1000000 are no range; give the lower number first, and "
       "none above 999999"},
      {"rules:\n  - require:\n", "2: require has no value"},
      {"rules:\n  - require:\n      zone:\n", "3: label zone: it has no value; " + no_value},
      {"rules:\n  - require: zone\n", "2: require has no labels; " + no_labels},
      {"rules:\n  - require: {}\n", "2: require has no labels; " + no_labels},
      {"rules:\n  - require: {zone: }\n", "2: label zone: it has no value; " + no_value},
      {"rules:\n  - require: {zone: []}\n", "2: label zone: it has no value; " + no_value},
      {"rules:\n  - require: {zone: {a: b}}\n", "2: label zone: it has no value; " + no_value},
      {"rules:\n  - require: {zone: [[a]]}\n", "2: label zone: this is no value; " + no_value},
      {"rules:\n  - require: {zone: [a, a]}\n", "2: label zone: \"a\" is there twice; keep one"},
      {"rules:\n  - require:\n      zone: a\n      disk: 'a b'\n",
       "4: label disk: \"a b\" is no value; expected 1 to 128 letters, digits, '-', '_' and '.', "
       "and neither \".\" nor \"..\""},
      {"rules:\n  - require: {Zone: a}\n",
       "2: \"Zone\" is no label's name; expected 1 to 63 lower-case letters, digits, '-', '_', '.' "
       "and '/', beginning with a letter or digit"},
      {"rules:\n  - require: {zone: a, zone: b}\n",
       "2: label zone is there twice; give it once, with all its values"},
      {"rules:\n  - prefer: {zone: a}\n",
       "2: prefer is no list; expected a list, the best first, such as [{zone: a}, {zone: b}]"},
      {"rules:\n  - node: n1\n\t- node: n2\n",
       "3: this is not YAML: a tab indents this line; use spaces"},
      {"rules:\n  - prefer: [zone]\n", "2: a preference has no labels; " + no_labels},
      {"rules: [\n", "2: this is not YAML: end of sequence flow not found"},
      {"rules: [" + Repeated("{},", 65) + "]", "1: there are 65 rules; expected at most 64"},
      {"rules: [{shards: '" + Repeated("1,", 256) + "1'}]",
       "1: there are more than 256 ranges of shards; expected at most so many in a rule"},
      {"rules: [{prefer: [" + Repeated("{zone: a},", 9) + "]}]",
       "1: there are 9 preferences; expected at most 8"}};
  for (const auto& [text, message] : table) EXPECT_EQ(Refusal(text), "p.yaml:" + message);
}

// Plan: words that are no number, numbers that are too great, and labels by which nobody can be
// spread.
TEST(PlacementFile, WrongStandbysAreRefused) {
  const std::vector<std::pair<std::string, std::string>> table = {
      {"standbys: two", "standbys is \"two\"; expected a number from 0 to 8"},
      {"standbys: 9", "standbys is \"9\"; expected a number from 0 to 8"},
      {"standbys: -1", "standbys is \"-1\"; expected a number from 0 to 8"},
      {"standbys: 1.5", "standbys is \"1.5\"; expected a number from 0 to 8"},
      {"standbys: ''", "standbys is \"\"; expected a number from 0 to 8"},
      {"standbys: [1]", "standbys is no number; expected a number from 0 to 8"},
      {"standbys:", "standbys has no value"},
      {"standbys: 1\n    spread: Zone",
       "spread is \"Zone\"; expected a label's name, such as zone"},
      {"standbys: 1\n    spread: {zone: a}",
       "spread is no label's name; expected a label's name, such as zone"},
      {"standbys: 1\n    spread: node",
       "rule 1: spread: each node has a value of label 'node' of its own; give another label"},
      {"spread: zone", "rule 1: spread needs standbys; give standbys, too"}};
  for (const auto& [rule, message] : table) {
    const bool third_line = message.starts_with("spread is");
    EXPECT_EQ(Refusal("rules:\n  - " + rule + "\n"),
              (third_line ? "p.yaml:3: " : "p.yaml:2: ") + message);
  }
}

// Plan: what a file repeats stays one short line, whatever bytes it has.
TEST(PlacementFile, OddBytesStayOnOneLine) {
  const std::string message = Refusal("rules: [{\"a\\n\\e[31m" + std::string(500, 'x') + "\": 1}]");
  EXPECT_EQ(message.find('\n'), std::string::npos);
  EXPECT_EQ(message.find('\x1b'), std::string::npos);
  EXPECT_LT(message.size(), 300u);
}

TEST(PlacementFile, AFileThatCantBeReadIsNamed) {
  const Result<Placement> missing = ReadPlacementFile("/nowhere/rules.yaml");
  ASSERT_FALSE(missing.ok());
  EXPECT_EQ(missing.error().code, ErrorCode::kInvalidArgument);
  EXPECT_THAT(missing.error().message, testing::HasSubstr("/nowhere/rules.yaml"));
}

// Plan: a signal came while stdin was read; what was read may be half of it.
TEST(PlacementFile, WhatAnInterruptedReadGotIsNotUsed) {
  int ends[2];
  ASSERT_EQ(pipe(ends), 0);
  ASSERT_EQ(write(ends[1], "rules: []", 9), 9);
  close(ends[1]);
  const int before = dup(STDIN_FILENO);
  ASSERT_EQ(dup2(ends[0], STDIN_FILENO), STDIN_FILENO);
  Interrupt::Raise();
  const auto read = ReadPlacementFile("-");
  ASSERT_FALSE(read.ok());
  EXPECT_EQ(read.error().message, "interrupted");
  dup2(before, STDIN_FILENO);
  close(before);
  close(ends[0]);
}

}  // namespace
}  // namespace baton::app
