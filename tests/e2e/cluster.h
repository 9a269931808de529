// A group of real batond processes on a private etcd, and what tests ask and do to it.
//
// Every wait polls a condition with a bound and ends the running test (by an Unmet, which gtest
// reports) where the bound passes; none sleeps for a fixed time. Nodes listen on ports of their own
// choice, keep state and logs in a temporary folder, and end with this object, or with the thread
// that made it. The folder stays, and its path is printed, where the test failed.
//
// All of it is of the world that the binary was told (world.h).
//
// While it waits, a cluster checks what is sound to check from outside (see LeaderChecker). One
// thread at a time.
#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <stdexcept>
#include <string>
#include <vector>

#include "app/ctl_process.h"
#include "base/clock.h"
#include "base/subprocess.h"
#include "e2e/leader_checker.h"
#include "e2e/world.h"
#include "etcd/private_etcd.h"

namespace baton::e2e {

/// For conditions that no TTL bounds: far above what they take on a loaded machine.
inline constexpr std::chrono::seconds kPatience{40};

/// A condition that did not hold in time, or a node that did not start.
struct Unmet : std::runtime_error {
  using std::runtime_error::runtime_error;
};

/// Polls until `condition` holds; false when it did not within `bound`.
bool Eventually(std::chrono::milliseconds bound, const std::function<bool()>& condition);

/// One etcd of the world for a whole test suite; made at first use, ended with the process.
etcd::PrivateEtcd& SharedEtcd();

struct GroupOptions {
  std::uint32_t shards = 12;
  std::chrono::seconds ttl{3};
  std::vector<std::string> flags = {};  ///< for every node
};

/// One batond, running or not.
class NodeProcess {
 public:
  const std::string& id() const { return id_; }
  const std::string& endpoint() const { return grpc_; }  ///< gRPC
  std::uint16_t http_port() const { return http_port_; }
  pid_t pid() const { return process_->pid(); }
  const std::string& log_path() const { return log_path_; }
  std::string Log() const;

  bool running() const { return process_ && !process_->Poll(); }
  bool paused() const { return paused_; }
  void Kill();
  void Pause();
  void Resume();
  void Signal(int signal) { process_->Signal(signal); }
  /// Unset: still running after `bound`.
  std::optional<ExitStatus> WaitExit(std::chrono::milliseconds bound = kPatience);

 private:
  friend class Cluster;

  std::string id_;
  std::string ready_file_;
  std::string log_path_;
  std::unique_ptr<Subprocess> process_;
  std::string grpc_;
  std::uint16_t http_port_ = 0;
  bool paused_ = false;
};

class Cluster {
 public:
  Cluster(etcd::PrivateEtcd& etcd, GroupOptions options);
  ~Cluster();
  Cluster(const Cluster&) = delete;
  Cluster& operator=(const Cluster&) = delete;

  const std::string& group() const { return group_; }
  const std::string& folder() const { return folder_; }
  std::chrono::seconds ttl() const { return options_.ttl; }
  /// Within which a vacancy is filled after a death (ETCD.md: TTL + 0.5 s + delivery).
  std::chrono::milliseconds FailoverBound() const { return options_.ttl + std::chrono::seconds(3); }
  /// Of a key of this group, for example "shards/3".
  std::string Key(const std::string& name) const { return "/baton/v1/" + group_ + "/" + name; }
  std::string StateDir(const std::string& id) const { return folder_ + "/" + id + ".state"; }

  /// Starts batond; it need not become ready. A node of the same id must have ended.
  NodeProcess& Launch(const std::string& id, const std::vector<std::string>& flags = {});
  /// The same, and waits until it is ready.
  NodeProcess& Start(const std::string& id, const std::vector<std::string>& flags = {});
  void StartAll(const std::vector<std::string>& ids);
  void WaitReady(NodeProcess& node);
  /// Starts a second batond that calls itself `id`, kept under the name "<id> twin".
  NodeProcess& LaunchTwin(const std::string& id, const std::vector<std::string>& flags = {});
  /// Starts a relay of the group; it need not become ready.
  NodeProcess& LaunchRelay(const std::string& id, const std::vector<std::string>& flags = {});
  /// Starts any other program as if it were batond: it must write the ready file.
  NodeProcess& LaunchProgram(const std::string& id, const std::string& program,
                             const std::vector<std::string>& flags);
  NodeProcess& node(const std::string& id) { return *nodes_.at(id); }
  /// What a batond gets on its command line.
  std::vector<std::string> Flags(const std::string& id) const;

  /// What `id` shows on /v1/shards; unset where it gives no picture.
  std::optional<Table> Look(const std::string& id);
  /// Until `condition` holds for the tables of all running nodes that aren't frozen; each look is
  /// checked. `what` names the condition in the failure.
  void Await(const std::string& what, const std::function<bool(const Table&)>& condition,
             std::chrono::milliseconds bound = kPatience);
  /// Until all running nodes agree that `ids` lead all shards, as evenly as the count allows
  /// (weights aside), and nobody else leads any. The table agreed on.
  Table AwaitBalanced(const std::set<std::string>& ids,
                      std::chrono::milliseconds bound = kPatience);
  /// Until all running nodes agree that every shard is led. As above.
  Table AwaitLed(std::chrono::milliseconds bound = kPatience);
  /// Until `condition` holds; nodes are looked at and checked meanwhile.
  void Await(const std::string& what, const std::function<bool()>& condition,
             std::chrono::milliseconds bound = kPatience);

  /// GET on a node: status and body.
  int HttpStatus(const std::string& id, const std::string& target) const;
  std::string HttpBody(const std::string& id, const std::string& target) const;
  /// A series' value on /metrics (or `target`): the name with its labels but the group's, as in
  /// `baton_moves_total{result="done"}`. 0 where it is absent.
  double Metric(const std::string& id, const std::string& series,
                const std::string& target = "/metrics") const;
  /// batonctl against `id`.
  app::Ran Ctl(const std::string& id, const std::vector<std::string>& words) const;

 private:
  std::vector<std::string> Line(const std::string& id, const std::vector<std::string>& flags) const;
  /// One look at every running node.
  std::map<std::string, Table> LookAll();

  etcd::PrivateEtcd& etcd_;
  const GroupOptions options_;
  std::string group_;
  std::string folder_;
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
