// PrivateEtcd: a temporary etcd with one or three members on loopback, in a fresh folder.
//
// For tests, `batonctl demo` and benches. It uses the `etcd` on PATH and free ports, and touches no
// other etcd on the host. The members end with this object. By default (ChildLifetime) they also
// end with the thread that started them, so a crashed test leaves no etcd behind. LeaveRunning lets
// them run on.
//
// Only one thread at a time may use the object. Every wait for etcd has a bound, except for the
// wait for the end of a killed member. The destructor removes the folder, with two exceptions: Keep
// or LeaveRunning was called, or a member was not healthy after Start, Restart or Restore. In the
// second case, the error of that call names the folder. A `member` is a number from 0 to size() -
// 1; another number throws std::out_of_range.
#pragma once

#include <sys/types.h>

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "base/subprocess.h"
#include "baton/result.h"

namespace baton::lab {

/// PEM files for the members' client port. If `cert_path` and `key_path` are empty, the port has no
/// TLS.
struct PrivateEtcdTls {
  std::string cert_path;
  std::string key_path;
  /// The authority of clients' certificates. Clients must show a certificate of this authority.
  /// Empty: clients need no certificate.
  std::string client_ca_path;
};

enum class Durability {
  kFsync,        ///< as in production
  kUnsafeNoSync  ///< `--unsafe-no-fsync`; like kFsync if this etcd lacks the flag (before 3.5)
};

enum class RestoredAs {
  kSameCluster,
  kAnotherCluster,
  /// The same cluster with its revision raised by kRaisedBy, and everything compacted.
  kSameClusterRaised,
};
inline constexpr std::int64_t kRaisedBy = 1'000'000;

struct PrivateEtcdOptions {
  std::size_t members = 1;  ///< REQUIRES: 1 or 3
  /// More arguments for every member, after our own arguments; for example
  /// `--quota-backend-bytes=4194304`.
  std::vector<std::string> arguments = {};
  PrivateEtcdTls tls = {};
  Durability durability = Durability::kFsync;
  /// Arguments that Etcdctl and SaveSnapshot give to etcdctl, for example certificates or a user.
  std::vector<std::string> etcdctl_arguments = {};
  std::string program = "etcd";  ///< a path, or a name on PATH
  /// REQUIRES (not checked): kOwned, if LeaveRunning may be called.
  ChildLifetime lifetime = ChildLifetime::kDiesWithStartingThread;
  /// The time in which all members together must be healthy after a start. It is also the bound of
  /// each run of etcdctl or etcdutl.
  std::chrono::milliseconds start_timeout{30000};
};

/// Returns the greatest bucket bound that some value of the histogram exceeded. 0: no value
/// exceeded a bound, or `metrics` does not have the histogram. `metrics`: in the text format of
/// Prometheus.
double GreatestExceeded(const std::string& metrics, const std::string& histogram);

class PrivateEtcd {
 public:
  /// Starts the members, and waits until each serves linearizable reads. If another process takes a
  /// port meanwhile, tries again with other ports, up to five times in all. Each try may take
  /// PrivateEtcdOptions::start_timeout. kNotFound: there is no etcd. kUnavailable: no port is free,
  /// a member has ended, or a member is not healthy in time; the message names the folder of the
  /// logs. kInternal: the system refuses a folder or process. REQUIRES (checked):
  /// PrivateEtcdOptions::members is 1 or 3.
  static Result<std::unique_ptr<PrivateEtcd>> Start(const PrivateEtcdOptions& options);

  /// Kills the members, also paused ones, unless LeaveRunning was called. Removes the folder: see
  /// above.
  ~PrivateEtcd();
  PrivateEtcd(const PrivateEtcd&) = delete;
  PrivateEtcd& operator=(const PrivateEtcd&) = delete;

  std::size_t size() const;
  /// "127.0.0.1:port" of each member's client port. Restart and Restore don't change the ports.
  std::vector<std::string> endpoints() const;
  const std::string& folder() const;
  std::string log_path(std::size_t member) const;

  /// Stops a member (SIGSTOP), and waits until it has stopped. The member's connections stay open,
  /// but it answers nothing. Aborts this process if the member still runs after a minute. Does
  /// nothing after Kill.
  void Pause(std::size_t member);
  /// Continues a paused member (SIGCONT). Does nothing after Kill.
  void Resume(std::size_t member);
  /// Kills a member (SIGKILL), also a paused one, and waits until it has ended. Its data stays.
  /// Does nothing if Kill killed the member before.
  void Kill(std::size_t member);
  /// Kills a member if it runs, starts it again with the same data and ports, and waits until it is
  /// healthy. Errors: as for Start. While less than a majority of the members runs, no member can
  /// be healthy (kUnavailable). After kUnavailable, the restarted member may still run.
  Status Restart(std::size_t member);

  /// Whether this host has an `etcdutl` that can raise revisions (etcd 3.6, and later versions of
  /// 3.5). Runs etcdutl each time.
  bool CanRaiseRevisions() const;
  /// Runs etcdctl at the first member. `words`: its arguments, for example {"get", "/a"}.
  /// kNotFound: etcdctl is not on PATH. kTimedOut: etcdctl took longer than start_timeout, and was
  /// killed. kInternal: etcdctl failed; the message names the file with its output. REQUIRES:
  /// `words` is not empty.
  Status Etcdctl(std::vector<std::string> words) const;
  /// Saves a backup of the first member to a file, as an operator does (`etcdctl snapshot save`).
  /// Errors: as for Etcdctl.
  Status SaveSnapshot(const std::string& path);
  /// Kills all members, and replaces their data by the backup in the file `path`. Then starts all
  /// members on the same ports, and waits until they are healthy. `as`: whether the cluster keeps
  /// its id. Uses `etcdutl` if CanRaiseRevisions is true, otherwise `etcdctl`. Errors: those of
  /// Etcdctl (for the program that is used), and those of Start. After an error, members may be
  /// missing or without data. REQUIRES (not checked): if `as` is kSameClusterRaised,
  /// CanRaiseRevisions is true.
  Status Restore(const std::string& path, RestoredAs as);

  /// Whether the member answers a linearizable read within a second and has no alarm. The alarm
  /// NOSPACE is allowed.
  bool Healthy(std::size_t member) const;
  /// The number of the first member that says that it is the raft leader; nullopt: no running
  /// member says so. Waits up to a second for each member that runs.
  std::optional<std::size_t> Leader() const;

  /// A lower bound of the longest sync of a member's log; each member counts from its last start.
  /// The result is a bucket bound of etcd's histogram: 1 ms, 2 ms, and so on, up to 8.192 s. 0: all
  /// syncs took 1 ms at most, or no member answers. Waits up to a second for each member that runs.
  Duration SlowestSync() const;

  /// Makes the destructor keep the folder.
  void Keep();
  /// Makes the destructor keep the folder and leave the members running. REQUIRES (not checked):
  /// PrivateEtcdOptions::lifetime is kOwned.
  void LeaveRunning();
  /// The process ids of the members that Kill has not killed. Some of them may have ended by
  /// themselves.
  std::vector<pid_t> pids() const;

 private:
  struct State;
  explicit PrivateEtcd(std::unique_ptr<State> state);

  std::unique_ptr<State> state_;
};

}  // namespace baton::lab
