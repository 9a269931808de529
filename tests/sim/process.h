// Process: one run of one node: the production engine on a simulated loop, clock, network, state
// directory and callback pool, with an application that writes to a fenced resource.
//
// All that happens in it goes through its Host's gate, so a paused process does nothing and a dead
// one never does. The objects stay until the simulation ends; the engine is gone once the process
// is dead.
#pragma once

#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "baton/listener.h"
#include "runtime/engine.h"
#include "sim/host.h"
#include "sim/sim_transport.h"
#include "sim/standby_application.h"

namespace baton::sim {

class Process;

/// A node's state directory. It outlives the node's processes.
struct StateDirectory {
  std::uint64_t id = 0;  ///< random, as a real one's
  SessionId session;
  SessionId previous;
  Revision highest;
  bool locked = false;  ///< by a live process
  bool written = false;
  bool guarded = false;                 ///< guards may end the sessions
  int guards = 0;                       ///< that hold the shared lock
  std::function<void()> freed = [] {};  ///< a process has let the lock go
};

/// How often chance strikes callbacks, in a thousand.
struct CallbackFaults {
  int slow = 0;
  int throws = 0;
  int hangs = 0;
  Duration slow_most = seconds(8);
  std::set<NodeId> broken_disks;  ///< on these nodes no `acquired` succeeds
  StandbyFaults standbys;
};

/// A callback, or a write of the application's, that goes wrong: the next one that comes while its
/// process has that phase under way.
struct ArmedFailure {
  Fault fault{};
  Phase phase{};
  Duration length{};
};

/// Observes the processes: it is called with what can be seen from outside.
class ProcessObserver {
 public:
  virtual ~ProcessObserver() = default;
  /// Something ran on the process's loop.
  virtual void Ran(Process& process) = 0;
  virtual void Reported(Process& process, const Transition& transition) = 0;
  /// The application is in the callback now. If that returns or throws, Called comes then.
  virtual void Entered(Process&, ShardId, core::CallbackKind, Term) {}
  virtual void Called(Process& process, ShardId shard, core::CallbackKind kind, Term term) = 0;
  /// After Called: the callback throws.
  virtual void Threw(Process& process, ShardId shard, core::CallbackKind kind, Term term) = 0;
  virtual void Halted(Process& process, const Error& why) = 0;
  virtual void Finished(Process& process, const core::Finished& finished) = 0;
  /// The process has finished, and all its callbacks have returned: it is about to end.
  virtual void Leaves(Process&) {}
  /// The application writes to the shard's resource, with its term as the fencing token.
  virtual void Wrote(Process& process, ShardId shard, Term term) = 0;
  /// The process sends a transaction to etcd.
  virtual void Sent(Process& process, const pb::TxnRequest& request) = 0;
};

struct ProcessParts {
  World& world;
  EtcdModel& etcd;
  const HostClock& clock;
  const NetworkFaults& network;
  const CallbackFaults& callbacks;
  std::vector<ArmedFailure>& armed;
  StateDirectory* directory = nullptr;  ///< null: none is used
  ProcessObserver& observer;
  Dice& dice;
  Random random;
  bool next_version = false;
};

/// A loop: posted functions run soon, in order, one after another.
class SimExecutor final : public runtime::Executor {
 public:
  SimExecutor(Host& host, Random random, std::function<void()> ran)
      : host_(host), random_(random), ran_(std::move(ran)) {}
  void Post(std::function<void()> function) override;
  void Schedule(Duration delay, std::function<void()> function) override;
  void Clear() { queue_.clear(); }
  /// While it is deaf, it drops what is posted.
  void SetDeaf(bool deaf) { deaf_ = deaf; }
  /// Called after each turn with the processor time that it took.
  void Meter(std::function<void(Duration)> took) { took_ = std::move(took); }
  std::size_t longest() const { return longest_; }
  /// How many functions wait for the loop's next turn.
  std::size_t waiting() const { return queue_.size(); }
  std::uint64_t turns() const { return turns_; }

 private:
  void Drain();
  void Turn(const std::function<void()>& function);
  Host& host_;
  Random random_;
  const std::function<void()> ran_;
  std::function<void(Duration)> took_;
  std::deque<std::function<void()>> queue_;
  bool draining_ = false;
  bool deaf_ = false;
  std::size_t longest_ = 0;
  std::uint64_t turns_ = 0;
};

/// Callbacks that return after a moment, take long, or never return; in order per shard.
class SimDispatcher final : public runtime::Dispatcher {
 public:
  struct Hooks {
    /// Whether a callback that begins now fails like this, and for how long.
    std::function<std::optional<Duration>(Fault)> failure;
    /// Returns what the process has under way.
    std::function<Phases()> busy;
    /// Is given each function that begins. Returns the least time that it takes.
    std::function<Duration(const std::function<void()>&)> entered;
    /// The operation of the shard's standby, as the core has it now; 0: there is none.
    std::function<core::OperationId(ShardId)> standby;
  };
  SimDispatcher(Host& host, Random random, Hooks hooks)
      : host_(host), random_(random), hooks_(std::move(hooks)) {}
  void Run(ShardId shard, std::function<void()> function) override;
  void Finish() override {}
  void Clear() { strands_.clear(); }
  bool idle() const { return strands_.empty(); }
  bool hung() const { return hung_ > 0; }

