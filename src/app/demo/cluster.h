// DemoCluster: an etcd, the node processes of a demo, and the observer of the nodes.
//
// Use a DemoCluster on one thread, usually main. Unless DemoOptions::keep is set, the kernel kills
// the processes when the thread that started them ends. REQUIRES (not checked): each `node` is an
// index that StartNode returned.
#pragma once

#include <sys/types.h>

#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <vector>

#include "app/demo/board.h"
#include "app/demo/certificates.h"
#include "app/demo/demo.h"
#include "app/demo/observer.h"
#include "base/facts.h"
#include "base/subprocess.h"
#include "baton/result.h"
#include "etcd/grpc/transport.h"
#include "etcd/keyspace.h"
#include "lab/private_etcd.h"

namespace baton::app {

/// Returns the path of this program. Each node is a process of the same program.
std::string ProgramPath();

/// Notes when members came and went, from a watch of its own on etcd. Each time is when this
/// process saw the event, so it is a little late. If the watch ends, only the next call of Of opens
/// it again. Then the times of the events in between are too late. One thread at a time.
class DemoMembers {
 public:
  /// REQUIRES: `transport` outlives this object.
  DemoMembers(etcd::Transport& transport, const etcd::Keyspace& keys);
  /// When the watch last saw that a node's member key was created (joined) or deleted (gone).
  /// Unset: never.
  struct Times {
    std::optional<TimePoint> joined = {};
    std::optional<TimePoint> gone = {};
  };
  /// For an unknown node, both times are unset.
  Times Of(const NodeId& node);

 private:
  void Open();
  void Note(const etcdserverpb::WatchResponse& response);

  etcd::Transport& transport_;
  const std::string prefix_;
  std::mutex mutex_;  // guards what follows, but the watch
  std::map<NodeId, Times> times_;
  std::int64_t next_ = 1;                     ///< the first revision that was not seen
  bool ended_ = false;                        ///< the watch has ended, and must be opened again
  std::unique_ptr<etcd::WatchStream> watch_;  // ends before the map
};

class DemoCluster {
 public:
  /// Starts etcd, and no node yet. Waits until etcd is healthy (see lab::PrivateEtcd::Start).
  /// kNotFound: etcd is not on PATH, or a secure demo does not find etcdctl there. kUnavailable:
  /// etcd did not start, or a certificate can't be written. Other errors: folders or users could
  /// not be made.
  static Result<std::unique_ptr<DemoCluster>> Start(const DemoOptions& options);
  /// Ends all processes, unless LeaveRunning was called. If the node kGuarded was not killed, first
  /// asks it to drain and end, and waits for this for up to 5 s. Kills the other nodes and etcd.
  ~DemoCluster();

  /// Starts a node process: n1, then n2 and so on. Returns before the node serves;
  /// DemoBoard::Head::state shows when it serves. Only the node kGuarded has a guard. Errors: those
  /// of DemoBoard::Create and Subprocess::Start.
  Result<NodeIndex> StartNode(std::uint32_t expect_nodes);
  static constexpr NodeIndex kGuarded = 1;
  /// Sends SIGKILL and waits without a bound for the process's end. A second call changes nothing.
  void Kill(NodeIndex node);
  /// REQUIRES (not checked), also of Wake: the node was not killed. Sends SIGSTOP and waits until
  /// the process has stopped or ended. If this takes longer than a minute, logs a warning and
  /// returns.
  void Stop(NodeIndex node);
  /// Sends SIGCONT.
  void Wake(NodeIndex node);

  const NodeId& name(NodeIndex node) const { return nodes_[node].name; }
  DemoBoard::Head& board(NodeIndex node) { return nodes_[node].board->head(); }
  const DemoBoard::Head& board(NodeIndex node) const { return nodes_[node].board->head(); }
  /// Returns "127.0.0.1:port" of gRPC. The port is 0 until the node serves.
  std::string endpoint(NodeIndex node) const;
  /// Returns "127.0.0.1:port" of HTTP. The port is 0 until the node serves. If the demo is not
  /// secure, the port is always 0.
  std::string http_endpoint(NodeIndex node) const;
  /// Returns the TLS settings with which `who` calls a node. `who`: a name in certificates.h. If
  /// the demo is not secure, the result means no TLS.
  ClientTls tls(const std::string& who = kDemoOperator) const;
  /// Null: the demo is not secure.
  DemoCertificates* certificates() { return certificates_.get(); }
  std::size_t size() const { return nodes_.size(); }
  /// False after Kill. A node that ended by itself counts as running; see Trouble.
  bool running(NodeIndex node) const { return nodes_[node].running; }
  /// True from Stop until Wake, also if the node ended meanwhile.
  bool stopped(NodeIndex node) const { return nodes_[node].stopped; }

  /// Returns one line about a node that ended or halted by itself. Empty: there is no such node.
  std::string Trouble();

  DemoObserver& observer() { return *observer_; }
  DemoMembers& members() { return *members_; }
  const std::string& folder() const { return etcd_->folder(); }

  /// Reads the shards' records from etcd, also damaged ones (RecordFact::readability). Waits up to
  /// 5 s. kUnavailable: etcd can't be read.
  Result<std::map<ShardId, RecordFact>> ReadRecords();

  /// Makes the destructor keep the folder with logs and state, for example after a failure.
  void KeepFolder() { etcd_->Keep(); }
  /// Makes the destructor leave all processes running, and keep the folder. REQUIRES (not checked):
  /// DemoOptions::keep is set, and the node kGuarded was killed. If kGuarded still runs, the
  /// destructor ends it.
  void LeaveRunning();
  std::string etcd_endpoint() const { return etcd_->endpoints().front(); }
  Duration slowest_sync() const { return etcd_->SlowestSync(); }
  std::vector<pid_t> etcd_pids() const { return etcd_->pids(); }
  std::vector<pid_t> node_pids() const;

 private:
  struct NodeProcess {
    NodeId name;
    std::unique_ptr<DemoBoard> board;
    std::unique_ptr<Subprocess> process;
    bool running = true;   ///< not killed
    bool stopped = false;  ///< stopped by SIGSTOP now
  };

  struct Started {
    std::unique_ptr<DemoCertificates> certificates;
    std::unique_ptr<lab::PrivateEtcd> etcd;
    std::unique_ptr<etcd::GrpcTransport> transport;
  };
  DemoCluster(const DemoOptions& options, Started started);
  static Status Secure(const Started& started, etcd::GrpcTransportOptions& own);

  const DemoOptions options_;
  const std::unique_ptr<DemoCertificates> certificates_;
  const std::unique_ptr<lab::PrivateEtcd> etcd_;
  const std::unique_ptr<etcd::GrpcTransport> transport_;
  const etcd::Keyspace keys_;
  std::vector<NodeProcess> nodes_;
  std::unique_ptr<DemoMembers> members_;
  std::unique_ptr<DemoObserver> observer_;  // ends before the boards
};

}  // namespace baton::app
