// The embedded node on a real etcd, as a standby: its callbacks, and what it says of itself.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <chrono>
#include <condition_variable>
#include <functional>
#include <future>
#include <map>
#include <memory>
#include <mutex>
#include <stdexcept>
#include <string>
#include <vector>

#include "base/clock.h"
#include "base/placement.h"
#include "baton/node.h"
#include "lab/private_etcd.h"
#include "runtime/control.h"

namespace baton {
namespace {

using std::chrono::milliseconds;
using std::chrono::minutes;
using std::chrono::seconds;
using ::testing::ElementsAre;

constexpr seconds kStandbyPatience{60};
constexpr std::uint32_t kStandbyShards = 4;

struct WithoutText : std::exception {
  const char* what() const noexcept override { return nullptr; }
};

// Records a node's callbacks. Standby throws for shard 3.
class StandbyCallbacks : public Listener {
 public:
  void Prepare(ShardId shard) override { Note(shard, "prepare"); }
  void Acquired(ShardId shard, Term) override { Note(shard, "acquired"); }
  void Releasing(ShardId shard, Term) override { Note(shard, "releasing"); }
  void Lost(ShardId shard, Term, Reason) override { Note(shard, "lost"); }
  void Standby(ShardId shard) override {
    Note(shard, "standby");
    if (shard == ShardId{3}) throw WithoutText();
  }
  void StandbyEnded(ShardId shard) override { Note(shard, "standby_ended"); }

  std::vector<std::string> Of(std::uint32_t shard) {
    const std::lock_guard lock(mutex_);
    return told_[shard];
  }
  // Waits until the shard has had this many callbacks.
  bool Await(std::uint32_t shard, std::size_t count) {
    std::unique_lock lock(mutex_);
    return changed_.wait_for(lock, kStandbyPatience, [&] { return told_[shard].size() >= count; });
  }

 private:
  void Note(ShardId shard, const std::string& what) {
    const std::lock_guard lock(mutex_);
    told_[shard.value].push_back(what);
    changed_.notify_all();
  }

  std::mutex mutex_;
  std::condition_variable changed_;
  std::map<std::uint32_t, std::vector<std::string>> told_;
};

// n1 leads all shards, because nothing is rebalanced. n2 joins later.
class NodeStandbyTest : public ::testing::Test {
 protected:
  void SetUp() override {
    auto started = lab::PrivateEtcd::Start({});
    ASSERT_TRUE(started.ok()) << started.error().message;
    etcd_ = std::move(started).value();
    n1_ = Start("n1", first_);
    ASSERT_NE(n1_, nullptr);
    for (std::uint32_t s = 0; s < kStandbyShards; ++s) ASSERT_TRUE(first_->Await(s, 1));
    n2_ = Start("n2", second_);
    ASSERT_NE(n2_, nullptr);
    ASSERT_TRUE(Until(*n1_, [](const auto& status) { return status.members.size() == 2; }));
    ASSERT_TRUE(n2_->WaitReady(kStandbyPatience).ok());
  }
  void TearDown() override {
    n2_.reset();
    n1_.reset();
    etcd_.reset();
  }
  std::unique_ptr<Node> Start(const NodeId& node, std::shared_ptr<Listener> listener) {
    NodeOptions options;
    options.group = "standbys";
    options.shards = kStandbyShards;
    options.node = node;
    options.etcd.endpoints = etcd_->endpoints();
    options.ttl = seconds(5);
    options.settle = milliseconds(200);
    options.rebalance_delay = minutes(10);
    options.cooldown = milliseconds(0);
    auto started = Node::Start(options, std::move(listener));
    EXPECT_TRUE(started.ok()) << started.error().message;
    return started.ok() ? std::move(started).value() : nullptr;
  }
  Status SetStandbys(std::uint32_t standbys) {
    Placement placement;
    if (standbys > 0) placement.push_back({.shards = {}, .require = {}, .prefer = {}});
    if (standbys > 0) placement.front().standbys = standbys;
    std::promise<Status> answered;
    n1_->control().Request(runtime::GroupChangeRequest{.placement = placement, .actor = "test"},
                           [&](Status status) { answered.set_value(std::move(status)); });
    return answered.get_future().get();
  }
  void TransferToN2(std::uint32_t shard) {
    std::promise<Status> answered;
    n1_->control().Request(
        runtime::TransferRequest{
            .shard = ShardId{shard}, .to = "n2", .if_term = {}, .actor = "test"},
        [&](const Result<MoveFact>& move) {
          answered.set_value(move.ok() ? Ok() : Status(move.error()));
        });
    const Status planned = answered.get_future().get();
    EXPECT_TRUE(planned.ok()) << planned.error().message;
  }
  static std::shared_ptr<const runtime::NodeStatus> StatusOf(Node& node) {
    std::promise<std::shared_ptr<const runtime::NodeStatus>> answered;
    node.control().GetStatus([&](auto status) { answered.set_value(std::move(status)); });
    return answered.get_future().get();
  }
  // Polls through the node's loop, which paces it. Bounded.
  static bool Until(Node& node, const std::function<bool(const runtime::NodeStatus&)>& done) {
    const TimePoint give_up = BootClock::now() + kStandbyPatience;
    while (BootClock::now() < give_up) {
      if (done(*StatusOf(node))) return true;
    }
    return false;
  }
  // When this returns, n2's earlier words have reached its core.
  void AwaitWordsOfN2() { StatusOf(*n2_); }

