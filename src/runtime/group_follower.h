// GroupFollower: follows one group's keys in etcd, for a node's engine or for a relay.
//
// It has the parts that both need: the watch, the proof that the view is current, routes,
// observers, history and status. It has no view and decides nothing. Its owner merges the news into
// a view, and decides what they mean. A node's engine is a follower with a core; a relay's engine
// is a follower with a view.
//
//   etcd ──▶ WatchCursor ──news──▶ Owner (merges, decides) ──Followed──▶ proof, routes
//
// How it proves that the view was current at a time: the owner commits or reads something, and
// calls Prove with the answer's revision. Once the watch has delivered everything up to that
// revision, the view is proven to have been current when the owner asked. A read of everything
// proves the same for the time when the read began. What the watch itself says is no proof, because
// its member of etcd may be cut off. core::WatchProgress says whether the watch stands still.
//
// Threads: everything runs on the executor (the loop), except the constructor, the destructor, and
// setting handlers and observers before Start.
#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
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

/// The group that a follower follows, and the parts that it uses. REQUIRES: the parts outlive it.
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
  /// The follower calls its owner on the loop. After Close it calls the owner only from inside its
  /// own methods, such as Status.
  class Owner {
   public:
    // News. After each of these calls, when it has merged the news, the owner calls Followed.
    /// The watch read everything. `cluster`: the id of the etcd cluster that answered.
    virtual void OnSnapshot(Snapshot snapshot, std::uint64_t cluster) = 0;
    /// The same for changes.
    virtual void OnChanges(Changes changes, std::uint64_t cluster) = 0;
    /// The watch has delivered everything up to this revision.
    virtual void OnReached(Revision revision) = 0;

    /// A complete view is proven to have been current at `at`, which is later with each call. The
    /// call comes from inside Followed.
    virtual void OnProven(TimePoint at) { (void)at; }

    /// Null: the group's shape is not known yet. Later it is always the same object.
    virtual const core::View* FollowedView() const = 0;
    /// The group's hash. Called only if there is a view.
    virtual HashFunction Hash() const = 0;
    /// ConfigFact::Incarnation of the last config that fitted; 0: no config has fitted yet.
    virtual Revision ConfigIncarnation() const = 0;
    /// The shard as callers and operators see it now. REQUIRES: there is a view.
    virtual ShardStatus ShardNow(ShardId shard) const = 0;
    /// Whether the node's session is live now. If this changes, no status is shared any longer.
    virtual bool Live() const { return false; }
    /// A view whose proof is older than this counts as stale.
    virtual Duration StaleAfter() const = 0;
    /// Returns a new status. The follower then fills in the fields that it knows itself.
    virtual NodeStatus MakeStatus(TimePoint now, StatusBoard& board) const = 0;

   protected:
    ~Owner() = default;
  };

  /// REQUIRES: `owner` outlives this object. The constructor does not call it.
  GroupFollower(FollowerParts parts, Owner& owner);
  GroupFollower(const GroupFollower&) = delete;
  GroupFollower& operator=(const GroupFollower&) = delete;

  /// Begins to read etcd. REQUIRES: called once, before Close.
  void Start();
  /// Ends the watch, the routes and the history. Observers of routes get `why`, unless Halt ended
  /// the routes before. Keeps the other observers. A second call does nothing.
  void Close(const Error& why);
  /// Call it when the node or relay must halt for good. Logs `why`, calls the handler that OnHalted
  /// set, ends the routes with `ended`, and calls Observer::OnHalted, all before it returns. The
  /// watch and the history go on until Close. A second call does nothing.
  void Halt(const Error& why, const Error& ended);
  /// Sets the handler for Halt. Set it before Start.
  void OnHalted(std::function<void(const Error&)> handler) { on_halted_ = std::move(handler); }
  /// Why Halt was called; nullopt: it was not.
  const std::optional<Error>& halted() const { return halted_; }

  /// REQUIRES: not closed.
  etcd::WatchCursor& watch() { return *cursor_; }
  /// The owner asked etcd at `asked`, and the answer showed that the store has `revision`. This
  /// proof is pending until a call of Followed completes it. Does nothing while an earlier proof is
  /// pending: if each call replaced it, a watch that is always late would never prove anything.
  void Prove(Revision revision, TimePoint asked);
  /// The revision that the store has, and the id of the etcd cluster that answered.
  using RevisionHandler = std::function<void(Revision, std::uint64_t cluster)>;
  /// Asks etcd by a small linearizable read which revision the store has. `answered` is called at
  /// most once, on any thread, and also after Close; it is not called if the read fails.
  void AskRevision(std::chrono::milliseconds deadline, RevisionHandler answered);
  /// Whether a proof is pending.
  bool proving() const { return proof_.has_value(); }
  /// The owner's view has changed as `changed` says, and the watch has delivered everything up to
  /// `reached`. Completes the pending proof if it needs no greater revision, and passes the change
  /// on to the routes and the status.
  void Followed(const core::ViewChanges& changed, Revision reached);
  /// The shard's route or status changed for a reason that only the owner knows. REQUIRES (not
  /// checked): the group has this shard.
  void NoteShard(ShardId shard);
  /// Adds a transition to the history, if one is kept. REQUIRES: there is a view.
  void AddToHistory(const Transition& transition, const GapPhases& gap);
  /// The same for a change of this node's settings.
  void AddToHistory(const core::ReportNodeChange& changed);

  /// Keeps the observer as long as this object. After Halt, also calls its OnHalted, before
  /// AddObserver returns.
  void AddObserver(std::shared_ptr<Observer> observer);
  const std::vector<std::shared_ptr<Observer>>& observers() const { return observers_; }
  /// The first batch comes once the owner's view is complete. After Halt or Close, only calls
  /// OnRoutesEnded, before AddRouteObserver returns.
  void AddRouteObserver(std::shared_ptr<RouteObserver> observer);
  /// A snapshot for operators; never null. Works after Close, too. All calls share it for 50 ms,
  /// and for kStatusPause times as long as it took to make, but at most for kLongestStatusAge. So
  /// statuses take little of the loop's time, however many calls wait there, and whatever one
  /// costs. No call shares a status from before the view was complete, or before the session became
  /// live or ceased to be. Once the watch or a read shows another config or policy, a status is
  /// shared no longer than 50 ms or as long as it took to make. So it takes half of the loop's time
  /// at most while they change all the time.
  std::shared_ptr<const NodeStatus> Status();
  static constexpr int kStatusPause = 20;
  static constexpr std::chrono::seconds kLongestStatusAge{10};
  /// The next Status makes a new snapshot.
  void ForgetStatus() { status_.reset(); }
  /// Makes a new snapshot for the next calls of Status. It is shared for twice as long, and until
  /// then RefreshStatus does nothing: so callers that ask for this also take at most a twentieth of
  /// the loop's time, together with all others.
  void RefreshStatus();

  /// Whether kHeartbeatEvery has passed since Start or the last heartbeat. If so, the owner must
  /// log a heartbeat, and the time begins again.
  bool HeartbeatDue();
  /// Whether this trouble must be logged: it differs from that of the call before, or that call was
  /// more than kTroubleIsOver ago.
  bool IsNewTrouble(const std::string& detail);
  static constexpr std::chrono::minutes kTroubleIsOver{1};

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
  TimePoint status_kept_until_{};  ///< until then, ForgetStatusSoon does not end this
  TimePoint refresh_from_{};       ///< until then, RefreshStatus does nothing
  bool status_complete_ = false;   ///< whether the view was complete when status_ was made
  bool status_live_ = false;       ///< whether the session was live then
  TimePoint heartbeat_at_ = TimePoint::max();
  std::string last_trouble_;
  TimePoint trouble_at_{};
};

}  // namespace baton::runtime
