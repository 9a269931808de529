// GroupFollower: follows one group's keys in etcd, for a node's engine or for a relay.
//
// It has the parts that a node and a relay both need: the watch, the proof that the view is
// current, routes, observers, history and status. It has no view and decides nothing. Its owner
// merges the news into a view, and decides what the news means. A node's engine is a follower with
// a core; a relay's engine is a follower with a view.
//
//   etcd ──▶ WatchCursor ──news──▶ Owner (merges, decides) ──Followed──▶ proof, routes
//
// How it proves that the view was current at a time: the owner commits or reads something, and
// calls Prove with the answer's revision. Once the watch has delivered everything up to that
// revision, the view is proven to have been current when the owner asked. A read of everything
// proves the same for the time when the read began. What the watch itself says is no proof, because
// the etcd member that serves the watch may be cut off. core::WatchProgress says whether the watch
// stands still.
//
// Threads: everything runs on the executor (the loop), except the constructor, the destructor, and
// setting handlers and observers before Start.
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "core/events.h"
#include "core/view.h"
#include "etcd/keyspace.h"
#include "etcd/transport.h"
#include "etcd/watch_cursor.h"
#include "runtime/control.h"
#include "runtime/executor.h"
#include "runtime/history.h"
#include "runtime/node_log.h"
#include "runtime/route_feed.h"
#include "runtime/status_board.h"

namespace baton::runtime {

/// The group that a follower follows, and the parts that it uses. REQUIRES: the references outlive
/// the follower; `random` is set.
struct FollowerParts {
  std::string group;
  std::string name;  ///< of the node or relay
  etcd::Keyspace keyspace;
  etcd::Transport& transport;
  const Clock& clock;
  Executor& executor;
  std::function<std::uint64_t()> random;  ///< spreads the backoffs of many processes
  std::shared_ptr<History> history = {};  ///< null: no history is kept; Close closes it
  NodeLog& log = NodeLog::OfProcess();
};

class GroupFollower {
 public:
  /// The follower calls its owner on the loop. After Close, the follower calls the owner only from
  /// inside the follower's own methods, such as Status.
  class Owner {
   public:
    // News. In each of these calls, the owner merges the news, and then calls Followed. An owner
    // that has no view yet, or has halted, need not call it.
    /// A read of all the group's keys. `cluster`: the id of the etcd cluster that answered.
    virtual void OnSnapshot(Snapshot snapshot, std::uint64_t cluster) = 0;
    /// The watch delivered changes. `cluster`: as in OnSnapshot; always that of the last snapshot.
    virtual void OnChanges(Changes changes, std::uint64_t cluster) = 0;
    /// The watch has delivered everything up to this revision.
    virtual void OnReached(Revision revision) = 0;

    /// A complete view is proven to have been current at `at`, which is later with each call. The
    /// call comes from inside Followed.
    virtual void OnProven(TimePoint at) { (void)at; }

    /// The owner's view. Null: the group's shape is not known yet. Later always the same object.
    virtual const core::View* FollowedView() const = 0;
    /// The group's hash. Called only if there is a view.
    virtual HashFunction Hash() const = 0;
    /// ConfigFact::Incarnation of the last config that fitted; 0: no config has fitted yet.
    virtual Revision ConfigIncarnation() const = 0;
    /// The shard as callers and operators see it now. REQUIRES: there is a view.
    virtual ShardStatus ShardNow(ShardId shard) const = 0;
    /// Whether the node's session is live now; in a relay always false. Each Status asks this. If
    /// the answer differs from the answer for the last snapshot, Status makes a new snapshot.
    virtual bool Live() const { return false; }
    /// A view whose proof is older than this counts as stale.
    virtual Duration StaleAfter() const = 0;
    /// Returns a new status. The follower then fills in the fields that it knows itself.
    virtual NodeStatus MakeStatus(TimePoint now, StatusBoard& board) const = 0;