  std::unique_ptr<lab::PrivateEtcd> etcd_;
  const std::shared_ptr<StandbyCallbacks> first_ = std::make_shared<StandbyCallbacks>();
  const std::shared_ptr<StandbyCallbacks> second_ = std::make_shared<StandbyCallbacks>();
  std::unique_ptr<Node> n1_;
  std::unique_ptr<Node> n2_;
};

// Plan: n2 stands by for all shards. It says that it is ready for shard 0, and takes that word back
// for shard 1. Both shards are moved there: only shard 1 is prepared first. n1 stands by for them
// now. Standby threw for shard 3: that is counted, and ends nothing.
TEST_F(NodeStandbyTest, OnlyAReadyOneTakesAShardOverWithoutPrepare) {
  ASSERT_TRUE(SetStandbys(1).ok());
  for (std::uint32_t s = 0; s < kStandbyShards; ++s) ASSERT_TRUE(second_->Await(s, 1));
  n2_->SetStandbyReady(ShardId{0}, true);
  n2_->SetStandbyReady(ShardId{1}, true);
  n2_->SetStandbyReady(ShardId{1}, false);
  EXPECT_TRUE(
      Until(*n2_, [](const auto& status) { return status.counters.callbacks_failed == 1; }));
  TransferToN2(0);
  TransferToN2(1);
  ASSERT_TRUE(second_->Await(0, 2));
  EXPECT_THAT(second_->Of(0), ElementsAre("standby", "acquired"));
  ASSERT_TRUE(second_->Await(1, 3));
  EXPECT_THAT(second_->Of(1), ElementsAre("standby", "prepare", "acquired"));
  for (const std::uint32_t moved : {0u, 1u}) {
    ASSERT_TRUE(first_->Await(moved, 4));
    EXPECT_THAT(first_->Of(moved), ElementsAre("acquired", "releasing", "lost", "standby"));
  }
  EXPECT_THAT(second_->Of(3), ElementsAre("standby"));
  EXPECT_TRUE(n1_->Leads(ShardId{3}));
  EXPECT_FALSE(n2_->Leads(ShardId{3}));
}

// Plan: the rules no longer ask for standbys, so each standby ends once. A word that comes then has
// no effect: shard 2 is prepared before it moves.
TEST_F(NodeStandbyTest, AWordAfterTheEndIsAboutNothing) {
  ASSERT_TRUE(SetStandbys(1).ok());
  for (std::uint32_t s = 0; s < kStandbyShards; ++s) ASSERT_TRUE(second_->Await(s, 1));
  n2_->SetStandbyReady(ShardId{2}, true);
  ASSERT_TRUE(SetStandbys(0).ok());
  for (std::uint32_t s = 0; s < kStandbyShards; ++s) ASSERT_TRUE(second_->Await(s, 2));
  n2_->SetStandbyReady(ShardId{2}, true);
  n2_->SetStandbyReady(ShardId{99}, true);
  AwaitWordsOfN2();
  TransferToN2(2);
  ASSERT_TRUE(second_->Await(2, 4));
  EXPECT_THAT(second_->Of(2), ElementsAre("standby", "standby_ended", "prepare", "acquired"));
  EXPECT_THAT(second_->Of(0), ElementsAre("standby", "standby_ended"));
  EXPECT_THAT(first_->Of(0), ElementsAre("acquired"));
}

// Plan: a standby stops. When Stop has returned, each standby has ended once, and a word is
// harmless.
TEST_F(NodeStandbyTest, EndsWithItsNode) {
  ASSERT_TRUE(SetStandbys(1).ok());
  for (std::uint32_t s = 0; s < kStandbyShards; ++s) ASSERT_TRUE(second_->Await(s, 1));
  n2_->SetStandbyReady(ShardId{0}, true);
  n2_->Stop();
  n2_->SetStandbyReady(ShardId{0}, true);
  for (std::uint32_t s = 0; s < kStandbyShards; ++s) {
    EXPECT_THAT(second_->Of(s), ElementsAre("standby", "standby_ended"));
  }
}

}  // namespace
}  // namespace baton
