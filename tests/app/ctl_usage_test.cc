// batonctl and command lines that are wrong: the real program says what it expected.
#include <string>
#include <utility>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "app/batonctl.h"

namespace baton::app {
namespace {

// Plan: a verb without the one that must follow, and text in place of numbers; also numbers of 64
// bits.
TEST(BatonctlUsage, AUsageErrorSaysWhatWasExpected) {
  const std::vector<std::pair<std::vector<std::string>, std::string>> table = {
      {{"shards"}, "\"shards\" needs one of list, describe, transfer, retry, release; see"},
      {{"shards", "describe", "abc"},
       "shard: \"abc\" is not valid; expected a whole number from 0 to 4294967295; see"},
      {{"shards", "describe", "4294967296"},
       "shard: \"4294967296\" is not valid; expected a whole number from 0 to 4294967295; see"},
      {{"nodes", "set", "n1", "--weight", "-1"},
       "--weight: \"-1\" is not valid; expected a whole number from 0 to 4294967295; see"},
      {{"events", "--after", "-1"},
       "--after: \"-1\" is not valid; expected a whole number from 0 to 18446744073709551615; see"},
      {{"shards", "transfer", "1", "--to", "n2", "--if-term", "1x"},
       "--if-term: \"1x\" is not valid; expected a whole number from 0 to 9223372036854775807; "
       "see"},
      {{"status", "--timeout", "0s"},
       "--timeout: \"0s\" leaves no time; expected 1ms or more; see"}};
  for (const auto& [words, line] : table) {
    const Ran ran = RunProcess(Ctl("127.0.0.1:1", words));
    EXPECT_EQ(ran.exit, 2);
    EXPECT_EQ(ran.err, "batonctl: " + line + " batonctl --help\n");
  }
}

}  // namespace
}  // namespace baton::app
