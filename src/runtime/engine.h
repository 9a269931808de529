// Engine: the driver around the core. It passes events to the core and carries out the core's
// actions. It decides nothing. Its GroupFollower reads etcd, and serves routes and the status.
//
// Threads: everything except the constructor, the destructor and SetStandbyReady runs on the
// executor (the loop). Before Start, the thread that made the engine may also set handlers and add
// observers. The answers of etcd and the results of callbacks are posted to the executor. After
// Close, the engine ignores them. Calls to etcd and callbacks of the Listener keep the engine alive
// until they are over.
#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <variant>
#include <vector>

#include "baton/listener.h"
#include "core/core.h"
#include "etcd/keyspace.h"
#include "etcd/transport.h"
#include "etcd/write_executor.h"
#include "runtime/application.h"
#include "runtime/control.h"
#include "runtime/dispatcher.h"
#include "runtime/executor.h"
#include "runtime/group_follower.h"
#include "runtime/history.h"
#include "runtime/leadership_table.h"
#include "runtime/listener_calls.h"
#include "runtime/node_log.h"
#include "runtime/pending_requests.h"
#include "runtime/standby_words.h"
#include "runtime/state_record.h"

namespace baton::runtime {

/// The parts that an engine uses. REQUIRES: all parts except the shared_ptrs outlive the engine.
struct EngineParts {
  etcd::Transport& transport;
  const Clock& clock;
  Executor& executor;
  Dispatcher& dispatcher;
  LeadershipTable& table;
  StateRecord* record = nullptr;       ///< null: no state directory
  std::shared_ptr<Listener> listener;  ///< null: no callbacks, or `application` gets them
  /// The other process that acts on what the node leads; null: no other process does.
  std::shared_ptr<Application> application = {};
  std::shared_ptr<History> history = {};  ///< null: no history is kept
  NodeLog& log = NodeLog::OfProcess();
};

class Engine final : public std::enable_shared_from_this<Engine>, private GroupFollower::Owner {
 public:
  /// REQUIRES (Start checks it only if there is an application): `options.has_listener` says
  /// whether `parts` has a listener or an application. `options.external` says whether `parts` has
  /// an application. `parts` does not have both (never checked).
  Engine(core::CoreOptions options, etcd::Keyspace keyspace, std::string group, EngineParts parts);
  Engine(const Engine&) = delete;
  Engine& operator=(const Engine&) = delete;

  /// Begins to read etcd and to take part in the group. REQUIRES: a shared_ptr owns the engine;
  /// called once, before Close.
  void Start();
  /// Ends the engine: ends the watch, the routes and the history. Passes the queued callbacks to
  /// the dispatcher. Answers waiting requests with an error (PendingRequests::Close). Does not wait
  /// for callbacks. Revokes no lease, resigns no shard, and leaves the LeadershipTable as it is. To
  /// stop leading first, pass core::StopRequested to Step, and wait for OnFinished's handler.
  /// REQUIRES: called once.
  void Close();

  /// Passes an event to the core at the clock's present time, and carries out the core's actions in
  /// order. Does nothing after Close. REQUIRES (not checked): not called from inside another Step,
  /// for example by a handler or an observer.
  void Step(const core::Event& event);

  const core::Core& core() const { return core_; }
  /// For observers, and for snapshots of the status.
  GroupFollower& follower() { return follower_; }
  /// Sets the handler that is called at most once, on the loop, when the drain, the stop or the
  /// halt is over. REQUIRES: called before Start.
  void OnFinished(std::function<void(const core::Finished&)> handler) {
    finished_ = std::move(handler);
  }
  /// Sets the handler for changes of ready(). The loop calls the handler at the end of a step if
  /// ready() has changed since the end of the step before. Before the first step, ready() counts as
  /// false. Between two steps, ready() turns false if the session's deadline passes. The handler
  /// learns this at the end of the next step, or never, if ready() is true again by then. REQUIRES:
  /// called before Start.
  void OnReady(std::function<void(bool)> handler) { ready_changed_ = std::move(handler); }

  /// The program says whether it could at once serve a shard for which it stands by. Ignored before
  /// the shard's Listener::Standby has begun, after the standby has ended, and without a listener.
  /// Any thread; returns at once.
  void SetStandbyReady(ShardId shard, bool ready);

  /// Passes a request of Control to the core. Calls `handler` once, on the loop, maybe before
  /// Request returns. After Close, the handler gets kNodeStopped. REQUIRES: as for Step.
  template <typename AnyRequest, typename Handler>
  void Request(AnyRequest request, Handler handler) {
    if (closed_) return handler(kNodeStopped);
    Step(requests_.Add(std::move(request), std::move(handler), parts_.clock.Now()));
  }
  /// Whether the session is live now, the view is complete, and the core has not halted.
  bool ready() const;

