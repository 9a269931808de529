// DemoCluster: the processes of a demo: an etcd, the nodes, and the observer that watches them.
//
// Use it on one thread, the one that lives longest: unless DemoOptions::keep is set, the kernel
// ends the processes with the thread that started them. A `node` is an index that StartNode
// returned.
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

/// The path of this program, which runs again as each node.
std::string ProgramPath();

/// Notes when the demo's own watch on etcd saw members come and go: later than it happened, and
/// much later if the watch had to be opened again. One thread.
class DemoMembers {
 public:
  /// REQUIRES: `transport` outlives this object.
  DemoMembers(etcd::Transport& transport, const etcd::Keyspace& keys);
  /// When the watch last saw a node's member key created, and deleted. Unset: never.
  struct Times {
    std::optional<TimePoint> joined = {};
    std::optional<TimePoint> gone = {};
  };
  Times Of(const NodeId& node);

 private:
  void Open();
  void Note(const etcdserverpb::WatchResponse& response);

  etcd::Transport& transport_;
  const std::string prefix_;
  std::mutex mutex_;  // guards what follows, but the watch
  std::map<NodeId, Times> times_;
  std::int64_t next_ = 1;                     ///< the first revision that was not seen
  bool ended_ = false;                        ///< the watch, so that it must be opened again
  std::unique_ptr<etcd::WatchStream> watch_;  // ends before the map
};

class DemoCluster {
 public:
  /// Starts etcd, and no node yet. kNotFound: no etcd (or, if secure, no etcdctl) is on PATH.
  /// kUnavailable: it did not start. Other errors: the folders, files or users could not be made.
  static Result<std::unique_ptr<DemoCluster>> Start(const DemoOptions& options);
  /// Ends all processes, unless they are to be left running. Waits up to 5 s for kGuarded to leave.
  ~DemoCluster();

  /// Starts a node process, n1, n2 and so on; returns before it serves (DemoBoard::Head::state). Of
  /// the nodes only kGuarded has a guard. Errors: those of DemoBoard::Create and Subprocess::Start.
  Result<NodeIndex> StartNode(std::uint32_t expect_nodes);
  static constexpr NodeIndex kGuarded = 1;
  /// Sends SIGKILL and waits for the end.
  void Kill(NodeIndex node);
  /// Sends SIGSTOP and waits until the process stands still; gives up after a minute, with a
  /// warning in the log.
  void Stop(NodeIndex node);
  void Wake(NodeIndex node);

  const NodeId& name(NodeIndex node) const { return nodes_[node].name; }
  DemoBoard::Head& board(NodeIndex node) { return nodes_[node].board->head(); }
  const DemoBoard::Head& board(NodeIndex node) const { return nodes_[node].board->head(); }
  /// "127.0.0.1:port", once the node serves; before, the port is 0.
  std::string endpoint(NodeIndex node) const;
  /// The same for HTTP, which only nodes of a secure demo serve.
  std::string http_endpoint(NodeIndex node) const;
  /// The certificate of `who` by which to call a node; none if the demo is not secure.
  ClientTls tls(const std::string& who = kDemoOperator) const;
  /// Null: the demo is not secure.
  DemoCertificates* certificates() { return certificates_.get(); }
  std::size_t size() const { return nodes_.size(); }
  /// Whether Kill has not ended it. It may have ended by itself: see Trouble.
  bool running(NodeIndex node) const { return nodes_[node].running; }
  bool stopped(NodeIndex node) const { return nodes_[node].stopped; }

  /// Names a node that ended or halted by itself, in one line. Empty: no node did.
  std::string Trouble();

  DemoObserver& observer() { return *observer_; }
  DemoMembers& members() { return *members_; }
  const std::string& folder() const { return etcd_->folder(); }

  /// The leader and term of each shard that has a readable record, as etcd has them. Waits up to 5
  /// s. kUnavailable: etcd can't be read.
  Result<std::map<ShardId, RecordFact>> ReadRecords();

  /// Keeps logs and state, so that the cause of a failure can be found.
  void KeepFolder() { etcd_->Keep(); }
  /// Lets all processes run on after the destructor. REQUIRES: DemoOptions::keep, and kGuarded was
  /// killed; the destructor would end it all the same.
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
    bool stopped = false;  ///< by SIGSTOP, at present
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
