// batond --relay: serves routes to callers, with little load on etcd.
#include <gmock/gmock.h>
#include <grpcpp/grpcpp.h>
#include <gtest/gtest.h>

#include <condition_variable>
#include <fstream>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "baton/v1/routing.grpc.pb.h"
#include "e2e/authority.h"
#include "e2e/cluster.h"
#include "e2e/etcd_client.h"

namespace baton::e2e {
namespace {

using std::chrono::seconds;
using testing::AllOf;
using testing::HasSubstr;
using testing::Not;

int Count(const std::string& text, const std::string& what) {
  int count = 0;
  for (auto at = text.find(what); at != std::string::npos; at = text.find(what, at + 1)) ++count;
  return count;
}

// Plan: the relay starts first, and says once that it waits. Then the group is created; the relay
// shows the same as the nodes, also after a planned move. It writes nothing to etcd.
TEST(Relay, WaitsForItsGroupAndThenShowsWhatNodesShow) {
  Cluster cluster(SharedEtcd(), {.shards = 12, .ttl = seconds(3)});
  NodeProcess& relay = cluster.LaunchRelay("relay");
  ASSERT_TRUE(Eventually(kPatience, [&] { return Count(relay.Log(), "does not exist yet") > 0; }));
  cluster.Start("n1");
  cluster.WaitReady(relay);
  EXPECT_EQ(Count(relay.Log(), "does not exist yet"), 1);
  cluster.AwaitBalanced({"n1"});
  cluster.Start("n2");
  cluster.AwaitBalanced({"n1", "n2"});

  EXPECT_EQ(cluster.HttpStatus("relay", "/readyz"), 200);
  EXPECT_THAT(cluster.HttpBody("relay", "/readyz"),
              AllOf(HasSubstr("age is"), Not(HasSubstr("stale"))));
  EXPECT_EQ(cluster.HttpStatus("relay", "/shards/0/leader"), 503);
  EXPECT_THAT(cluster.HttpBody("relay", "/v1/lookup?key=order-17"), HasSubstr("\"leader\":\"n"));
  EXPECT_THAT(cluster.HttpBody("relay", "/v1/routes"), HasSubstr("\"stale\":false"));
  EXPECT_EQ(cluster.Metric("relay", "baton_shards"), 12);
  EXPECT_EQ(cluster.Metric("relay", "baton_shards_led"), 0);

  const app::Ran status = cluster.Ctl("relay", {"status"});
  EXPECT_EQ(status.exit, 0) << status.err;
  const app::Ran moved = cluster.Ctl("relay", {"shards", "transfer", "0", "--to", "n1"});
  EXPECT_EQ(moved.exit, 1);
  EXPECT_THAT(moved.err, HasSubstr("this is a relay"));
  EXPECT_THAT(relay.Log(), HasSubstr("change refused"));
  EXPECT_EQ(Count(relay.Log(), " change verb="), 0) << "strangers would fill its log";

  EtcdClient etcd(SharedEtcd().endpoints());
  for (const auto& stored : etcd.List(cluster.Key(""))) {
    EXPECT_THAT(stored.key(), Not(HasSubstr("relay")));
  }
  relay.Signal(SIGTERM);
  const auto exit = relay.WaitExit();
  ASSERT_TRUE(exit);
  EXPECT_EQ(exit->code, 0);
}

// Plan: etcd is away for longer than a relay trusts its view. The relay stays ready and serves its
// routes, marked as stale. When etcd is back they are fresh, and a new leader is seen.
TEST(Relay, WithoutEtcdItsRoutesAreStaleAndUsable) {
  auto started = StartEtcd();
  ASSERT_TRUE(started) << started.error().message;
  const auto etcd = std::move(started).value();
  Cluster cluster(*etcd, {.shards = 4, .ttl = seconds(3)});
  cluster.Start("n1");
  NodeProcess& relay = cluster.LaunchRelay("relay");
  cluster.WaitReady(relay);
  cluster.AwaitBalanced({"n1"});
  const auto routes = [&] { return cluster.HttpBody("relay", "/v1/routes"); };
  EXPECT_THAT(routes(), HasSubstr("\"stale\":false"));
  etcd->Kill(0);
  ASSERT_TRUE(
      Eventually(kPatience, [&] { return routes().find("\"stale\":true") != std::string::npos; }));
  EXPECT_EQ(Count(routes(), "\"leader\":\"n1\""), 4);
  EXPECT_EQ(cluster.HttpStatus("relay", "/readyz"), 200);
  EXPECT_THAT(cluster.HttpBody("relay", "/readyz"), HasSubstr("stale"));
  ASSERT_TRUE(etcd->Restart(0).ok());
  ASSERT_TRUE(
      Eventually(kPatience, [&] { return routes().find("\"stale\":false") != std::string::npos; }));
  cluster.Start("n2");
  cluster.AwaitBalanced({"n1", "n2"});
}

// Plan: the relay's user may only read the group's keys: etcd refuses its writes. The relay serves
// lookups all the same, and shows a change.
TEST(Relay, NeedsToReadAlone) {
  if (TheWorld() != World::kPlain) GTEST_SKIP() << "brings an etcd of its own, with users";
  auto started = lab::PrivateEtcd::Start({});
  ASSERT_TRUE(started) << started.error().message;
  const auto etcd = std::move(started).value();
  const auto as = [&](const std::string& user, const std::string& password) {
    const std::string file = etcd->folder() + "/" + user;
    std::ofstream(file) << password << "\n";
    return std::vector<std::string>{"--etcd-user", user, "--etcd-password-file", file};
  };
  Cluster cluster(*etcd, {.shards = 12, .flags = as("orders", "first")});
  EnableUsers(*etcd, {.node = "orders", .password = "first", .prefix = cluster.Key("")});
  const std::string ctl = RootEtcdctl(*etcd);
  RunScript(ctl + "role add reader; " + ctl + "role grant-permission reader --prefix=true read " +
            cluster.Key("") + "; " + ctl + "user add reader:look; " + ctl +
            "user grant-role reader reader");
  const std::string as_reader =
      "ETCDCTL_API=3 etcdctl --endpoints=" + etcd->endpoints().front() + " --user=reader:look ";
  ASSERT_NO_THROW(RunScript(as_reader + "get " + cluster.Key("config")));
  ASSERT_THROW(RunScript(as_reader + "put " + cluster.Key("config") + " damage"), Unmet);

  cluster.Start("n1");
  NodeProcess& relay = cluster.LaunchRelay("relay", as("reader", "look"));
  cluster.WaitReady(relay);
  cluster.AwaitBalanced({"n1"});
  EXPECT_THAT(cluster.HttpBody("relay", "/v1/lookup?key=order-17"), HasSubstr("\"leader\":\"n1\""));
  const app::Ran found = cluster.Ctl("relay", {"lookup", "order-17"});
  EXPECT_EQ(found.exit, 0) << found.err;
  cluster.Start("n2");
  cluster.AwaitBalanced({"n1", "n2"});  // the relay shows it too
  EXPECT_THAT(cluster.HttpBody("relay", "/v1/routes"), HasSubstr("\"stale\":false"));
}

/// Many streams, and which of them has seen which leader of shard 0.
class ManyStreams {
 public:
  ManyStreams(const std::string& endpoint, int count) : streams_(static_cast<std::size_t>(count)) {
    for (int i = 0; i < 16; ++i) {  // a server lets 100 calls at once on each
      grpc::ChannelArguments arguments;
      arguments.SetInt(GRPC_ARG_USE_LOCAL_SUBCHANNEL_POOL, 1);
      channels_.push_back(
          grpc::CreateCustomChannel(endpoint, grpc::InsecureChannelCredentials(), arguments));
      stubs_.push_back(v1::RoutingService::NewStub(channels_.back()));
    }
    for (std::size_t i = 0; i < streams_.size(); ++i) {
      streams_[i] = std::make_unique<Stream>(*this);
      streams_[i]->Begin(*stubs_[i % stubs_.size()]);
    }
  }
  ~ManyStreams() {
    for (const auto& stream : streams_) stream->Cancel();
    Await([&] { return done_ == streams_.size(); });
  }

