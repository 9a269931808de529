// Sampler: writes down what a node says of itself, as fast as it is asked to.
#pragma once

#include <algorithm>
#include <chrono>
#include <condition_variable>
#include <cstdint>
#include <memory>
#include <mutex>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "baton/node.h"
#include "history.h"
#include "runtime/control.h"

namespace baton::chaos {

/// Asks Leads() for all shards again and again. Each line has the time before and after; of the
/// shards, what changed.
class Sampler {
 public:
  Sampler(Node& node, const History& history, std::uint32_t shards, std::chrono::milliseconds every)
      : node_(node), history_(history), every_(every), words_(shards), thread_([this] { Run(); }) {}
  Sampler(const Sampler&) = delete;
  Sampler& operator=(const Sampler&) = delete;
  ~Sampler() {
    {
      const std::lock_guard lock(mutex_);
      stopped_ = true;
    }
    changed_.notify_all();
    thread_.join();
  }

 private:
  void Run() {
    auto next = std::chrono::steady_clock::now();
    std::unique_lock lock(mutex_);
    for (int turn = 0; !stopped_; ++turn) {
      Sample();
      if (turn % kSamplesPerStatus == 0) Status();
      next = std::max(next + every_, std::chrono::steady_clock::now());
      changed_.wait_until(lock, next, [this] { return stopped_; });
    }
  }

  void Sample() {
    const std::int64_t before = history_.Now();
    std::vector<std::int64_t> words(words_.size());
    for (std::uint32_t shard = 0; shard < words.size(); ++shard) {
      const Leadership leadership = node_.Leadership(ShardId{shard});
      if (leadership.leads)
        words[shard] = leadership.term.value * 2 + (leadership.activated ? 1 : 0);
    }
    const std::int64_t after = history_.Now();
    std::string changes;
    for (std::uint32_t shard = 0; shard < words.size(); ++shard) {
      if (words[shard] == words_[shard]) continue;
      changes += (changes.empty() ? "[" : ",[") + std::to_string(shard) + "," +
                 std::to_string(words[shard] / 2) + "," + std::to_string(words[shard] % 2) + "]";
    }
    words_ = std::move(words);
    std::string line = "{\"t\":[" + std::to_string(before) + "," + std::to_string(after) + "]";
    if (!changes.empty()) line += ",\"leads\":[" + changes + "]";
    history_.Write(line + "}");
  }

  /// The deadline can't be asked for; it is the last confirmed renewal's time plus the lease less
  /// its margin.
  void Status() {
    node_.control().GetStatus([&history = history_, asked = history_.Now()](
                                  const std::shared_ptr<const runtime::NodeStatus>& status) {
      history.Write(
          "{\"at\":" + std::to_string(history.Now()) + ",\"asked\":" + std::to_string(asked) +
          ",\"event\":\"status\",\"session\":" + std::to_string(status->session_id.value) +
          ",\"phase\":\"" + runtime::ToString(status->session) +
          "\",\"renewal_age\":" + std::to_string(status->renewal_age.count()) +
          ",\"confirmed\":" + std::to_string(status->counters.renewals_confirmed) +
          ",\"ttl_ms\":" + std::to_string(status->ttl.count()) +
          ",\"revision\":" + std::to_string(status->revision.value) +
          ",\"resyncs\":" + std::to_string(status->counters.watch_resyncs) + "}");
    });
  }

  static constexpr int kSamplesPerStatus = 10;

  Node& node_;
  const History& history_;
  const std::chrono::milliseconds every_;
  std::vector<std::int64_t> words_;  // the sampler's thread alone
  std::mutex mutex_;                 // below
  std::condition_variable changed_;
  bool stopped_ = false;
  std::thread thread_;  // last: it uses all of the above
};

}  // namespace baton::chaos
