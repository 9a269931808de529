// batonctl and what may be unknown: settings of the group, who left it, old views, and changes
// whose outcome nobody knows yet. The real program against a real gRPC server on a fake node.
#include <chrono>
#include <functional>
#include <memory>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "app/batonctl.h"
#include "http/status_json.h"
#include "runtime/admin/asked_settings.h"
#include "runtime/admin_server.h"

namespace baton::app {
namespace {

using runtime::AdminServer;
using runtime::NodeStatus;
using testing::EndsWith;
using testing::HasSubstr;
using testing::Not;

class BatonctlOfAGroup : public testing::Test {
 protected:
  AdminServer server_{{"n1", "n2", "n3"}, 6};
};

// Plan: settings are set, shown, and cleared; unknown ones and numbers that are too great are
// refused.
TEST_F(BatonctlOfAGroup, GroupSettingsAreSetShownAndCleared) {
  server_.control.Freeze(true);
  EXPECT_EQ(Batonctl(server_, {"group", "get"}).out,
            "expected-nodes not set\nmax-moves not set: each node's --max-moves\n"
            "rebalance-delay not set: each node's --rebalance-delay\n"
            "cooldown not set: each node's --cooldown\n"
            "failover immediate\nlock-delay 0s\nplacement no rules\n");
  const Ran dry = Batonctl(server_, {"group", "set", "expected-nodes", "5", "--dry-run"});
  EXPECT_EQ(dry.out, "expected-nodes would be set to 5\n");
  EXPECT_EQ(server_.control.Now().expected_nodes, 0u);
  EXPECT_EQ(Batonctl(server_, {"group", "set", "expected-nodes", "5"}).out,
            "expected-nodes is set to 5\n");
  EXPECT_EQ(Batonctl(server_, {"group", "set", "max-moves", "9"}).exit, 0);
  EXPECT_EQ(Batonctl(server_, {"group", "get", "-o", "json"}).out,
            R"({"group":"orders","revision":900,"stale":false,"expected_nodes":5,"max_moves":9,)"
            R"("rebalance_delay_ms":null,"cooldown_ms":null,)"
            R"("failover":"immediate","failover_delay_ms":null,"lock_delay_ms":0,)"
            R"("placement_rules":0,"config_schema":0})"
            "\n");
  EXPECT_THAT(Batonctl(server_, {"status"}).out, HasSubstr("3 live nodes of 5 expected"));
  EXPECT_EQ(Batonctl(server_, {"group", "set", "expected-nodes=0"}).out,
            "expected-nodes is not set any more\n");
  EXPECT_EQ(Batonctl(server_, {"group", "set", "max-nodes", "5"}).exit, 2);
  EXPECT_EQ(Batonctl(server_, {"group", "set", "max-moves", "100001"}).exit, 2);
}

// Plan: the node has not read etcd yet, so it shows no settings. Nothing is compared with them, and
// nothing is changed.
TEST_F(BatonctlOfAGroup, WithoutAViewNothingIsSaidToBeUnchanged) {
  server_.control.Change([](NodeStatus& status) { status.members.clear(); });
  for (const std::vector<std::string>& verb :
       std::vector<std::vector<std::string>>{{"group", "set", "failover=immediate"},
                                             {"group", "set", "expected-nodes=0"},
                                             {"pause"},
                                             {"resume"},
                                             {"rebalance", "cancel"}}) {
    const Ran ran = Batonctl(server_, verb);
    EXPECT_EQ(ran.exit, 3);
    EXPECT_EQ(ran.err, "batonctl: the node's view is not complete yet\n");
    EXPECT_EQ(ran.out, "");
  }
  EXPECT_TRUE(server_.control.Policies().empty());
}

// Plan: limits are set together in one call, changed alone, and taken back.
TEST_F(BatonctlOfAGroup, LimitsAreSetTogetherShownAndTakenBack) {
  server_.control.Freeze(true);
  const std::vector<std::string> set{"group", "set", "max-moves=8", "rebalance-delay=30s",
                                     "cooldown=10m"};
  std::vector<std::string> dry = set;
  dry.emplace_back("--dry-run");
  EXPECT_EQ(Batonctl(server_, dry).out, "would set max-moves=8 rebalance-delay=30s cooldown=10m\n");
  EXPECT_EQ(server_.control.Now().max_moves, 0u);
  EXPECT_EQ(Batonctl(server_, set).out, "set max-moves=8 rebalance-delay=30s cooldown=10m\n");
  EXPECT_THAT(Batonctl(server_, {"group", "get"}).out,
              HasSubstr("\nmax-moves 8\nrebalance-delay 30s\ncooldown 10m\n"));
  EXPECT_EQ(Batonctl(server_, {"group", "set", "cooldown", "0s", "-o", "json"}).out,
            R"({"result":"done","message":"set cooldown=0s"})"
            "\n");
  const std::string shown = R"("max_moves":8,"rebalance_delay_ms":30000,"cooldown_ms":0,)";
  EXPECT_THAT(Batonctl(server_, {"group", "get", "-o", "json"}).out, HasSubstr(shown));
  EXPECT_THAT(Batonctl(server_, {"status", "-o", "json"}).out, HasSubstr(shown));
  EXPECT_EQ(Batonctl(server_, {"group", "set", "max-moves=default", "cooldown=default"}).out,
            "set max-moves=default cooldown=default\n");
  EXPECT_THAT(Batonctl(server_, {"group", "get"}).out,
              HasSubstr("\nmax-moves not set: each node's --max-moves\nrebalance-delay 30s\n"
                        "cooldown not set: each node's --cooldown\n"));
}

// Plan: settings of each kind are set twice, and once more with one other value.
TEST_F(BatonctlOfAGroup, SettingsThatHoldAlreadyAreUnchanged) {
  server_.control.Freeze(true);
  const auto set = [&](std::vector<std::string> words) {
    words.insert(words.begin(), {"group", "set"});
    const Ran ran = Batonctl(server_, words);
    EXPECT_EQ(ran.exit, 0) << ran.err;
    return ran.out;
  };
  const std::string again = " already: nothing changes\n";
  EXPECT_EQ(set({"expected-nodes=5"}), "expected-nodes is set to 5\n");
  EXPECT_EQ(set({"expected-nodes=5"}), "the group has expected-nodes=5" + again);
  EXPECT_EQ(set({"expected-nodes=6"}), "expected-nodes is set to 6\n");
  EXPECT_EQ(set({"max-moves=8", "cooldown=0s"}), "set max-moves=8 cooldown=0s\n");
  EXPECT_EQ(set({"max-moves=8", "cooldown=0s"}), "the group has max-moves=8 cooldown=0s" + again);
  EXPECT_EQ(set({"max-moves=8", "rebalance-delay=0s"}), "set max-moves=8 rebalance-delay=0s\n");
  EXPECT_EQ(set({"cooldown=default"}), "set cooldown=default\n");
  EXPECT_EQ(set({"cooldown=default"}), "the group has cooldown=default" + again);
  EXPECT_EQ(set({"failover=immediate", "lock-delay=0"}),
            "the group has failover=immediate lock-delay=0s" + again);
  EXPECT_EQ(set({"failover=after", "failover-delay=30s"}),
            "set failover=after failover-delay=30s\n");
  EXPECT_EQ(set({"failover=after", "failover-delay=30s", "--dry-run"}),
            "the group has failover=after failover-delay=30s already: nothing would change\n");
  EXPECT_EQ(set({"failover-delay=30s", "-o", "json"}),
            R"({"result":"unchanged","message":"the group has failover-delay=30s already: )"
            R"(nothing changes"})"
            "\n");
  EXPECT_EQ(set({"failover-delay=31s"}), "set failover-delay=31s\n");
  EXPECT_EQ(set({"lock-delay=1s"}), "set lock-delay=1s\n");
  EXPECT_EQ(server_.control.Policies().size() + server_.control.GroupChanges().size(), 14u)
      << "asked for in any case";
}