  bool AllComplete() {
    return Await([&] { return complete_ == streams_.size(); });
  }
  bool AllSee(const std::string& leader) {
    return Await([&] { return sees_[leader].size() == streams_.size(); });
  }

 private:
  class Stream : public grpc::ClientReadReactor<v1::WatchRoutesResponse> {
   public:
    explicit Stream(ManyStreams& all) : all_(all) {}
    void Begin(v1::RoutingService::Stub& stub) {
      stub.async()->WatchRoutes(&context_, &request_, this);
      StartRead(&message_);
      StartCall();
    }
    void Cancel() { context_.TryCancel(); }
    void OnReadDone(bool read) override {
      if (!read) return;
      all_.Note(this, message_);
      StartRead(&message_);
    }
    void OnDone(const grpc::Status&) override { all_.NoteDone(); }

   private:
    ManyStreams& all_;
    grpc::ClientContext context_;
    v1::WatchRoutesRequest request_;
    v1::WatchRoutesResponse message_;
  };

  void Note(const Stream* stream, const v1::WatchRoutesResponse& message) {
    const std::lock_guard lock(mutex_);
    complete_ += message.snapshot_end() ? 1 : 0;
    for (const v1::Route& route : message.routes()) {
      if (route.shard() != 0 || route.leader() == 0 || route.state() != v1::Route::STATE_LED)
        continue;
      sees_[message.nodes(static_cast<int>(route.leader()) - 1).node()].insert(stream);
    }
    changed_.notify_all();
  }
  void NoteDone() {
    const std::lock_guard lock(mutex_);
    ++done_;
    changed_.notify_all();
  }
  bool Await(const std::function<bool()>& condition) {
    std::unique_lock lock(mutex_);
    return changed_.wait_for(lock, kPatience, condition);
  }

