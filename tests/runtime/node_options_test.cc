// What a node makes of its options before it starts.
#include "runtime/node_options.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <chrono>
#include <filesystem>
#include <string>

namespace baton::runtime {
namespace {

using std::chrono::milliseconds;
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
  EXPECT_EQ(
      CoreOptionsOf(Options()).went_back_advice,
      "; if etcd was restored from a backup, stop all nodes and run `batonctl recover "
      "--group orders --etcd 10.0.0.1:2379,10.0.0.2:2379 --state-dir /var/lib/baton/n1` "
      "with the --state-dir of each other node added; if etcd was wiped, and neither its data "
      "nor the terms that your storage keeps are needed any more, stop this node, delete "
      "/var/lib/baton/n1/session.lock and start it again");
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

// Plan: a password's user, a CA and a client certificate each call for credentials.
TEST(WentBackAdvice, NamesCredentialsIfTheNodeHasAny) {
  const char* const credentials = "with the nodes' etcd credentials and the --state-dir";
  EXPECT_THAT(CoreOptionsOf(Options()).went_back_advice, Not(HasSubstr(credentials)));
  for (std::string EtcdOptions::*field :
       {&EtcdOptions::user, &EtcdOptions::ca_pem, &EtcdOptions::cert_pem}) {
    NodeOptions options = Options();
    options.etcd.*field = "given";
    EXPECT_THAT(CoreOptionsOf(options).went_back_advice, HasSubstr(credentials));
  }
}

// Plan: each duration at both ends of its range, and 1 ms beyond them. The longest possible
// duration is refused, too: a sum of the time now and that duration would overflow.
TEST(NodeOptionsCheck, DurationsAreAtMost366Days) {
  struct Field {
    std::string name;
    milliseconds NodeOptions::*member;
    std::int64_t least;
  };
  const Field fields[] = {{"settle", &NodeOptions::settle, 0},
                          {"rebalance_delay", &NodeOptions::rebalance_delay, 0},
                          {"cooldown", &NodeOptions::cooldown, 0},
                          {"prepare_timeout", &NodeOptions::prepare_timeout, 1},
                          {"release_timeout", &NodeOptions::release_timeout, 1},
                          {"callback_timeout", &NodeOptions::callback_timeout, 1},
                          {"drain_timeout", &NodeOptions::drain_timeout, 1}};
  for (const Field& field : fields) {
    const auto check = [&](std::int64_t value) {
      NodeOptions options = Options();
      options.*field.member = milliseconds(value);
      return Check(options);
    };
    EXPECT_TRUE(check(field.least).ok()) << field.name;
    EXPECT_TRUE(check(31'622'400'000).ok()) << field.name;
    for (const std::int64_t invalid :
         {field.least - 1, std::int64_t{31'622'400'001}, milliseconds::max().count()}) {
      const Status refused = check(invalid);
      ASSERT_FALSE(refused.ok()) << field.name << " " << invalid;
      EXPECT_EQ(refused.error().code, ErrorCode::kInvalidArgument);
      EXPECT_EQ(refused.error().message, field.name + " is " + std::to_string(invalid) +
                                             " ms; give " + std::to_string(field.least) +
                                             " ms to 31622400000 ms (366 days)");
    }
  }
}

}  // namespace
}  // namespace baton::runtime
