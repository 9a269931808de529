// batonctl's `nodes set`: the real program against a real gRPC server on a fake node.
#include <string>
#include <utility>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "app/batonctl.h"
#include "runtime/admin_server.h"

namespace baton::app {
namespace {

using runtime::AdminServer;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::SizeIs;

class BatonctlNodesSet : public testing::Test {
 protected:
  // The node that is asked is n1.
  Ran Set(std::vector<std::string> words) {
    words.insert(words.begin(), {"nodes", "set"});
    return Batonctl(server_, words);
  }
  NodeSettings SettingsNow() {
    const MemberFact fact = server_.control.Now().members[0].fact;
    return {.weight = fact.weight, .labels = fact.labels};
  }

  AdminServer server_{{"n1", "n2", "n3"}, 6};
};

// Plan: weight and labels in one command, in each of the ways in which a list can be given; then a
// label is removed. The list of nodes shows it. The hint goes to stderr.
TEST_F(BatonctlNodesSet, WeightAndLabelsAreSetAndShown) {
  const Ran set =
      Set({"n1", "--weight", "3", "--label", "disk=ssd,rack=r7", "--label=example.org/cpu=arm"});
  EXPECT_EQ(set.exit, 0);
  EXPECT_EQ(set.out, "n1 now has weight 3, labels disk=ssd, example.org/cpu=arm, rack=r7\n");
  EXPECT_EQ(set.err,
            "batonctl: this holds until n1 ends: after a restart its flags and config file count "
            "again\n");
  const Labels labels{{"disk", "ssd"}, {"example.org/cpu", "arm"}, {"rack", "r7"}};
  EXPECT_EQ(SettingsNow(), (NodeSettings{.weight = 3, .labels = labels}));
  EXPECT_THAT(Batonctl(server_, {"nodes", "list", "-o", "wide"}).out, HasSubstr("disk=ssd"));
  const Ran removed =
      Set({"n1", "--remove-label", "rack", "--remove-label=example.org/cpu,other", "-o", "json"});
  EXPECT_EQ(removed.exit, 0);
  EXPECT_EQ(removed.out,
            R"({"result":"done","message":"n1 now has weight 3, label disk=ssd","node":"n1",)"
            R"("weight":3,"labels":{"disk":"ssd"}})"
            "\n");
}

// Plan: what the node has already. Then a dry run, which asks the node, too.
TEST_F(BatonctlNodesSet, WhatChangesNothingSaysSo) {
  const Ran same = Set({"n1", "--weight=1", "--remove-label=rack"});
  EXPECT_EQ(same.exit, 0);
  EXPECT_EQ(same.out, "n1 has weight 1, no labels already\n");
  EXPECT_THAT(same.err, IsEmpty());
  EXPECT_EQ(Set({"n1", "--weight=1", "-o", "json"}).out,
            R"({"result":"unchanged","message":"n1 has weight 1, no labels already","node":"n1",)"
            R"("weight":1,"labels":{}})"
            "\n");
  const Ran dry = Set({"n1", "--dry-run", "--label=disk=ssd"});
  EXPECT_EQ(dry.exit, 0);
  EXPECT_EQ(dry.out, "n1 would have weight 1, label disk=ssd\n");
  EXPECT_THAT(dry.err, IsEmpty());
  EXPECT_THAT(server_.control.NodeChanges(), SizeIs(3));
  EXPECT_EQ(SettingsNow(), NodeSettings{});
}

// Plan: each bad command line has one line of its own, and is refused without a call.
TEST_F(BatonctlNodesSet, BadWordsAreRefusedWithoutACall) {
  const std::pair<std::vector<std::string>, const char*> table[] = {
      {{"n1"}, "give --weight, --label or --remove-label"},
      {{"n1", "--weight=1000001"},
       "\"1000001\" is not valid; expected a whole number from 0 to 1000000"},
      {{"n1", "--weight=-1"}, "--weight"},
      {{"n1", "--weight=many"}, "--weight"},
      {{"n1", "--label=disk"}, "\"disk\" is no label; expected NAME=VALUE, such as disk=ssd"},
      {{"n1", "--label=disk=a,disk=b"}, "label \"disk\" is given twice; give one value"},
      {{"n1", "--label=zone=a"}, "label 'zone' is the node's zone already; leave it out"},
      {{"n1", "--label=Disk=a"},
       "'Disk' is not a valid label name; give 1 to 63 lower-case letters"},
      {{"n1", "--label=disk="}, "the value of label 'disk' is not valid"},
      {{"n1", "--label=disk=a", "--remove-label=disk"},
       "label 'disk' is given and removed; do one of these"},
      {{"n1", "--remove-label=node"}, "label 'node' is the node's id already; leave it out"},
      {{"--weight=3"}, "node is required"}};
  for (const auto& [words, line] : table) {
    const Ran ran = Set(words);
    EXPECT_EQ(ran.exit, 2) << line;
    EXPECT_THAT(ran.err, HasSubstr(line));
  }
  EXPECT_THAT(server_.control.NodeChanges(), IsEmpty());
}

// Plan: the endpoint is another node's.
TEST_F(BatonctlNodesSet, TheNodesRefusalIsTheAnswer) {
  const Ran refused = Set({"n2", "--weight=3"});
  EXPECT_EQ(refused.exit, 6);
  EXPECT_EQ(refused.err, "batonctl: ask n2\n");
  EXPECT_THAT(refused.out, IsEmpty());
}

}  // namespace
}  // namespace baton::app
