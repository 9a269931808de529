// A Control without a node. It answers with a given status, at once or never.
#pragma once

#include <atomic>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <utility>
#include <vector>

#include "runtime/control.h"
#include "runtime/history.h"

namespace baton::http {

class FakeControl : public runtime::Control {
 public:
  void SetStatus(runtime::NodeStatus status) {
    const std::lock_guard lock(mutex_);
    status_ = std::make_shared<const runtime::NodeStatus>(std::move(status));
  }
  /// From now on requests wait for Release.
  void Hold() { held_ = true; }
  /// Answers waiting requests, and later ones at once.
  void Release() {
    held_ = false;
    std::vector<Handler> waiting;
    {
      const std::lock_guard lock(mutex_);
      waiting.swap(waiting_);
    }
    for (const Handler& handler : waiting) Reply(handler);
  }
  int asked() const { return asked_; }
  std::size_t waiting() {
    const std::lock_guard lock(mutex_);
    return waiting_.size();
  }

  std::atomic<bool> alive{true};
  std::atomic<bool> ready{true};
  std::optional<TimePoint> renewed_at;
  void Lead(baton::Leadership leadership) {
    const std::lock_guard lock(mutex_);
    leaderships_[leadership.shard] = leadership;
  }
  std::vector<std::shared_ptr<runtime::Observer>> observers;
  std::vector<std::shared_ptr<runtime::RouteObserver>> route_observers;
  std::map<std::pair<std::string, std::string>, CallStats> calls;

  using Handler = std::function<void(std::shared_ptr<const runtime::NodeStatus>)>;
  void GetStatus(Handler handler) override {
    ++asked_;
    if (!held_) return Reply(handler);
    const std::lock_guard lock(mutex_);
    waiting_.push_back(std::move(handler));
  }
  bool Alive() const noexcept override { return alive; }
  bool Ready() const noexcept override { return ready; }
  std::optional<TimePoint> RenewedAt() const noexcept override { return renewed_at; }
  baton::Leadership LeadershipOf(ShardId shard) const noexcept override {
    const std::lock_guard lock(mutex_);
    baton::Leadership none;
    none.shard = shard;
    const auto found = leaderships_.find(shard);
    return found == leaderships_.end() ? none : found->second;
  }
  std::shared_ptr<const runtime::History> history() const override { return kept; }
  std::shared_ptr<runtime::History> kept = std::make_shared<runtime::History>("orders", "n1", 100);
  void AddRouteObserver(std::shared_ptr<runtime::RouteObserver> observer) override {
    route_observers.push_back(std::move(observer));
  }
  void AddObserver(std::shared_ptr<runtime::Observer> observer) override {
    observers.push_back(std::move(observer));
  }
  std::map<std::pair<std::string, std::string>, CallStats> EtcdCalls() const override {
    return calls;
  }

  // HTTP and metrics change nothing.
  void Request(runtime::TransferRequest, std::function<void(Result<MoveFact>)> handler) override {
    handler(Unused());
  }
  void Request(runtime::PolicyRequest, std::function<void(Status)> handler) override {
    handler(Unused());
  }
  void Request(runtime::RetryRequest, std::function<void(Result<std::uint32_t>)> handler) override {
    handler(Unused());
  }
  void Request(runtime::GroupChangeRequest, std::function<void(Status)> handler) override {
    handler(Unused());
  }
  void Request(runtime::ReleaseRequest, std::function<void(Status)> handler) override {
    handler(Unused());
  }
  void Request(runtime::NodeChangeRequest,
               std::function<void(Result<NodeChanged>)> handler) override {
    handler(Unused());
  }
  void PlanRebalance(std::function<void(Result<std::vector<MoveFact>>)> handler) override {
    handler(Unused());
  }

 private:
  static Error Unused() { return {ErrorCode::kInternal, "a reader changed something"}; }

  void Reply(const Handler& handler) {
    std::shared_ptr<const runtime::NodeStatus> status;
    {
      const std::lock_guard lock(mutex_);
      status = status_;
    }
    handler(status);
  }

  mutable std::mutex mutex_;
  std::shared_ptr<const runtime::NodeStatus> status_ = std::make_shared<runtime::NodeStatus>();
  std::map<ShardId, baton::Leadership> leaderships_;
  std::vector<Handler> waiting_;
  std::atomic<bool> held_{false};
  std::atomic<int> asked_{0};
};

}  // namespace baton::http
