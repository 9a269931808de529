// What a node makes of its options before it starts.
#include "runtime/node_options.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>

namespace baton::runtime {
namespace {

using testing::AllOf;
using testing::HasSubstr;
using testing::Not;

NodeOptions Options() {
  NodeOptions options;
  options.group = "orders";
  options.node = "n1";
  options.shards = 4;
  options.etcd.endpoints = {"10.0.0.1:2379", "10.0.0.2:2379"};
  options.state_dir = "/var/lib/baton/n1";
  return options;
}

// Plan: the two ways in which etcd goes back in time, each with what to type, word for word.
TEST(WentBackAdvice, NamesTheCommandForABackupAndTheFileForAWipedEtcd) {
  EXPECT_EQ(CoreOptionsOf(Options()).went_back_advice,
            "; if etcd was restored from a backup, stop all nodes and run `batonctl recover "
            "--group orders --etcd 10.0.0.1:2379,10.0.0.2:2379 --state-dir /var/lib/baton/n1` "
            "with the --state-dir of each other node added; if etcd was wiped and nothing in it "
            "is needed any more, stop this node, delete /var/lib/baton/n1/session.lock and start "
            "it again");
}

TEST(WentBackAdvice, OfANodeWithoutAStateDirectoryNamesNoFile) {
  NodeOptions options = Options();
  options.state_dir.clear();
  EXPECT_THAT(CoreOptionsOf(options).went_back_advice,
              AllOf(HasSubstr("--above REVISION` with the highest revision that any node names"),
                    HasSubstr("any more, start this node again"), Not(HasSubstr("delete"))));
}

// Plan: a relative folder with a space and a quote, another prefix, a user. The command is fit for
// a shell in any folder.
TEST(WentBackAdvice, IsFitForAShell) {
  NodeOptions options = Options();
  options.state_dir = "my node's";
  options.etcd.prefix = "/elsewhere/v1";
  options.etcd.user = "baton";
  const std::string here = std::filesystem::current_path().string();
  EXPECT_THAT(CoreOptionsOf(options).went_back_advice,
              AllOf(HasSubstr(" --etcd-prefix /elsewhere/v1 --state-dir '" + here +
                              "/my node'\\''s'` with the nodes' etcd credentials and the"),
                    HasSubstr("delete '" + here + "/my node'\\''s/session.lock' and start")));
}

}  // namespace
}  // namespace baton::runtime
