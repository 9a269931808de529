// GroupFollower: follows one group's keys in etcd, for a node's engine or for a relay's engine.
//
// It has the parts that both engines need: the watch, the proof that the view is current, routes,
// observers, history and status. It has no view and decides nothing. Its owner, the engine, merges
// the news into a view, and decides what the news means.
//
//   etcd ──▶ WatchCursor ──news──▶ Owner (merges, decides) ──Followed──▶ proof, routes
//
// A proof works as follows: the owner commits or reads something in etcd, and passes the answer's
// revision to Prove. Once the watch has delivered everything up to this revision, the view is
// proven to have been current when the owner asked etcd. A read of all keys proves that the view
// was current when the read began. A watch alone proves nothing, because its etcd member may be cut
// off.
//
// Threads: everything except the constructor and the destructor runs on the executor (the loop).
// Before Start, the thread that made the follower may also set handlers and add observers.
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
  std::shared_ptr<History> history = {};  ///< null: no history is kept
  NodeLog& log = NodeLog::OfProcess();
};

class GroupFollower {
 public:
  /// The follower calls its owner on the loop. After Close, the follower calls the owner only from
  /// inside methods that somebody calls, such as Status.
  class Owner {
   public:
    // News. In each of the next three calls, the owner merges the news, and then calls Followed.
    // Without a view, or after a halt, the owner need not call Followed.
    /// All keys of the group were read. `cluster`: the id of the etcd cluster that answered.
    virtual void OnSnapshot(Snapshot snapshot, std::uint64_t cluster) = 0;
    /// The watch delivered changes. `cluster`: always that of the last OnSnapshot.
    virtual void OnChanges(Changes changes, std::uint64_t cluster) = 0;
    /// The watch has delivered everything up to this revision.
    virtual void OnReached(Revision revision) = 0;

    /// A complete view is proven to have been current at `at`. `at` grows with each call. Followed
    /// makes the call.
    virtual void OnProven(TimePoint at) { (void)at; }

    /// The owner's view; null: the group's config is not known yet. Later, always the same object.
    virtual const core::View* FollowedView() const = 0;
    /// The group's hash. Called only if there is a view.
    virtual HashFunction Hash() const = 0;
    /// ConfigFact::Incarnation of the last config that fits; 0: no such config was seen yet.
    virtual Revision ConfigIncarnation() const = 0;
    /// The shard as callers and operators see it now. REQUIRES: there is a view.
    virtual ShardStatus ShardNow(ShardId shard) const = 0;
    /// Whether the node's session is live now; in a relay, always false. If the answer differs from
    /// the answer for the last snapshot, Status makes a new snapshot.
    virtual bool Live() const { return false; }
    /// If the last proof is older than this, the view counts as stale.
    virtual Duration StaleAfter() const = 0;
    /// Returns a new status. The follower then sets the fields that it knows itself.
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
  /// Ends the watch, the routes and the history. Observers of routes get `why`, except if Halt has
  /// ended the routes already. Keeps the other observers. A second call does nothing.
  void Close(const Error& why);
  /// Call it when the node or relay must halt for good. Before Halt returns, it logs `why`, calls
  /// the handler of OnHalted, ends the routes with `ended`, and calls Observer::OnHalted. The watch
  /// and the history go on until Close. A second call does nothing.
  void Halt(const Error& why, const Error& ended);
  /// Sets the handler that Halt calls. REQUIRES: called before Start.
  void OnHalted(std::function<void(const Error&)> handler) { on_halted_ = std::move(handler); }
  /// Why Halt was called; nullopt: Halt was not called.
  const std::optional<Error>& halted() const { return halted_; }

  /// REQUIRES (not checked): not closed.
  etcd::WatchCursor& watch() { return *cursor_; }
  /// The owner asked etcd at `asked`, and the answer showed that the store has `revision`. The new
  /// proof is pending until a call of Followed completes it. Does nothing while an earlier proof is
  /// pending. If the watch is behind `revision`, also call watch().RequestProgress(revision).
  /// REQUIRES (not checked): the answer is from the etcd cluster of the last snapshot.
  void Prove(Revision revision, TimePoint asked);
  /// Gets the revision that the store has, and the id of the etcd cluster that answered.
  using RevisionHandler = std::function<void(Revision, std::uint64_t cluster)>;
  /// Asks etcd for the store's revision, with a small linearizable read. Calls `answered` at most
  /// once, on any thread, maybe after Close. If the read fails, does not call `answered`.
  void AskRevision(std::chrono::milliseconds deadline, RevisionHandler answered);
  /// Whether a proof is pending.
  bool proving() const { return proof_.has_value(); }
  /// The owner's view has changed as `changed` says, and the watch has delivered everything up to
  /// `reached`. Completes the pending proof if its revision is not above `reached`. If there is a
  /// view, passes the change on to the routes and the status.
  void Followed(const core::ViewChanges& changed, Revision reached);
  /// The shard's route or status changed for a reason that only the owner knows. REQUIRES (not
  /// checked): the group has this shard.
  void NoteShard(ShardId shard);
  /// Adds a transition to the history, if a history is kept. REQUIRES: there is a view.
  void AddToHistory(const Transition& transition, const GapPhases& gap);
  /// Adds a change of this node's settings, in the same way. (The follower adds operators' orders
  /// that it reads from etcd.)
  void AddToHistory(const core::ReportNodeChange& changed);

  /// Adds an observer, and keeps it as long as this object lives. After Halt, also calls the
  /// observer's OnHalted, before AddObserver returns.
  void AddObserver(std::shared_ptr<Observer> observer);
  const std::vector<std::shared_ptr<Observer>>& observers() const { return observers_; }
  /// Adds an observer of routes. The observer's first batch comes once the owner's view is
  /// complete. After Halt or Close, only calls OnRoutesEnded, before AddRouteObserver returns.
  void AddRouteObserver(std::shared_ptr<RouteObserver> observer);
  /// Returns a snapshot for operators; never null. Works after Close, too. If a snapshot took the
  /// time c to make, calls share it for max(50 ms, kStatusPause * c), but at most for
  /// kLongestStatusAge. There are three exceptions:
  ///  - If the watch or a read has since shown a config or a policy, calls share the snapshot only
  ///    for max(50 ms, c).
  ///  - If the view has become complete, or the answer of Owner::Live has changed, a call makes a
  ///    new snapshot.
  ///  - After ForgetStatus or Halt, a call makes a new snapshot.
  std::shared_ptr<const NodeStatus> Status();
  static constexpr int kStatusPause = 20;
  static constexpr std::chrono::seconds kLongestStatusAge{10};
  /// After this call, the next Status makes a new snapshot.
  void ForgetStatus() { status_.reset(); }
  /// Makes a new snapshot for the next calls of Status. They share it for max(50 ms, 2 *
  /// kStatusPause * c), but at most for kLongestStatusAge, with the same exceptions. During this
  /// time, RefreshStatus does nothing, even if one of the exceptions has ended the sharing.
  void RefreshStatus();

  /// Whether the owner must log a heartbeat now: kHeartbeatEvery has passed since Start, or since
  /// the last call that returned true.
  bool HeartbeatDue();
  /// Whether this trouble must be logged: there was no call with this `detail` within the last
  /// kTroubleIsOver. If more than kTroublesKept different details come in this time, all of them
  /// are forgotten, and count as new.
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
  /// The revision of the last operator's order that was seen; unset: nothing was read from this
  /// etcd cluster yet.
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