 private:
  // GroupFollower::Owner.
  void OnSnapshot(Snapshot snapshot, std::uint64_t cluster) override;
  void OnChanges(Changes changes, std::uint64_t cluster) override;
  void OnReached(Revision revision) override;
  const core::View* FollowedView() const override { return &core_.view(); }
  HashFunction Hash() const override { return core_.options().hash; }
  Revision ConfigIncarnation() const override { return core_.config_incarnation(); }
  ShardStatus ShardNow(ShardId shard) const override;
  Duration StaleAfter() const override;
  bool Live() const override { return core_.session().live(parts_.clock.Now()); }
  NodeStatus MakeStatus(TimePoint now, StatusBoard& board) const override;

  template <typename Function>
  static void PostWeak(const std::weak_ptr<Engine>& weak, Function function);
  template <typename Function>
  void PostWeak(Function function);
  void Do(const core::GrantLease& action);
  void Do(const core::RevokeLease& action);
  void Do(const core::RecordSession& action);
  void Do(const core::SendKeepAlive& action);
  void Do(const core::ConfirmSession& action);
  void Submit(core::OperationId operation, std::shared_ptr<etcd::PreparedWrite> write);
  void Do(const core::ProbeWatch& action);
  void Do(const core::AskRevision& action);
  void Do(const core::ReopenWatch& action);
  void Do(const core::AuditView& action);
  void Do(const core::SetLeadership& action);
  void Do(const core::SetDeadline& action);
  void Do(const core::RunCallback& action);
  void Do(const core::ReportTransition& action);
  void Do(const core::SeeTransition& action);
  void Do(const core::ReportHandoffPhase& action);
  void Do(const core::Notice& action);
  void Do(const core::HaltNode& action);
  void Do(const core::Finished& action);
  void Do(const core::AnswerTransfer& action);
  void Do(const core::AnswerChange& action);
  void Do(const core::AnswerRetry& action);
  void Do(const core::ReportNodeChange& action);
  void Do(const core::AnswerNodeChange& action);
  template <typename Action>
  void Answer(const Action& action);
  void HandOver(const core::RunCallback& action);
  /// Passes up to `most` of the callbacks to the dispatcher now, and the others in the next turns.
  void StartCallbacks(std::size_t most);
  void Start(const core::RunCallback& action);
  void Start(const core::ReportTransition& action) { listener_calls_.Start(action); }
  void Start(const core::HaltNode& action) { listener_calls_.Start(action); }
  void OnReturned(core::CallbackKind kind, const core::CallbackReturned& event);
  void TakeStandbyWordsSoon();
  void Heartbeat();
  void WarnOfOldEtcd();
  void OpenKeepAlive(SessionId lease, const std::string& avoid);
  void WakeBy(TimePoint at);
  void AfterStep();
  void RecordHighest();
  std::chrono::milliseconds CallDeadline() const;

  EngineParts parts_;
  std::string group_;
  core::Core core_;
  etcd::WriteExecutor writes_;
  GroupFollower follower_;
  const std::shared_ptr<StandbyWords> standby_words_ = std::make_shared<StandbyWords>();
  ListenerCalls listener_calls_;

  std::unique_ptr<etcd::KeepAliveStream> keepalive_;
  SessionId keepalive_lease_;
  std::uint64_t keepalive_stream_ = 0;  ///< counts streams, to ignore the answers of ended ones
  core::OperationId keepalive_operation_ = 0;

  std::function<void(const core::Finished&)> finished_;
  std::function<void(bool)> ready_changed_;
  PendingRequests requests_;
  std::deque<std::variant<core::RunCallback, core::ReportTransition, core::HaltNode>> callbacks_;
  bool will_start_callbacks_ = false;  ///< a later turn passes the other callbacks on

  bool closed_ = false;
  bool was_ready_ = false;
  bool was_live_ = false;  ///< the session was live after the last step
  bool lapsed_ = false;    ///< the session was live then, but not when the present step began
  bool asked_version_ = false;
  TimePoint wake_at_ = TimePoint::max();
  std::uint64_t confirmed_seen_ = 0;
  Revision highest_seen_;
  std::map<Reason, std::uint64_t> transitions_;
  std::uint64_t standby_callbacks_failed_ = 0;  ///< the core does not count them
};

}  // namespace baton::runtime
