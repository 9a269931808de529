// RelayEngine: a view of a group for callers, kept by whoever takes no part in it.
//
// It reads the group and watches it, as a node does, and writes nothing: no member key, no lease.
// The group's shape comes from its `config`; until that is there, it waits. Every kProveEvery a
// small linearizable read tells how far the store is, and the watch is asked whether it is there:
// that is the view's proof. A watch that stands still below such a revision is opened elsewhere.
//
// Threads: everything but the constructor runs on the executor. An engine that was closed ignores
// what comes late.
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

/// The parts a relay drives; all outlive it.
struct RelayParts {
  etcd::Transport& transport;
  const Clock& clock;
  Executor& executor;
  std::function<std::uint64_t()> random;  ///< spreads what many relays would do at once
  std::shared_ptr<History> history = {};  ///< null: none is kept
};

class RelayEngine : public std::enable_shared_from_this<RelayEngine> {
 public:
  static constexpr Duration kProveEvery = std::chrono::seconds(2);
  static constexpr Duration kStaleAfter = std::chrono::seconds(10);

  /// `name`: as callers are told who answers.
  RelayEngine(std::string group, std::string name, etcd::Keyspace keyspace, RelayParts parts);
  RelayEngine(const RelayEngine&) = delete;
  RelayEngine& operator=(const RelayEngine&) = delete;

  /// Begins to read. REQUIRES: owned by a shared_ptr.
  void Start();
  void Close();

  /// A picture for operators; built at most every 50 ms.
  std::shared_ptr<const NodeStatus> Status();
  void AddObserver(std::shared_ptr<Observer> observer);
  void AddRouteObserver(std::shared_ptr<RouteObserver> observer);
  /// Called whenever a complete view was proven current, with the time for which it was.
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
  /// Runs a function later, unless closed by then.
  template <typename Function>
  void Later(Duration delay, Function function);
  TimePoint ProvenAt() const;
  std::string NotReady() const;

  const RelayParts parts_;
  const std::string group_;
  const std::string name_;
  const etcd::Keyspace keyspace_;
  std::unique_ptr<etcd::WatchCursor> cursor_;
  std::unique_ptr<core::View> view_;  ///< null: the group's shape is not known
  ConfigFact shape_;                  ///< that view_ was made for
  std::optional<core::SeenTransitions> seen_;
  std::uint64_t cluster_ = 0;
  std::shared_ptr<RouteFeed> routes_;                    ///< null: nobody observes, or no view
  std::vector<std::shared_ptr<RouteObserver>> waiting_;  ///< for a view
  std::vector<std::shared_ptr<Observer>> observers_;
  std::function<void(TimePoint)> proven_;

  Revision watch_at_;              ///< the watch is known to have reached this
  std::optional<Revision> floor_;  ///< and must reach this, to prove what was asked
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
