// The end of a node that halts, on a real etcd: which callbacks its listener gets, and in which
// order.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <chrono>
#include <condition_variable>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "baton/node.h"
#include "etcd/keyspace.h"
#include "etcd/records.h"
#include "lab/private_etcd.h"

namespace baton {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;
using ::testing::ElementsAre;
using ::testing::HasSubstr;

constexpr seconds kHaltPatience{60};

// Records the callbacks of shard 0, and the halt.
class FirstShard : public Listener {
 public:
  void Acquired(ShardId shard, Term) override {
    if (shard == ShardId{0}) Note("acquired");
  }
  void Lost(ShardId shard, Term, Reason) override {
    if (shard != ShardId{0}) return;
    Note("lost");
    Note("lost returns");
  }
  void Halted(const Error& why) override {
    Note("halted");
    const std::lock_guard lock(mutex_);
    why_ = why.message;
  }

  bool Await(const std::string& what) {
    std::unique_lock lock(mutex_);
    return changed_.wait_for(lock, kHaltPatience, [&] {
      return std::find(told_.begin(), told_.end(), what) != told_.end();
    });
  }
  std::vector<std::string> told() {
    const std::lock_guard lock(mutex_);
    return told_;
  }
  std::string why() {
    const std::lock_guard lock(mutex_);
    return why_;
  }

 private:
  void Note(const std::string& what) {
    const std::lock_guard lock(mutex_);
    told_.push_back(what);
    changed_.notify_all();
  }

  std::mutex mutex_;
  std::condition_variable changed_;
  std::vector<std::string> told_;
  std::string why_;
};

// Plan: a newer version writes the group's config while a node leads shard 0. Halted comes in order
// with that shard's callbacks: once Lost has returned.
TEST(NodeHaltTest, TellsTheFirstShardsLossBeforeTheHalt) {
  const auto started = lab::PrivateEtcd::Start({});
  ASSERT_TRUE(started.ok()) << started.error().message;
  const lab::PrivateEtcd& store = *started.value();
  NodeOptions options;
  options.group = "halts";
  options.shards = 12;
  options.node = "n1";
  options.etcd.endpoints = store.endpoints();
  options.ttl = seconds(30);
  options.settle = milliseconds(200);
  const auto listener = std::make_shared<FirstShard>();
  const auto node = Node::Start(options, listener);
  ASSERT_TRUE(node.ok()) << node.error().message;
  ASSERT_TRUE(listener->Await("acquired"));
  const std::string key = etcd::Keyspace(options.etcd.prefix, options.group).ConfigKey();
  const std::string config = etcd::EncodeConfig(
      {.present = true, .shards = options.shards, .schema = kConfigSchema + 1, .cluster_id = 1});
  const Status written = store.Etcdctl({"put", key, config});
  ASSERT_TRUE(written.ok()) << written.error().message;
  ASSERT_TRUE(listener->Await("halted"));
  node.value()->Stop();
  EXPECT_THAT(listener->told(), ElementsAre("acquired", "lost", "lost returns", "halted"));
  EXPECT_THAT(listener->why(), HasSubstr("newer version"));
}

}  // namespace
}  // namespace baton
