// RouteFollower: a router's thread. Until Stop it reads the routes of one endpoint after another,
// and merges them into the store. It switches to the next endpoint in these cases:
//  - The stream has ended.
//  - The store has refused a message.
//  - The endpoint has sent nothing for FollowerOptions::silence. The time to connect counts.
//  - There are several endpoints, and the present one has reported stale routes for `silence`.
// After a switch, earlier routes stay in the store.
//
// A check (merged_routes.h) may show that an earlier server sent something false. Then the thread
// at once opens another stream at the same endpoint, and reads all routes.
//
// The order of endpoints is random, so that many routers spread over them. Between two attempts the
// thread waits for a random time of at most 50 ms. After each round in which all endpoints failed,
// this limit doubles, up to 5 s. An attempt fails if it lasted less than 1 s, or if the endpoint
// reported stale routes at the attempt's end. Any other attempt sets the limit back to 50 ms, even
// if no answer came. New credentials also set the limit back.
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
#include "routing/client/route_store.h"

namespace baton::routing {

/// The longest message that is read, in bytes; a longer one ends the stream. A server's page
/// usually has about 300 kB. A page of 10,000 routes fits if it names at most 4,000 nodes, however
/// long their names and addresses are. In memory, a message of a false server may take some 50
/// times as much.
inline constexpr int kLongestMessage = 4 << 20;

struct FollowerOptions {
  std::vector<std::string> endpoints;  ///< gRPC targets; REQUIRES (checked): not empty
  std::shared_ptr<grpc::ChannelCredentials> credentials;  ///< REQUIRES (checked): not null
  Duration silence{};  ///< see above; REQUIRES (not checked): above 0
};

class RouteFollower {
 public:
  /// The router's other work on this thread. `changed`: routes may have changed since the last call
  /// of Chores. Returns when the thread should call Chores again. If routes change, the thread
  /// calls Chores earlier. The first call comes at once. REQUIRES: Chores doesn't wait, and doesn't
  /// call Stop.
  using Chores = std::function<TimePoint(TimePoint now, bool changed)>;

  /// Begins to follow, and returns at once. Throws std::system_error if the system gives no thread.
  /// REQUIRES: `store` outlives this object, and no other RouteFollower uses `store`.
  RouteFollower(FollowerOptions options, RouteStore& store, Chores chores);
  /// Calls Stop. REQUIRES: no other thread uses this object any more.
  ~RouteFollower();
  RouteFollower(const RouteFollower&) = delete;
  RouteFollower& operator=(const RouteFollower&) = delete;

  /// Ends the stream and the thread, and waits for the thread. Later calls do nothing, and don't
  /// wait.
  void Stop();

  // Any thread.
  /// Returns at once. Within a second, the thread ends the stream and opens it again with these
  /// credentials, at the same endpoint. If the thread waits between two attempts, it makes the next
  /// attempt within this second. Of several calls before that, only the last one counts. REQUIRES
  /// (not checked): `credentials` is not null.
  void SetCredentials(std::shared_ptr<grpc::ChannelCredentials> credentials);
  /// Returns how current the routes are (baton/routes.h). Waits only for short locks, at worst
  /// while the thread merges a message.
  RoutesAge Age() const;
  /// Whether the last attempt failed at every endpoint because the endpoint serves another group or
  /// maps keys differently. Then waiting does not help, but the thread still tries the endpoints
  /// again. Lock-free.
  bool refused_by_all() const { return refused_by_all_.load(); }
  /// How many streams have ended. Attempts that failed count, too. The stream that Stop ends does
  /// not count.
  std::uint64_t reconnects() const { return reconnects_.load(std::memory_order_relaxed); }
  /// `snapshots`: how many streams began with all routes. `resumes`: how many streams began with
  /// the changes since the last stream.
  std::uint64_t snapshots() const { return snapshots_.load(std::memory_order_relaxed); }
  std::uint64_t resumes() const { return resumes_.load(std::memory_order_relaxed); }

 private:
  struct Stream;
  /// The values that Age returns, from the last message.
  struct Shown {
    std::string server;
    std::string problem;
    Duration age{};
    TimePoint arrived = TimePoint::min();
    bool stale = true;
    std::vector<bool> refused;  ///< by endpoint: the result of the last attempt
  };

  void Run();
  void Turn(TimePoint now);
  void TakeCredentials(TimePoint now);
  TimePoint NextTurn(TimePoint now) const;
  TimePoint LeaveStaleAt() const;
  void Open(TimePoint now);
  void OnEvent(bool ok, TimePoint now);
  void OnMessage(TimePoint now);
  void Leave(const std::string& problem, bool refused);
  void OnEnded(TimePoint now);
  Duration Jittered();

  FollowerOptions options_;  // only the thread changes the credentials
  RouteStore& store_;
  const Chores chores_;
  std::atomic<bool> stopped_{false};
  std::atomic<bool> refused_by_all_{false};
  std::atomic<std::uint64_t> reconnects_{0};
  std::atomic<std::uint64_t> snapshots_{0};
  std::atomic<std::uint64_t> resumes_{0};
  mutable std::mutex mutex_;  // guards what follows; taken before the store's
  Shown shown_;
  std::shared_ptr<grpc::ChannelCredentials> new_credentials_;  // not used yet; null: none

  // Only the thread uses these.
  std::vector<std::size_t> order_;  // endpoints in the order of attempts
  std::size_t turn_ = 0;            // in order_
  std::size_t failures_ = 0;        // attempts in a row that failed
  TimePoint next_attempt_ = TimePoint::min();
  TimePoint next_chores_ = TimePoint::min();
  bool changed_ = false;
  std::unique_ptr<Stream> stream_;
  std::mt19937_64 random_;

  grpc::CompletionQueue queue_;
  grpc::Alarm wake_;  // Stop rings it
  std::thread thread_;
};

}  // namespace baton::routing
