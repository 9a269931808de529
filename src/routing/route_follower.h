// RouteFollower: a router's thread. It follows one endpoint's routes, leaves it for another where
// the stream ends, is refused, is silent, or has said for as long that it is stale, and keeps the
// store up to date.
//
// The thread waits on a completion queue of its own, not on gRPC's callback threads: those sleep at
// times (see etcd/callback_ticker.h), and what waits for a route must not. Endpoints are taken in a
// shuffled order, so that a program's routers, and many programs, spread over them; between two
// attempts lies a random time, up to 50 ms after the first failure and growing with each round of
// all endpoints up to 5 s.
#pragma once

#include <atomic>
#include <functional>
#include <memory>
#include <mutex>
#include <random>
#include <string>
#include <thread>
#include <vector>

#include <grpcpp/alarm.h>
#include <grpcpp/completion_queue.h>
#include <grpcpp/security/credentials.h>
#include <grpcpp/support/status.h>

#include "base/clock.h"
#include "baton/routes.h"
#include "routing/route_store.h"

namespace baton::routing {

struct FollowerOptions {
  std::vector<std::string> endpoints;  ///< not empty
  std::shared_ptr<grpc::ChannelCredentials> credentials;
  Duration silence{};
};

class RouteFollower {
 public:
  /// What else the thread does, each time it turns: given the time and whether routes changed,
  /// answers when it wants to be asked again at the latest.
  using Chores = std::function<TimePoint(TimePoint now, bool changed)>;

  /// Begins to follow. `store` must outlive it.
  RouteFollower(FollowerOptions options, RouteStore& store, Chores chores);
  /// As Stop.
  ~RouteFollower();
  RouteFollower(const RouteFollower&) = delete;
  RouteFollower& operator=(const RouteFollower&) = delete;

  /// Leaves whoever is followed and ends the thread; once.
  void Stop();

  // Any thread.
  RoutesAge Age() const;
  /// All endpoints refused by what they are, not for a moment: another group, another mapping.
  /// Lock-free.
  bool refused_by_all() const { return refused_by_all_.load(); }
  std::uint64_t reconnects() const { return reconnects_.load(std::memory_order_relaxed); }
  std::uint64_t snapshots() const { return snapshots_.load(std::memory_order_relaxed); }
  std::uint64_t resumes() const { return resumes_.load(std::memory_order_relaxed); }

 private:
  struct Stream;
  /// What Age tells, as of the last message.
  struct Shown {
    std::string server;
    std::string problem;
    Duration age{};
    TimePoint arrived = TimePoint::min();
    bool stale = true;
    std::vector<bool> refused;  ///< by endpoint, as of the last try
  };

  void Run();
  void Turn(TimePoint now);
  TimePoint NextTurn(TimePoint now) const;
  TimePoint LeaveStaleAt() const;
  void Open(TimePoint now);
  void OnEvent(bool ok, TimePoint now);
  void OnMessage(TimePoint now);
  void Leave(std::string problem, bool refused);
  void OnEnded(TimePoint now);
  Duration Jittered();

  const FollowerOptions options_;
  RouteStore& store_;
  const Chores chores_;
  std::atomic<bool> stopped_{false};
  std::atomic<bool> refused_by_all_{false};
  std::atomic<std::uint64_t> reconnects_{0};
  std::atomic<std::uint64_t> snapshots_{0};
  std::atomic<std::uint64_t> resumes_{0};
  mutable std::mutex mutex_;  // guards shown_; taken before the store's
  Shown shown_;

  // The thread's alone.
  std::vector<std::size_t> order_;  // of endpoints
  std::size_t turn_ = 0;            // in order_
  std::size_t failures_ = 0;        // since a stream lasted
  TimePoint next_attempt_ = TimePoint::min();
  TimePoint next_chores_ = TimePoint::min();
  bool changed_ = false;
  std::unique_ptr<Stream> stream_;
  std::mt19937_64 random_;

  grpc::CompletionQueue queue_;
  grpc::Alarm wake_;  // rung by Stop
  std::thread thread_;
};

}  // namespace baton::routing