  std::mutex mutex_;  // guards what follows
  std::condition_variable changed_;
  std::size_t complete_ = 0;
  std::size_t done_ = 0;
  std::map<std::string, std::set<const Stream*>> sees_;  ///< by leader: the streams that saw it

  std::vector<std::shared_ptr<grpc::Channel>> channels_;
  std::vector<std::unique_ptr<v1::RoutingService::Stub>> stubs_;
  std::vector<std::unique_ptr<Stream>> streams_;
};

// A thousand callers of one relay see a planned move; etcd has one watch for all of them. The relay
// counts their streams for as long as they are open.
TEST(Relay, AThousandStreamsSeeAChange) {
  Cluster cluster(SharedEtcd(), {.shards = 12, .ttl = seconds(5)});
  cluster.Start("n1", {"--rebalance-delay", "1h"});
  cluster.AwaitBalanced({"n1"});
  NodeProcess& relay = cluster.LaunchRelay("relay");
  cluster.WaitReady(relay);
  auto streams = std::make_unique<ManyStreams>(relay.endpoint(), 1000);
  ASSERT_TRUE(streams->AllComplete());
  ASSERT_TRUE(streams->AllSee("n1"));
  const auto open = [&] {
    return cluster.Metric("relay", "baton_grpc_calls_open{listener=\"port\"}");
  };
  EXPECT_EQ(open(), 1000);
  cluster.Start("n2", {"--rebalance-delay", "1h"});
  const app::Ran moved = cluster.Ctl("n1", {"shards", "transfer", "0", "--to", "n2"});
  ASSERT_EQ(moved.exit, 0) << moved.err;
  ASSERT_TRUE(streams->AllSee("n2"));
  streams.reset();
  EXPECT_TRUE(Eventually(kPatience, [&] { return open() == 0; })) << open();
}

}  // namespace
}  // namespace baton::e2e
