// RelayEngine: a view of a group for callers, kept by a process that takes no part in the group.
//
// It reads and watches the group as a node does, but writes nothing: it has no member key and no
// lease. It waits until the group's `config` exists, which has the shard count. Every kProveEvery
// it makes a small linearizable read, which returns the store's revision. When the watch has
// reached that revision, the view is proven to be current. If the watch stands still below it, the
// engine reopens the watch, on another endpoint.
//
// Threads: everything except the constructor runs on the executor. After Close, late replies are
// ignored.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "core/seen_transitions.h"
#include "core/view.h"
#include "etcd/keyspace.h"
#include "etcd/transport.h"
#include "etcd/watch_cursor.h"
#include "runtime/control.h"
#include "runtime/executor.h"
#include "runtime/history.h"
#include "runtime/route_feed.h"

namespace baton::runtime {

/// The parts that a relay uses. REQUIRES: all of them outlive it.
struct RelayParts {
  etcd::Transport& transport;
  const Clock& clock;
  Executor& executor;
  std::function<std::uint64_t()> random;  ///< spreads the timers of many relays
  std::shared_ptr<History> history = {};  ///< null: no history is kept
};

class RelayEngine : public std::enable_shared_from_this<RelayEngine> {
 public:
  static constexpr Duration kProveEvery = std::chrono::seconds(2);
  static constexpr Duration kStaleAfter = std::chrono::seconds(10);

  /// `name`: the server's name in answers to callers.
  RelayEngine(std::string group, std::string name, etcd::Keyspace keyspace, RelayParts parts);
  RelayEngine(const RelayEngine&) = delete;
  RelayEngine& operator=(const RelayEngine&) = delete;

  /// Begins to read etcd. REQUIRES: owned by a shared_ptr.
  void Start();
  void Close();

  /// A snapshot for operators, at most 50 ms old.
  std::shared_ptr<const NodeStatus> Status();
  void AddObserver(std::shared_ptr<Observer> observer);
  void AddRouteObserver(std::shared_ptr<RouteObserver> observer);
  /// Called each time a complete view is proven to be current, with the time as of which it was.
  void OnProven(std::function<void(TimePoint)> handler) { proven_ = std::move(handler); }

 private:
  void TakeSnapshot(Snapshot snapshot, std::uint64_t cluster);
  void TakeChanges(Changes changes, std::uint64_t cluster);
  void TakeConfig(const ConfigFact& config, std::uint64_t cluster);
  void WaitForGroup();
  void Halt(const std::string& why);
  void BeginRoutes();
  void AfterMerge();
  void Heartbeat();
  void Prove();
  void Proving(TimePoint asked, Revision applied, const etcd::Reply<etcdserverpb::RangeResponse>&);
  void CheckProof();
  void Proven(TimePoint asked);
  void Audit();
  /// Runs a function after a delay, unless the engine is closed by then.
  template <typename Function>
  void Later(Duration delay, Function function);
  TimePoint ProvenAt() const;
  std::string NotReady() const;

  const RelayParts parts_;
  const std::string group_;
  const std::string name_;
  const etcd::Keyspace keyspace_;
  std::unique_ptr<etcd::WatchCursor> cursor_;
  std::unique_ptr<core::View> view_;  ///< null: the group's config is not known yet
  ConfigFact shape_;                  ///< the config that view_ was made for
  std::optional<core::SeenTransitions> seen_;
  std::uint64_t cluster_ = 0;
  std::shared_ptr<RouteFeed> routes_;  ///< null: nobody observes, or there is no view
  std::vector<std::shared_ptr<RouteObserver>> waiting_;  ///< observers that wait for a view
  std::vector<std::shared_ptr<Observer>> observers_;
  std::function<void(TimePoint)> proven_;

  Revision watch_at_;              ///< the watch is known to have reached this revision
  std::optional<Revision> floor_;  ///< it must reach this one to complete the pending proof
  TimePoint floor_asked_{};
  TimePoint behind_since_{};
  TimePoint proven_at_{};
  TimePoint heartbeat_at_ = TimePoint::max();
  bool waits_ = false;  ///< for the group to be created
  std::optional<Error> halted_;
  bool closed_ = false;
  std::string last_trouble_;
  std::shared_ptr<const NodeStatus> status_;
  TimePoint status_at_ = TimePoint::min();
};

}  // namespace baton::runtime