  // Of the function that runs.
  /// When it was passed to Run: when the core asked for it.
  TimePoint asked_at() const { return running_.asked_at; }
  /// If it is a `standby`: its operation.
  core::OperationId standby() const { return running_.standby; }

 private:
  struct Callback {
    std::function<void()> function;
    TimePoint asked_at{};
    core::OperationId standby = 0;
  };
  void Begin(ShardId shard);
  Host& host_;
  Random random_;
  const Hooks hooks_;
  std::map<ShardId, std::deque<Callback>> strands_;  ///< the first one runs
  Callback running_;
  int hung_ = 0;
};

class Process {
 public:
  Process(ProcessParts parts, core::CoreOptions options, int number);
  ~Process();
  Process(const Process&) = delete;
  Process& operator=(const Process&) = delete;

  void Start();
  /// Ends at once. What it had sent still arrives. Its lock is free, unless a child still shares
  /// it.
  void Kill();
  /// The program closes descriptors that it does not know, also that of its state directory's lock
  /// file. The lock stays, and nothing is written there any more.
  void CloseDescriptors();
  /// A child is forked, which shares the lock of the state directory until it ends.
  void Fork() { ++children_; }
  bool forked() const { return children_ > 0; }
  /// REQUIRES: forked().
  void EndChild();
  /// Neither the process nor a child of it can act any more.
  bool gone() const { return !alive() && children_ == 0; }
  void Pause();
  void Suspend();
  void Resume();
  void Drain();
  void SetHealthy(bool healthy);
  /// Whether the application gives signs of life, as a watchdog sees it.
  void SetSilent(bool silent);
  /// Whether its loop knows that the application gives none.
  bool silent() const { return silent_; }
  void Stop();
  /// A request of an operator (runtime/requests.h). The answer is ignored.
  template <typename Request>
  void Ask(Request request) {
    executor_.Post(
        [this, request = std::move(request)] { engine_->Request(request, [](const auto&) {}); });
  }
  /// The application looks now whether it leads, if a late write is armed for what the process has
  /// under way.
  void WriteIfArmed();

  int number() const { return host_.number(); }
  const NodeId& node() const { return node_; }
  /// As in "n1#3": the third process, of node n1.
  std::string Name() const { return node_ + "#" + std::to_string(host_.number()); }
  bool alive() const { return !host_.dead(); }
  bool running() const { return alive() && !host_.paused(); }
  bool paused() const { return alive() && host_.paused(); }
  TimePoint RanSince(Duration length) const { return host_.RanSince(length); }
  bool leaving() const { return leaving_; }
  bool halted() const { return halted_; }
  bool proven() const { return proven_; }
  /// It writes the fields of a later version (next_version.h).
  bool next_version() const { return parts_.next_version; }
  Leadership Get(ShardId shard) const { return table_.Get(shard); }
  /// REQUIRES: alive().
  const core::Core& core() const { return engine_->core(); }
  SessionId session() const { return engine_->core().session().id(); }
  SimTransport& transport() { return transport_; }
  const SimExecutor& executor() const { return executor_; }
  SimExecutor& executor() { return executor_; }
  /// REQUIRES: alive().
  runtime::Engine& engine() { return *engine_; }
  const SimDispatcher& dispatcher() const { return dispatcher_; }
  const StandbyApplication& standbys() const { return standbys_; }
  const Host& host() const { return host_; }
  /// Returns what it has under way. REQUIRES: alive().
  Phases Busy() const;
  Duration app_pause_most{};  ///< between the check of Leads() and the write

 private:
  class SimRecord;
  class SimListener;
  class SimObserver;
  core::CoreOptions WithRecord(core::CoreOptions options);
  /// Whether the application fails like this now, and for how long: by chance, or because the
  /// failure was armed.
  std::optional<Duration> Failure(Fault fault);
  Duration Enter(const std::function<void()>& callback);
  void Say(const core::StandbyReadySaid& said);
  void Leave();
  void Work();
  void LookAndWrite(ShardId shard);

  ProcessParts parts_;
  const NodeId node_;
  const std::uint32_t shards_;
  Host host_;
  Random random_;
  SimExecutor executor_;
  SimDispatcher dispatcher_;
  StandbyApplication standbys_;
  SimTransport transport_;
  runtime::LeadershipTable table_;
  std::unique_ptr<SimRecord> record_;
  std::shared_ptr<runtime::Engine> engine_;
  int children_ = 0;
  bool entering_ = false;
  Duration loads_{};  ///< the least time that the callback takes that is entered
  bool leaving_ = false;
  bool silent_ = false;
  bool halted_ = false;
  bool proven_ = false;
};

inline constexpr const char* kGroup = "sim";

}  // namespace baton::sim
