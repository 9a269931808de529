// batonctl and command lines, files and outputs that are wrong: what the real program says.
#include <string>
#include <utility>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "app/batonctl.h"
#include "runtime/admin_server.h"

namespace baton::app {
namespace {

// A command of bash, in which "$0" is batonctl and "$@" are the words.
RunOptions Shell(const std::string& command, const std::vector<std::string>& words) {
  RunOptions options;
  options.arguments = {"bash", "--norc", "-c", command, BATONCTL};
  options.arguments.insert(options.arguments.end(), words.begin(), words.end());
  return options;
}

// Plan: a verb without the one that must follow, text in place of numbers, numbers that are too
// great (also of 64 bits), and arguments and values that nobody takes. The line names the limits,
// and the help of the verb.
TEST(BatonctlUsage, AUsageErrorSaysWhatWasExpected) {
  struct Wrong {
    std::vector<std::string> words;
    std::string line;
    std::string verb;
  };
  const std::vector<Wrong> table = {
      {{"shards"}, "\"shards\" needs one of list, describe, transfer, retry, release", "shards"},
      {{"shards", "describe", "abc"},
       "shard: \"abc\" is not valid; expected a whole number from 0 to 999999",
       "shards describe"},
      {{"shards", "transfer", "-1", "--to", "n2"},
       "shard: \"-1\" is not valid; expected a whole number from 0 to 999999",
       "shards transfer"},
      {{"shards", "describe", "010"},
       "shard: \"010\" is not valid; expected a whole number from 0 to 999999, without leading "
       "zeros",
       "shards describe"},
      {{"history", "18446744073709551616"},
       "shard: \"18446744073709551616\" is not valid; expected a whole number from 0 to 999999",
       "history"},
      {{"nodes", "set", "n1", "--weight", "-1"},
       "--weight: \"-1\" is not valid; expected a whole number from 0 to 1000000",
       "nodes set"},
      {{"events", "--after", "-1"},
       "--after: \"-1\" is not valid; expected a whole number from 0 to 18446744073709551615",
       "events"},
      {{"shards", "transfer", "1", "--to", "n2", "--if-term", "1x"},
       "--if-term: \"1x\" is not valid; expected a whole number from 0 to 9223372036854775807",
       "shards transfer"},
      {{"recover", "--group", "g", "--above", "0"},
       "--above: \"0\" is not valid; expected a whole number from 1 to 1000000000000000000",
       "recover"},
      {{"completion", "tcsh"},
       "shell: \"tcsh\" is not valid; expected bash, zsh or fish",
       "completion"},
      {{"status", "extra"}, "unexpected argument \"extra\"", "status"},
      {{"status", "-x"}, "unknown flag -x", "status"},
      {{"health", "--wait=3"}, "--wait takes no value", "health"},
      {{"status", "--timeout", "0s"},
       "--timeout: \"0s\" leaves no time; expected 1ms or more",
       "status"}};
  for (const auto& [words, line, verb] : table) {
    const Ran ran = RunProcess(Ctl("127.0.0.1:1", words));
    EXPECT_EQ(ran.exit, 2);
    EXPECT_EQ(ran.err, "batonctl: " + line + "; see batonctl " + verb + " --help\n");
  }
}

// Plan: a folder in place of the made-up state, by its name and as stdin.
TEST(BatonctlUsage, AFolderIsNoFileToPlanFrom) {
  Ran ran = RunProcess(Ctl("127.0.0.1:1", {"plan", "-f", "/proc/self"}));
  EXPECT_EQ(ran.exit, 2);
  EXPECT_EQ(ran.err, "batonctl: can't read /proc/self: Is a directory\n");
  ran = RunProcess(Shell("\"$0\" plan -f - < /proc/self", {}));
  EXPECT_EQ(ran.exit, 2);
  EXPECT_EQ(ran.err, "batonctl: can't read stdin: Is a directory\n");
}

// Plan: stdout is a full disk, or closed, for verbs that ask a node or none, and that change
// something. A verb that ends with another exit code than 0 keeps it.
TEST(BatonctlOutput, WhatCantBeWrittenIsAFailure) {
  const std::string line = "batonctl: cannot write to stdout: the output is not complete\n";
  runtime::AdminServer server({"n1", "n2"}, 4);
  const std::vector<std::vector<std::string>> verbs = {{"shards", "list"},
                                                       {"status", "-o", "json"},
                                                       {"nodes", "list", "-o", "yaml"},
                                                       {"placement", "get"},
                                                       {"pause"},
                                                       {"version"},
                                                       {"completion", "bash"},
                                                       {"--help"}};
  for (std::vector<std::string> words : verbs) {
    words.insert(words.begin(), {"--endpoint", server.endpoint});
    for (const char* where : {">/dev/full", ">&-", "<&- >&-"}) {
      const Ran ran = RunProcess(Shell(std::string("\"$0\" \"$@\" ") + where, words));
      EXPECT_EQ(ran.exit, 1) << words[2] << where;
      EXPECT_EQ(ran.err, line) << words[2] << where;
    }
  }
  EXPECT_TRUE(server.control.Now().paused);
  const Ran missing = RunProcess(Shell(
      "\"$0\" \"$@\" >/dev/full", {"--endpoint", server.endpoint, "shards", "describe", "99"}));
  EXPECT_EQ(missing.exit, 4);
  RunOptions check =
      Shell("\"$0\" \"$@\" >/dev/full", {"--endpoint", server.endpoint, "placement", "check", "-"});
  check.input = "rules: [{node: n9}]";
  const Ran checked = RunProcess(check);
  EXPECT_EQ(checked.exit, 6);
  EXPECT_THAT(checked.err, testing::EndsWith(line));
}

// Plan: a disk that is full ends a verb that would go on for ever.
TEST(BatonctlOutput, FollowingEndsIfNothingCanBeWritten) {
  runtime::AdminServer server({"n1", "n2"}, 4);
  server.control.kept->Add({.shard = ShardId{3}, .from = "n1", .to = "n2", .term = Term{815}},
                           Revision{815}, {});
  const Ran ran = RunProcess(Shell(
      "\"$0\" \"$@\" >/dev/full", {"--endpoint", server.endpoint, "events", "-f", "--after", "0"}));
  EXPECT_EQ(ran.exit, 1);
  EXPECT_EQ(ran.err, "batonctl: cannot write to stdout: stopped following\n");
}

// Plan: the reader of the pipe is gone before batonctl begins, as in `batonctl version | true`.
TEST(BatonctlOutput, AReaderThatIsGoneIsNoFailure) {
  const Ran ran = RunProcess(
      Shell("{ trap '' PIPE; while echo x 2>/dev/null; do :; done; \"$0\" version; echo $? >&2; } "
            "| true",
            {}));
  EXPECT_EQ(ran.err, "0\n");
}

}  // namespace
}  // namespace baton::app
