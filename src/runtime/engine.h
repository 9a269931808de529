// Engine: the driver around the core. It passes events in and carries actions out; it decides
// nothing.
//
// Threads: everything except the constructor runs on the executor (the loop). The transport's
// replies and the application's results are posted to the executor. Results that arrive after Close
// are ignored.
#pragma once

#include <algorithm>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "baton/listener.h"
#include "core/core.h"
#include "etcd/keyspace.h"
#include "etcd/transport.h"
#include "etcd/watch_cursor.h"
#include "etcd/write_executor.h"
#include "runtime/application.h"
#include "runtime/control.h"
#include "runtime/dispatcher.h"
#include "runtime/executor.h"
#include "runtime/history.h"
#include "runtime/leadership_table.h"
#include "runtime/node_log.h"
#include "runtime/route_feed.h"
#include "runtime/state_record.h"

namespace baton::runtime {

/// The parts that an engine uses. REQUIRES: all of them outlive it.
struct EngineParts {
  etcd::Transport& transport;
  const Clock& clock;
  Executor& executor;
  Dispatcher& dispatcher;
  LeadershipTable& table;
  StateRecord* record = nullptr;       ///< null: no state directory
  std::shared_ptr<Listener> listener;  ///< may be null
  /// Used instead of a listener if another process acts on the leaderships; otherwise null.
  std::shared_ptr<Application> application = {};
  std::shared_ptr<History> history = {};  ///< null: no history is kept
  NodeLog& log = NodeLog::OfProcess();
};

class Engine : public std::enable_shared_from_this<Engine> {
 public:
  Engine(core::CoreOptions options, etcd::Keyspace keyspace, std::string group, EngineParts parts);
  Engine(const Engine&) = delete;
  Engine& operator=(const Engine&) = delete;

  /// Begins to read etcd and to take part in the group. REQUIRES: owned by a shared_ptr; if there
  /// is an application, the options say so (`external`).
  void Start();
  /// Ends the engine: waiting requests are answered with an error, and later events are ignored.
  void Close();

  void Step(const core::Event& event);

  const core::Core& core() const { return core_; }
  /// A snapshot for operators, at most 50 ms old.
  std::shared_ptr<const NodeStatus> Status();
  /// The same, but always a new one.
  std::shared_ptr<const NodeStatus> StatusNow();

  void AddObserver(std::shared_ptr<Observer> observer);
  void AddRouteObserver(std::shared_ptr<RouteObserver> observer);
  /// The handlers are called once each, on the loop.
  void OnFinished(std::function<void(const core::Finished&)> handler) {
    finished_ = std::move(handler);
  }
  void OnHalted(std::function<void(const Error&)> handler) { halted_ = std::move(handler); }
  /// Called after each step that changed whether the node is ready.
  void OnReady(std::function<void(bool)> handler) { ready_changed_ = std::move(handler); }

  void Ask(TransferRequest request, std::function<void(Result<MoveFact>)> handler);
  void Ask(PolicyRequest request, std::function<void(baton::Status)> handler);
  bool ready() const;

 private:
  /// A pending proof that the view is current. When the watch reaches `revision`, the view is
  /// proven to have been current at the time `asked`.
  struct Proof {
    Revision revision;
    TimePoint asked;
  };

  template <typename Function>
  void PostWeak(Function function);
  void Do(const core::GrantLease& action);
  void Do(const core::RevokeLease& action);
  void Do(const core::RecordSession& action);
  void Do(const core::SendKeepAlive& action);
  void Do(const core::ConfirmSession& action);
  void Send(core::OperationId operation, std::shared_ptr<etcd::PreparedWrite> write);
  void Do(const core::ProbeWatch& action);
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
  void Do(const core::AnswerPolicy& action);
  void HandOver(const core::RunCallback& action);
  /// The etcd revision at which the transition happened.
  Revision RevisionOf(const Transition& transition) const;
  void Heartbeat();
  void WarnOfOldEtcd();
  void OpenKeepAlive(SessionId lease, const std::string& avoid);
  void WakeBy(TimePoint at);
  void CheckProof();
  void AfterStep();
  std::uint64_t StoreIncarnation() const;
  void FollowRoutes();
  TimePoint ViewProvenAt() const { return std::max(view_proven_at_, core_.view().read_at()); }
  std::chrono::milliseconds CallDeadline() const;

  EngineParts parts_;
  std::string group_;
  core::Core core_;
  etcd::WriteExecutor writes_;
  std::unique_ptr<etcd::WatchCursor> cursor_;

  std::unique_ptr<etcd::KeepAliveStream> keepalive_;
  SessionId keepalive_lease_;
  std::uint64_t keepalive_stream_ = 0;  ///< counts streams, to ignore the answers of ended ones
  core::OperationId keepalive_operation_ = 0;

  std::vector<std::shared_ptr<Observer>> observers_;
  std::shared_ptr<RouteFeed> routes_;  ///< null: nobody observes routes
  std::uint64_t cluster_ = 0;
  bool routes_live_ = false;  ///< whether the session was live when routes were last examined
  std::function<void(const core::Finished&)> finished_;
  std::function<void(const Error&)> halted_;
  std::function<void(bool)> ready_changed_;
  std::map<core::RequestId, std::function<void(Result<MoveFact>)>> transfers_;
  std::map<core::RequestId, std::function<void(baton::Status)>> policies_;
  core::RequestId next_request_ = 1;

  bool closed_ = false;
  bool was_ready_ = false;
  bool asked_version_ = false;
  TimePoint wake_at_ = TimePoint::max();
  TimePoint heartbeat_at_ = TimePoint::max();
  std::uint64_t confirmed_seen_ = 0;
  TimePoint view_proven_at_ = TimePoint::min();
  std::optional<Proof> proof_;  ///< pending
  std::map<Reason, std::uint64_t> transitions_;
  std::shared_ptr<const NodeStatus> status_;
  TimePoint status_at_ = TimePoint::min();
  std::string last_trouble_;
};

}  // namespace baton::runtime
