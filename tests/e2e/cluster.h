// Cluster: a group of real batond processes on a private etcd, for tests.
//
// Every wait polls a condition with a bound. If the bound passes, it ends the running test (by an
// Unmet, which gtest reports). No wait sleeps for a fixed time. Nodes listen on free ports, keep
// state and logs in a temporary folder, and end with this object or with the thread that made it.
// If the test fails, the folder stays and its path is printed.
//
// etcd and all flags are those of the binary's world (world.h).
//
// While it waits, a cluster checks what can be checked soundly from outside (see LeaderChecker).
// One thread at a time.
#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <regex>
#include <set>
#include <stdexcept>
#include <string>
#include <vector>

#include "app/ctl_process.h"
#include "base/clock.h"
#include "base/subprocess.h"
#include "e2e/guards.h"
#include "e2e/leader_checker.h"
#include "e2e/world.h"
#include "lab/private_etcd.h"

namespace baton::e2e {

/// The bound of conditions that no TTL bounds: far above their time on a loaded machine.
inline constexpr std::chrono::seconds kPatience{40};

/// Thrown if a condition does not hold in time, or a node does not start.
struct Unmet : std::runtime_error {
  using std::runtime_error::runtime_error;
};

/// Polls until `condition` holds. False: it did not within `bound`.
bool Eventually(std::chrono::milliseconds bound, const std::function<bool()>& condition);

/// A new folder below the temporary one. The caller removes it.
std::string FreshFolder();

/// An IPv4 address of this host that is not loopback; unset if it has none.
std::optional<std::string> OutsideAddress();

/// One etcd of the world for all tests of the binary; started at first use, ended with the process.
lab::PrivateEtcd& SharedEtcd();

/// Flags of nodes that leave a death to the lease. For tests of the lease: when it ends, what is
/// told of that, and what restarts do before it does. With a guard, no lease of theirs would end.
inline const std::vector<std::string> kNoGuard = {"--guard", "off"};

inline constexpr std::chrono::seconds kShortLease{3};

struct GroupOptions {
  std::uint32_t shards = 12;
  /// Long enough for a machine that stands still for some seconds. Tests that wait for a lease to
  /// end, or for a suspension, have kShortLease.
  std::chrono::seconds ttl{9};
  std::vector<std::string> flags = {};  ///< for every node
};

/// One batond, running or not.
class NodeProcess {
 public:
  const std::string& id() const { return id_; }
  const std::string& endpoint() const { return grpc_; }  ///< gRPC
  std::uint16_t http_port() const { return http_port_; }
  pid_t pid() const { return process_->pid(); }
  std::ptrdiff_t threads() const;  ///< how many it has
  const std::string& log_path() const { return log_path_; }
  std::string Log() const;

  bool running() const { return process_ && !process_->Poll(); }
  bool paused() const { return paused_; }
  void Kill();
  void Pause();
  void Resume();
  void Signal(int signal) { process_->Signal(signal); }
  /// Waits for the process's end. Unset: it still runs after `bound`.
  std::optional<ExitStatus> WaitExit(std::chrono::milliseconds bound = kPatience);

 private:
  friend class Cluster;

  std::string id_;
  std::string ready_file_;
  std::string log_path_;
  std::unique_ptr<Subprocess> process_;
  LeftGuards* left_guards_ = nullptr;  ///< of the cluster
  std::string grpc_;
  std::uint16_t http_port_ = 0;
  bool secure_ = false;  ///< its ports have the TLS of the world
  bool paused_ = false;
};

class Cluster {
 public:
  Cluster(lab::PrivateEtcd& etcd, GroupOptions options);
  ~Cluster();
  Cluster(const Cluster&) = delete;
  Cluster& operator=(const Cluster&) = delete;

  const std::string& group() const { return group_; }
  const std::string& folder() const { return folder_; }
  std::chrono::seconds ttl() const { return options_.ttl; }
  /// The bound for filling a vacancy after a death (TTL + 0.5 s + delivery).
  std::chrono::milliseconds FailoverBound() const { return options_.ttl + std::chrono::seconds(3); }
  /// The full key in etcd of a key of this group, for example "shards/3".
  std::string Key(const std::string& name) const { return "/baton/v1/" + group_ + "/" + name; }
  std::string StateDir(const std::string& id) const { return folder_ + "/" + id + ".state"; }