   protected:
    ~Owner() = default;
  };

  /// Does not call `owner` yet. REQUIRES: `owner` outlives this object.
  GroupFollower(FollowerParts parts, Owner& owner);
  GroupFollower(const GroupFollower&) = delete;
  GroupFollower& operator=(const GroupFollower&) = delete;

  /// Begins to read etcd. REQUIRES: called once, before Close.
  void Start();
  /// Ends the watch, the routes and the history. Observers of routes get `why`, unless Halt ended
  /// the routes before. Keeps the other observers. A second call does nothing.
  void Close(const Error& why);
  /// Call Halt when the node or relay must halt for good. Before it returns, it logs `why`, calls
  /// the handler that OnHalted set, ends the routes with `ended`, and calls Observer::OnHalted. The
  /// watch and the history go on until Close. A second call does nothing.
  void Halt(const Error& why, const Error& ended);
  /// Sets the handler that Halt calls. REQUIRES: called before Start.
  void OnHalted(std::function<void(const Error&)> handler) { on_halted_ = std::move(handler); }
  /// Why Halt was called; nullopt: it was not.
  const std::optional<Error>& halted() const { return halted_; }

  /// REQUIRES (not checked): not closed.
  etcd::WatchCursor& watch() { return *cursor_; }
  /// The owner asked etcd at `asked`, and the answer showed that the store has `revision`. This
  /// proof is pending until a call of Followed completes it. Does nothing while an earlier proof is
  /// pending: if each call replaced it, a watch that is always late would never prove anything.
  /// Prove does not ask the watch for anything: if the watch is behind `revision`, also call
  /// watch().RequestProgress(revision). REQUIRES (not checked): the answer is of the last
  /// snapshot's etcd cluster.
  void Prove(Revision revision, TimePoint asked);
  /// The revision that the store has, and the id of the etcd cluster that answered.
  using RevisionHandler = std::function<void(Revision, std::uint64_t cluster)>;
  /// Asks etcd by a small linearizable read which revision the store has. `answered` is called at
  /// most once, on any thread, and also after Close; it is not called if the read fails.
  void AskRevision(std::chrono::milliseconds deadline, RevisionHandler answered);
  /// Whether a proof is pending.
  bool proving() const { return proof_.has_value(); }
  /// The owner's view has changed as `changed` says, and the watch has delivered everything up to
  /// `reached`. If the pending proof needs no greater revision, completes it. If there is a view,
  /// passes the change on to the routes and the status.
  void Followed(const core::ViewChanges& changed, Revision reached);
  /// The shard's route or status changed for a reason that only the owner knows. REQUIRES (not
  /// checked): the group has this shard.
  void NoteShard(ShardId shard);
  /// Adds a transition to the history, if a history is kept. REQUIRES: there is a view.
  void AddToHistory(const Transition& transition, const GapPhases& gap);
  /// Adds a change of this node's settings, in the same way. (The follower itself adds the orders
  /// of operators that it reads from etcd.)
  void AddToHistory(const core::ReportNodeChange& changed);

