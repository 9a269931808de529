// batonctl and nodes that answer oddly: one that does not know yet which user calls, and one that
// may be no node at all.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <poll.h>
#include <signal.h>

#include <atomic>
#include <chrono>
#include <memory>
#include <string>

#include <grpcpp/grpcpp.h>

#include "access/access.h"
#include "app/batonctl.h"
#include "baton/v1/admin.grpc.pb.h"

namespace baton::app {
namespace {

using testing::HasSubstr;

// Refuses the first callers of WhoAmI.
class StrangeNode final : public v1::AdminService::Service {
 public:
  explicit StrangeNode(int refuse) : refuse_(refuse) {
    grpc::ServerBuilder builder;
    int port = 0;
    builder.AddListeningPort("127.0.0.1:0", grpc::InsecureServerCredentials(), &port);
    builder.RegisterService(this);
    server_ = builder.BuildAndStart();
    endpoint = "127.0.0.1:" + std::to_string(port);
  }

  grpc::Status WhoAmI(grpc::ServerContext*, const v1::WhoAmIRequest*,
                      v1::WhoAmIResponse* response) override {
    if (calls++ < refuse_) {
      return {grpc::StatusCode::PERMISSION_DENIED, std::string(access::kUserNotKnown)};
    }
    response->set_caller("uid 1000");
    response->set_role("read");
    return grpc::Status::OK;
  }

  // By default of a group whose shards no memory could hold.
  grpc::Status GetStatus(grpc::ServerContext*, const v1::GetStatusRequest*,
                         v1::GetStatusResponse* response) override {
    *response = answer;
    return grpc::Status::OK;
  }

  static v1::GetStatusResponse Large() {
    v1::GetStatusResponse large;
    large.mutable_status()->set_shard_count(4'000'000'000);
    large.mutable_status()->add_members()->set_node("n1");
    return large;
  }

  // One empty message. The first stream is cancelled then, as by a server that is being shut down.
  grpc::Status WatchEvents(grpc::ServerContext* context, const v1::WatchEventsRequest*,
                           grpc::ServerWriter<v1::WatchEventsResponse>* writer) override {
    v1::WatchEventsResponse response;
    response.set_node("n1");
    writer->Write(response);
    if (calls++ == 0) return grpc::Status::CANCELLED;
    const auto end = std::chrono::steady_clock::now() + std::chrono::minutes(1);
    while (!context->IsCancelled() && std::chrono::steady_clock::now() < end) {
      poll(nullptr, 0, 10);
    }
    return grpc::Status::CANCELLED;
  }

  std::string endpoint;
  std::atomic<int> calls{0};
  v1::GetStatusResponse answer = Large();

 private:
  const int refuse_;
  std::unique_ptr<grpc::Server> server_;
};

// Plan: the node knows the user from the second call on. batonctl has the time to wait.
TEST(BatonctlStranger, WaitsUntilTheNodeKnowsTheUser) {
  StrangeNode node(1);
  const Ran ran = RunProcess(Ctl(node.endpoint, {"whoami", "--timeout", "50s"}));
  EXPECT_EQ(ran.exit, 0) << ran.err;
  EXPECT_THAT(ran.out, HasSubstr("uid 1000"));
  EXPECT_EQ(node.calls, 2);
}

// Plan: the deadline would pass while batonctl waits, so it passes the refusal on. On a busy
// machine the first call may have no time to get it: then the command is given again.
TEST(BatonctlStranger, DoesNotWaitBeyondItsDeadline) {
  StrangeNode node(1000);
  Ran ran;
  for (int i = 0; i < 5 && ran.err.find(access::kUserNotKnown) == std::string::npos; ++i) {
    ran = RunProcess(Ctl(node.endpoint, {"whoami", "--timeout", "2s"}));
  }
  EXPECT_EQ(ran.exit, 1);
  EXPECT_EQ(ran.err, "batonctl: " + std::string(access::kUserNotKnown) + "\n");
}

// Plan: the node halts while batonctl follows, and its server cancels the stream. batonctl asks
// again, until Ctrl-C.
TEST(BatonctlStranger, FollowingGoesOnAfterTheServerCancelled) {
  StrangeNode node(0);
  RunOptions options = Ctl(node.endpoint, {"events", "-f"});
  options.watch = [](const Ran& ran, pid_t pid) {
    if (ran.err.find("following node n1 again") != std::string::npos) kill(pid, SIGINT);
  };
  const Ran ran = RunProcess(options);
  EXPECT_EQ(ran.exit, 130);
  EXPECT_EQ(ran.err, "batonctl: " + node.endpoint +
                         " ended the call: the node may be stopping; trying again\n"
                         "batonctl: following node n1 again\n");
  EXPECT_EQ(node.calls, 2);
}

/// Runs the verbs that compute an assignment from a status. All must fail alike.
std::string RefusalOf(const StrangeNode& node) {
  std::string said;
  RunOptions check = Ctl(node.endpoint, {"placement", "check", "-"});
  RunOptions set = Ctl(node.endpoint, {"placement", "set", "-"});
  check.input = set.input = "rules: []";
  for (const RunOptions& options :
       {check, set, Ctl(node.endpoint, {"rebalance", "simulate", "--without", "node=n1"})}) {
    const Ran ran = RunProcess(options);
    EXPECT_EQ(ran.exit, 1);
    EXPECT_TRUE(said.empty() || said == ran.err) << ran.err;
    said = ran.err;
  }
  return said;
}

// Plan: verbs that make a place for each shard of the group.
TEST(BatonctlStranger, AnImpossibleNumberOfShardsIsRefused) {
  const StrangeNode node(0);
  EXPECT_EQ(RefusalOf(node), "batonctl: the answer names too many shards: is it a Baton node's?\n");
}

// Plan: two live members have one id, which no assignment can have.
TEST(BatonctlStranger, TwoMembersOfOneIdAreRefused) {
  StrangeNode node(0);
  node.answer.mutable_status()->set_shard_count(2);
  node.answer.mutable_status()->clear_members();
  for (int i = 0; i < 2; ++i) {
    v1::MemberStatus* const member = node.answer.mutable_status()->add_members();
    member->set_node("n1");
    member->set_weight(1);
    member->set_session(1);
    member->set_live(true);
    member->set_state(v1::MemberStatus::STATE_ACTIVE);
  }
  EXPECT_EQ(RefusalOf(node), "batonctl: the answer has two members 'n1': is it a Baton node's?\n");
}

// Plan: the members are at the addresses of a node whose answers are far longer than a status
// without shards. batonctl does not read them.
TEST(BatonctlStranger, LongAnswersOfOthersAreNotRead) {
  StrangeNode node(0);
  StrangeNode other(0);
  node.answer.mutable_status()->set_shard_count(1);
  node.answer.mutable_status()->set_group("orders");
  node.answer.mutable_status()->set_node("n1");
  v1::MemberStatus* const member = node.answer.mutable_status()->add_members();
  member->set_node("n2");
  member->set_address(other.endpoint);
  member->set_session(1);
  member->set_live(true);
  member->set_state(v1::MemberStatus::STATE_ACTIVE);
  other.answer = node.answer;
  other.answer.mutable_status()->set_node("n2");
  const auto silent = [&] {
    return RunProcess(Ctl(node.endpoint, {"status"})).err.find("n2") != std::string::npos;
  };
  EXPECT_FALSE(silent());
  other.answer.mutable_status()->mutable_members(0)->set_software_version(
      std::string((2 << 20) + 1, 'x'));
  EXPECT_TRUE(silent());
}

}  // namespace
}  // namespace baton::app
