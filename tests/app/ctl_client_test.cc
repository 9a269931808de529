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

  // Of a group whose shards no memory could hold.
  grpc::Status GetStatus(grpc::ServerContext*, const v1::GetStatusRequest*,
                         v1::GetStatusResponse* response) override {
    response->mutable_status()->set_shard_count(4'000'000'000);
    response->mutable_status()->add_members()->set_node("n1");
    return grpc::Status::OK;
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

// Plan: verbs that make a place for each shard of the group.
TEST(BatonctlStranger, AnImpossibleNumberOfShardsIsRefused) {
  StrangeNode node(0);
  RunOptions check = Ctl(node.endpoint, {"placement", "check", "-"});
  check.input = "rules: []";
  for (const RunOptions& options :
       {check, Ctl(node.endpoint, {"rebalance", "simulate", "--without", "node=n1"})}) {
    const Ran ran = RunProcess(options);
    EXPECT_EQ(ran.exit, 1);
    EXPECT_EQ(ran.err, "batonctl: the answer names too many shards: is it a Baton node's?\n");
  }
}

}  // namespace
}  // namespace baton::app
