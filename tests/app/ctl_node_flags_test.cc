// The flags of `batonctl nodes set`: what is refused stays on one line.
#include <gtest/gtest.h>

#include <string>

#include "app/ctl/node_flags.h"
#include "base/text_rules.h"

namespace baton::app {
namespace {

std::string Refusal(const NodeFlags& flags) {
  const Result<NodeChange> change = ParseNodeFlags(flags);
  return change.ok() ? "accepted" : change.error().message;
}

// Plan: labels with bytes that a terminal would obey, and a very long one, at each place that
// repeats a label.
TEST(NodeFlags, OddLabelsStayOnOneShortLine) {
  EXPECT_EQ(Refusal({.labels = {"a\n\x1b[31m"}}),
            "\"a\\n\\u001b[31m\" is no label; expected NAME=VALUE, such as disk=ssd");
  EXPECT_EQ(Refusal({.labels = {"a\n=1", "a\n=2"}}),
            "label \"a\\n\" is given twice; give one value");
  const std::string longest(kLongestName, 'x');
  EXPECT_EQ(Refusal({.labels = {std::string(5000, 'x')}}),
            "\"" + longest + "...\" is no label; expected NAME=VALUE, such as disk=ssd");
  for (const NodeFlags& flags :
       {NodeFlags{.labels = {"a\n=1"}}, NodeFlags{.labels = {"a=1\n"}},
        NodeFlags{.removed = {"a\n"}}, NodeFlags{.labels = {"a\n=1"}, .removed = {"a\n"}}}) {
    const std::string message = Refusal(flags);
    EXPECT_NE(message, "accepted");
    EXPECT_EQ(message.find('\n'), std::string::npos) << message;
  }
}

}  // namespace
}  // namespace baton::app