  /// Keeps the observer as long as this object lives. After Halt, also calls the observer's
  /// OnHalted, before AddObserver returns.
  void AddObserver(std::shared_ptr<Observer> observer);
  const std::vector<std::shared_ptr<Observer>>& observers() const { return observers_; }
  /// Adds an observer of routes. Its first batch comes once the owner's view is complete. After
  /// Halt or Close, only calls OnRoutesEnded, before AddRouteObserver returns.
  void AddRouteObserver(std::shared_ptr<RouteObserver> observer);
  /// Returns a snapshot for operators; never null. Works after Close, too. If a snapshot took the
  /// time c to make, calls share it for max(50 ms, kStatusPause * c), and at most for
  /// kLongestStatusAge. So snapshots take little of the loop's time, however many calls come. There
  /// are three exceptions:
  ///  - When the watch or a read shows a config or a policy, calls share the present snapshot only
  ///    for max(50 ms, c), counted from when it was made. So snapshots take at most half of the
  ///    loop's time, even if configs and policies change all the time.
  ///  - If the view was not complete at the last snapshot and is complete now, or if Owner::Live
  ///    has another answer than then, Status makes a new snapshot.
  ///  - After ForgetStatus or Halt, Status makes a new snapshot.
  std::shared_ptr<const NodeStatus> Status();
  static constexpr int kStatusPause = 20;
  static constexpr std::chrono::seconds kLongestStatusAge{10};
  /// The next Status makes a new snapshot.
  void ForgetStatus() { status_.reset(); }
  /// Makes a new snapshot for the next calls of Status. They share it for twice as long: for
  /// max(50 ms, 2 * kStatusPause * c), and at most for kLongestStatusAge, with the same exceptions.
  /// During this time a further RefreshStatus does nothing, even if one of the cases above has
  /// ended the sharing. So snapshots for Status and for RefreshStatus together take about a
  /// twentieth of the loop's time.
  void RefreshStatus();

  /// Whether kHeartbeatEvery has passed since Start, or since the last call that returned true. If
  /// so, the owner must log a heartbeat.
  bool HeartbeatDue();
  /// Whether this trouble must be logged: there was no call with this `detail` within the last
  /// kTroubleIsOver. If more than kTroublesKept different details come in that time, all are
  /// forgotten.
  bool IsNewTrouble(const std::string& detail);
  static constexpr std::chrono::minutes kTroubleIsOver{1};
  static constexpr std::size_t kTroublesKept = 16;

 private:
  /// Once the watch has reached `revision`, the view was current at `asked`.
  struct Proof {
    Revision revision;
    TimePoint asked;
  };

  void BeginRoutes();
  void EndRoutes(const Error& why);
  void NoteOrders(const std::vector<Fact>& facts);
  void NoteSettings(const ConfigFact& config);
  std::uint64_t Incarnation() const;
  void ForgetStatusSoon();

  const FollowerParts parts_;
  Owner& owner_;
  std::unique_ptr<etcd::WatchCursor> cursor_;  ///< null: closed
  etcd::WatchCursorCounts watched_;            ///< the counts of the closed one
  std::uint64_t cluster_ = 0;                  ///< of the last snapshot

  std::optional<Proof> proof_;  ///< the pending one
  TimePoint proven_at_{};
  /// The revision of the last order of an operator that was seen; unset: nothing was read yet from
  /// this etcd cluster.
  std::optional<Revision> orders_seen_;
  std::optional<ConfigFact> settings_seen_;  ///< the last config that could be read
  TimePoint read_begun_{};   ///< the read of everything that is under way, or the last one
  TimePoint told_proven_{};  ///< the proven_at_ of the owner's last OnProven

  std::shared_ptr<RouteFeed> routes_;  ///< null: there are no observers, or there is no view
  std::vector<std::shared_ptr<RouteObserver>> waiting_;  ///< observers that wait for a view
  std::optional<Error> routes_ended_;
  std::vector<std::shared_ptr<Observer>> observers_;
  std::optional<Error> halted_;
  std::function<void(const Error&)> on_halted_;

  StatusBoard board_;
  std::shared_ptr<const NodeStatus> status_;
  TimePoint status_until_{};       ///< until then, all calls share status_
  TimePoint status_kept_until_{};  ///< ForgetStatusSoon lets calls share status_ until then
  TimePoint refresh_from_{};       ///< until then, RefreshStatus does nothing
  bool status_complete_ = false;   ///< whether the view was complete when status_ was made
  bool status_live_ = false;       ///< whether the session was live then
  TimePoint heartbeat_at_ = TimePoint::max();
  std::map<std::string, TimePoint> troubles_;  ///< by detail: the last call of IsNewTrouble
};

}  // namespace baton::runtime