  /// Starts batond and does not wait for it. REQUIRES: no node of the same id runs.
  NodeProcess& Launch(const std::string& id, const std::vector<std::string>& flags = {});
  /// Starts batond and waits until it is ready.
  NodeProcess& Start(const std::string& id, const std::vector<std::string>& flags = {});
  void StartAll(const std::vector<std::string>& ids);
  void WaitReady(NodeProcess& node);
  /// Starts a second batond with the node id `id`. This object names it "<id> twin".
  NodeProcess& LaunchTwin(const std::string& id, const std::vector<std::string>& flags = {});
  /// Starts a relay of the group and does not wait for it.
  NodeProcess& LaunchRelay(const std::string& id, const std::vector<std::string>& flags = {});
  /// Starts another program instead of batond. It must write the ready file.
  NodeProcess& LaunchProgram(const std::string& id, const std::string& program,
                             const std::vector<std::string>& flags);
  NodeProcess& node(const std::string& id) { return *nodes_.at(id); }
  /// The flags that this object gives to a batond.
  std::vector<std::string> Flags(const std::string& id) const;

  /// The table that `id` shows on /v1/shards; unset if it doesn't answer with one.
  std::optional<Table> Look(const std::string& id);
  /// Waits until `condition` holds for the tables of all running nodes that aren't frozen, and
  /// checks each look. `what` names the condition in the failure.
  void Await(const std::string& what, const std::function<bool(const Table&)>& condition,
             std::chrono::milliseconds bound = kPatience);
  /// Waits until all running nodes agree that `ids` lead all shards, as evenly as the count allows
  /// (weights aside), and no other node leads any. Returns that table.
  Table AwaitBalanced(const std::set<std::string>& ids,
                      std::chrono::milliseconds bound = kPatience);
  /// Waits until all running nodes agree that every shard is led. Returns that table.
  Table AwaitLed(std::chrono::milliseconds bound = kPatience);
  /// Waits until `condition` holds. Looks at the nodes and checks them meanwhile.
  void Await(const std::string& what, const std::function<bool()>& condition,
             std::chrono::milliseconds bound = kPatience);

  /// Waits until the node's log has a match of the expression. A node may log a change after the
  /// answer was sent.
  void AwaitLogged(const std::string& id, const std::string& expression) {
    const std::regex looked(expression);
    Await("the log of " + id + " matches " + expression,
          [&] { return std::regex_search(node(id).Log(), looked); });
  }

  /// Sends a GET to a node; returns the status or the body.
  int HttpStatus(const std::string& id, const std::string& target) const;
  std::string HttpBody(const std::string& id, const std::string& target) const;
  /// A series' value on /metrics (or `target`), or 0 if it is absent. The name has all labels
  /// except the group's, as in `baton_moves_total{result="done"}`.
  double Metric(const std::string& id, const std::string& series,
                const std::string& target = "/metrics") const;
  /// The words that run batonctl with `id` as its endpoint.
  std::vector<std::string> CtlCommand(const std::string& id,
                                      const std::vector<std::string>& words) const;
  /// Runs batonctl with `id` as its endpoint.
  app::Ran Ctl(const std::string& id, const std::vector<std::string>& words) const;

 private:
  std::vector<std::string> Line(const std::string& id, const std::vector<std::string>& flags) const;
  /// The response of a GET; empty if there is none.
  static std::string Fetch(const NodeProcess& node, const std::string& target);
  /// Looks once at every running node.
  std::map<std::string, Table> LookAll();

  lab::PrivateEtcd& etcd_;
  const GroupOptions options_;
  std::string group_;
  std::string folder_;
  LeftGuards left_guards_;  // outlives the nodes
  std::map<std::string, std::unique_ptr<NodeProcess>> nodes_;
  LeaderChecker checker_;
};

/// The shards that `id` leads.
std::set<int> LedBy(const Table& table, const std::string& id);
/// The shards whose leader differs.
std::set<int> Moved(const Table& before, const Table& after);
/// The shards whose term differs.
std::set<int> Retermed(const Table& before, const Table& after);

}  // namespace baton::e2e