// Plan: the message itself, as another client may send it. Numbers and delays out of range, no
// limit, and two settings at once are refused in one line.
TEST_F(BatonctlOfAGroup, LimitsOutOfRangeAreRefusedByTheNode) {
  const auto call = [&](const std::function<void(v1::SetGroupSettingRequest&)>& fill) {
    v1::SetGroupSettingRequest request;
    fill(request);
    const auto asked = runtime::PolicyOf(request);
    return asked ? "taken: " + runtime::SettingText(request) : asked.error().message;
  };
  const auto seconds = [](v1::DelaySetting* setting, std::int64_t number) {
    setting->mutable_delay()->set_seconds(number);
  };
  EXPECT_EQ(call([](auto& request) { request.mutable_limits()->set_max_moves(100'001); }),
            "max_moves is 100001; give 1 to 100000, or 0 to clear it");
  EXPECT_EQ(call([&](auto& request) {
              seconds(request.mutable_limits()->mutable_cooldown(), 24 * 3600);
              request.mutable_limits()->mutable_rebalance_delay();
            }),
            "taken: rebalance_delay default, cooldown 24h");
  EXPECT_EQ(call([&](auto& request) {
              seconds(request.mutable_limits()->mutable_cooldown(), 24 * 3600 + 1);
            }),
            "cooldown is 86401s; give 0s to 24h, or no delay to clear it");
  EXPECT_EQ(call([&](auto& request) {
              seconds(request.mutable_limits()->mutable_rebalance_delay(), -1);
            }),
            "rebalance_delay is -1s; give 0s to 24h, or no delay to clear it");
  EXPECT_EQ(call([](auto& request) { request.mutable_limits(); }), "give at least one limit");
  EXPECT_EQ(call([](auto& request) {
              request.mutable_limits()->set_max_moves(3);
              request.set_max_moves(3);
            }),
            "give exactly one setting");
  EXPECT_EQ(call([](auto& request) { request.set_max_moves(3); }), "taken: max_moves 3");
  EXPECT_EQ(call([](auto&) {}), "give exactly one setting");
}

// Plan: two nodes left, one of them is back. Tables name both with the reason, JSON too.
TEST_F(BatonctlOfAGroup, WhoLeftIsListedWithTheReason) {
  server_.control.Freeze(true);
  server_.control.Change([](NodeStatus& status) {
    status.departed = {{.node = "n4",
                        .session = SessionId{74},
                        .age = std::chrono::minutes(3),
                        .why = Reason::kLeaseExpired,
                        .led = 2},
                       {.node = "n2",
                        .session = SessionId{72},
                        .age = std::chrono::minutes(9),
                        .why = Reason::kProcessDied,
                        .led = 2,
                        .back = true},
                       {.node = "n5", .session = SessionId{75}, .age = std::chrono::minutes(50)}};
  });
  EXPECT_EQ(Batonctl(server_, {"nodes", "list"}).out,
            "NODE  STATE   LED  TARGET  WEIGHT  ZONE  ADDRESS         LEFT\n"
            "n1    active    2       2       1  -     127.0.0.1:7401  -\n"
            "n2    active    2       2       1  -     127.0.0.1:7402  process_died 9m0s ago\n"
            "n3    active    2       2       1  -     127.0.0.1:7403  -\n"
            "n4    gone      0       0       -  -     -               lease_expired 3m0s ago\n"
            "n5    gone      0       0       -  -     -               reason unknown 50m0s ago\n");
  const Ran status = Batonctl(server_, {"status"});
  EXPECT_THAT(status.out, HasSubstr("gone      n4, lease_expired 3m0s ago, led 2 shards\n"));
  EXPECT_THAT(status.out, Not(HasSubstr("gone      n2")));
  EXPECT_THAT(Batonctl(server_, {"nodes", "list", "-o", "json"}).out,
              HasSubstr(R"("departed":[{"node":"n4","session":74,"ago_ms":180000,)"
                        R"("why":"lease_expired","led":2,"back":false},)"));
}

// Plan: a node without labels, one with as many as fit and one more, one whose first label alone is
// too long, and one that left. The wide table and JSON have all of them.
TEST_F(BatonctlOfAGroup, LabelsAreListedIfANodeHasAny) {
  server_.control.Freeze(true);
  const std::string rack(26, 'r'), gpu(41, 'v');
  server_.control.Change([&](NodeStatus& status) {
    status.members[1].fact.zone = "a";
    status.members[1].fact.labels = {{"disk", "ssd"}, {"rack", rack}, {"x", "y"}};
    status.members[2].fact.labels = {{"gpu", gpu}, {"x", "y"}};
    status.departed = {
        {.node = "n4", .session = {}, .age = std::chrono::minutes(3), .why = Reason::kShutdown}};
  });
  EXPECT_EQ(Batonctl(server_, {"nodes", "list"}).out,
            "NODE  STATE   LED  TARGET  WEIGHT  ZONE  ADDRESS         LABELS                       "
            "                             LEFT\n"
            "n1    active    2       2       1  -     127.0.0.1:7401  -                            "
            "                             -\n"
            "n2    active    2       2       1  a     127.0.0.1:7402  "
            "disk=ssd,rack=rrrrrrrrrrrrrrrrrrrrrrrrrr and 1 more       -\n"
            "n3    active    2       2       1  -     127.0.0.1:7403  "
            "gpu=vvvvvvvvvvvvvvvvvvvvvvvvvvvvvvvvvvvvvvvvv and 1 more  -\n"
            "n4    gone      0       0       -  -     -               -                            "
            "                             shutdown 3m0s ago\n");
  const std::string wide = Batonctl(server_, {"nodes", "list", "-o", "wide"}).out;
  EXPECT_THAT(wide, HasSubstr("  disk=ssd,rack=" + rack + ",x=y       -\n"));
  EXPECT_THAT(wide, HasSubstr("  gpu=" + gpu + ",x=y  -\n"));
  const std::string json = Batonctl(server_, {"nodes", "list", "-o", "json"}).out;
  EXPECT_EQ(json, http::NodesJson(server_.control.Now()) + "\n");
  EXPECT_THAT(json, HasSubstr(R"("zone":null,"labels":{},)"));
  EXPECT_THAT(json, HasSubstr(R"("zone":"a","labels":{"disk":"ssd","rack":")" + rack));
}

// Plan: etcd does not answer n1, so its view is old: it has stopped on its own shards, and what it
// says of the others is marked with its age.
TEST_F(BatonctlOfAGroup, AnOldViewIsMarkedWithItsAge) {
  server_.control.Freeze(true);
  server_.control.Change([](NodeStatus& status) {
    status.stale = true;
    status.view_age = std::chrono::milliseconds(14'200);
    status.members[0].suspended = 2;
    for (std::size_t i = 0; i < 2; ++i) status.shards[i].state = ShardState::kSuspended;
  });
  for (const std::vector<std::string>& words :
       std::vector<std::vector<std::string>>{{"status"},
                                             {"nodes", "list"},
                                             {"shards", "list"},
                                             {"shards", "describe", "3"},
                                             {"nodes", "drain", "n1", "--dry-run"},
                                             {"rebalance", "plan"},
                                             {"group", "get"}}) {
    // `status` says before that it could not ask the other nodes.
    EXPECT_THAT(
        Batonctl(server_, words).err,
        EndsWith("batonctl: as of 14.2s ago: etcd does not answer n1; what other nodes lead "
                 "may have changed\n"));
  }
  EXPECT_THAT(Batonctl(server_, {"nodes", "list"}).out, HasSubstr("n1    suspended    2"));
}

// A node that is told to end, and takes no new calls, while a change is under way. It answers late.
class Leaving : public runtime::FakeControl {
 public:
  using FakeControl::FakeControl;
  void Request(runtime::PolicyRequest, std::function<void(Status)> handler) override {
    held_ = std::move(handler);
    ending_ = std::thread(
        [this] { server->Shutdown(std::chrono::system_clock::now() + std::chrono::seconds(30)); });
  }
  void AnswerAndEnd() {
    held_(Ok());
    ending_.join();
    server->Wait();
    server.reset();
  }

  std::unique_ptr<grpc::Server> server;

 private:
  std::function<void(Status)> held_;
  std::thread ending_;
};

// Plan: the change may have been made by then.
TEST(BatonctlOfANodeThatEnds, AChangeWithoutAnAnswerMayStillBeMade) {
  Leaving control({"n1", "n2"}, 4);
  grpc::ServerBuilder builder;
  int port = 0;
  builder.AddListeningPort("127.0.0.1:0", grpc::InsecureServerCredentials(), &port);
  const auto service = runtime::RegisterAdminService(builder, control, runtime::GateOf({}));
  control.server = builder.BuildAndStart();
  const Ran ran =
      RunProcess(Ctl("127.0.0.1:" + std::to_string(port), {"pause", "--timeout", "2s"}));
  control.AnswerAndEnd();
  EXPECT_EQ(ran.exit, 5);
  EXPECT_THAT(ran.err, HasSubstr("; the change may still be made"));
}

// Plan: the node answers that etcd gave no answer in time. Each change says that it may still be
// made, and which verb shows it.
TEST_F(BatonctlOfAGroup, AChangeOfUnknownOutcomeSaysHowToFindOut) {
  server_.control.FailAll(Error{ErrorCode::kTimedOut,
                                "etcd has not answered in time; the change "
                                "may still be made"});
  const std::vector<std::pair<std::vector<std::string>, std::string>> table = {
      {{"nodes", "drain", "n2"}, "nodes list"},
      {{"nodes", "undrain", "n2"}, "nodes list"},
      {{"shards", "transfer", "0", "--to", "n2"}, "shards describe 0"},
      {{"rebalance", "cancel"}, "rebalance status"},
      {{"group", "set", "max-moves", "5"}, "group get"},
      {{"group", "set", "lock-delay=5s"}, "group get"},
      {{"shards", "release", "0", "--force", "--confirm", "orders/0"}, "shards describe 0"},
      {{"pause"}, "status"},
      {{"resume"}, "status"}};
  for (const auto& [words, check] : table) {
    const Ran ran = Batonctl(server_, words);
    EXPECT_EQ(ran.exit, 5) << testing::PrintToString(words);
    EXPECT_EQ(ran.err,
              "batonctl: etcd has not answered in time; the change may still be made: "
              "check with `batonctl " +
                  check + "`\n");
  }
}

// Plan: the node hears how long each change may take: a little less than the caller waits.
TEST_F(BatonctlOfAGroup, AChangeTellsTheNodeItsTime) {
  EXPECT_EQ(Batonctl(server_, {"pause", "--timeout", "4s"}).exit, 0);
  const auto within = server_.control.Policies().back().within;
  ASSERT_TRUE(within.has_value());
  EXPECT_LE(*within, std::chrono::milliseconds(3600));
  EXPECT_GT(*within, std::chrono::milliseconds(0));
}

}  // namespace
}  // namespace baton::app
