// batonctl says why a node leads a shard, and why a shard moves: the real program against a fake
// node.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "app/batonctl.h"
#include "runtime/admin_server.h"

namespace baton::app {
namespace {

using runtime::AdminServer;
using runtime::NodeStatus;
using testing::AllOf;
using testing::EndsWith;
using testing::HasSubstr;
using testing::Not;

const Cause kStandbyCause{.kind = CauseKind::kReadyStandby, .rule = 1, .detail = "zone=b"};
const Cause kPreferredCause{.kind = CauseKind::kRulePrefers, .rule = 2, .detail = "zone=a"};
constexpr const char* kStandbyJson =
    R"("cause":{"kind":"ready_standby","rule":1,"detail":"zone=b",)"
    R"("words":"ready standby in zone b"})";
constexpr const char* kPreferredJson =
    R"("cause":{"kind":"rule_prefers","rule":2,"detail":"zone=a",)"
    R"("words":"rule 2 prefers zone=a"})";

// Shard 1 was taken over by a ready standby, and moves away. An older version gave shard 2 to n2.
class BatonctlCauses : public testing::Test {
 protected:
  BatonctlCauses() {
    const Transition takeover{.shard = ShardId{1},
                              .reason = Reason::kLeaseExpired,
                              .from = "n3",
                              .to = "n1",
                              .term = Term{801},
                              .cause = kStandbyCause};
    server_.control.kept->Add(takeover, Revision{801}, {});
    server_.control.Freeze(true);
    server_.control.Change([&](NodeStatus& status) {
      MoveFact move;
      move.shard = ShardId{1};
      move.from = "n1";
      move.to = "n2";
      move.cause = kPreferredCause;
      status.shards[1].cause = kStandbyCause;
      status.shards[1].move = std::make_shared<const MoveFact>(move);
      status.recent.push_back(takeover);
    });
  }
  std::string Out(const std::vector<std::string>& words) { return Batonctl(server_, words).out; }

  AdminServer server_{{"n1", "n2"}, 4};
};

TEST_F(BatonctlCauses, DescribeSaysWhyTheNodeLeads) {
  EXPECT_THAT(
      Out({"shards", "describe", "1"}),
      AllOf(HasSubstr("\nwhy n1 leads: ready standby in zone b\n"),
            HasSubstr("term 801: n3 -> n1, lease_expired (ready standby in zone b), gap ")));
  EXPECT_THAT(Out({"shards", "describe", "1", "-o", "json"}),
              AllOf(HasSubstr(kStandbyJson), HasSubstr(kPreferredJson)));
}

TEST_F(BatonctlCauses, DescribeDoesNotGuess) {
  EXPECT_THAT(Out({"shards", "describe", "2"}), Not(HasSubstr("why")));
  EXPECT_THAT(Out({"shards", "describe", "2", "-o", "json"}), HasSubstr(R"("cause":null)"));
}

TEST_F(BatonctlCauses, HistoryAndEventsSayIt) {
  EXPECT_THAT(Out({"history"}), AllOf(HasSubstr("CAUSE\n"), EndsWith("ready standby in zone b\n")));
  EXPECT_THAT(Out({"history", "-o", "wide"}), EndsWith("ready standby in zone b\n"));
  EXPECT_THAT(Out({"history", "-o", "json"}), HasSubstr(kStandbyJson));
  EXPECT_THAT(Out({"events"}), EndsWith("(ready standby in zone b)\n"));
  EXPECT_THAT(Out({"events", "-o", "json"}), HasSubstr(kStandbyJson));
}

TEST_F(BatonctlCauses, MovesSayIt) {
  EXPECT_THAT(Out({"rebalance", "status"}), EndsWith("planned  rule 2 prefers zone=a\n"));
  EXPECT_THAT(Out({"rebalance", "status", "-o", "json"}), HasSubstr(kPreferredJson));
}

}  // namespace
}  // namespace baton::app
