// PrivateEtcd: a temporary etcd with one or three members on loopback, in a fresh folder.
//
// For tests, `batonctl demo` and benches. It uses the `etcd` on PATH and free ports, and touches no
// other etcd on the host. The members end with this object. By default (ChildLifetime) they also
// end with the thread that started them, so a crashed test leaves no etcd behind. LeaveRunning lets
// them run on.
//
// One thread at a time. Every wait for etcd has a bound, except for the end of a killed member. The
// destructor removes the folder, unless Keep or LeaveRunning was called, or a member was not
// healthy after Start, Restart or Restore. The error of such a call names the folder. A `member` is
// a number below size(); another number throws std::out_of_range.
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

/// PEM files for the members' client port. Empty `cert_path` and `key_path`: no TLS.
struct PrivateEtcdTls {
  std::string cert_path;
  std::string key_path;
  /// The authority of clients' certificates, which clients must then show. Empty: they need none.
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
  /// Given to every member, after our own arguments; for example `--quota-backend-bytes=4194304`.
  std::vector<std::string> arguments = {};
  PrivateEtcdTls tls = {};
  Durability durability = Durability::kFsync;
  /// Etcdctl and SaveSnapshot give these to etcdctl: certificates, or a user.
  std::vector<std::string> etcdctl_arguments = {};
  std::string program = "etcd";  ///< a path, or a name on PATH
  /// REQUIRES: kOwned, if LeaveRunning may be called.
  ChildLifetime lifetime = ChildLifetime::kDiesWithStartingThread;
  /// How long all members together may take to be healthy, each time members are started. Also
  /// bounds each run of etcdctl or etcdutl.
  std::chrono::milliseconds start_timeout{30000};
};

/// Returns the highest bucket bound of a histogram that a value exceeded; 0: no value exceeded a
/// bound. `metrics`: Prometheus' text format.
double GreatestExceeded(const std::string& metrics, const std::string& histogram);

class PrivateEtcd {
 public:
  /// Starts the members and waits until each serves linearizable reads. If another process takes a
  /// port meanwhile, tries again with other ports, up to five tries in all. kNotFound: there is no
  /// etcd. kUnavailable: no port is free, or a member is not healthy in time or has ended; the
  /// message names the logs' folder. kInternal: the system refuses a folder or process.
  static Result<std::unique_ptr<PrivateEtcd>> Start(const PrivateEtcdOptions& options);

  /// Kills the members, also paused ones, and removes the folder unless it is kept.
  ~PrivateEtcd();
  PrivateEtcd(const PrivateEtcd&) = delete;
  PrivateEtcd& operator=(const PrivateEtcd&) = delete;

  std::size_t size() const;
  /// "127.0.0.1:port" of each member's client port. Restart and Restore don't change the ports.
  std::vector<std::string> endpoints() const;
  const std::string& folder() const;
  std::string log_path(std::size_t member) const;

  /// Stops a member (SIGSTOP), and waits until it has stopped. Its connections stay open and answer
  /// nothing. Aborts this process if the member still runs after a minute. Does nothing after Kill.
  void Pause(std::size_t member);
  /// Continues a paused member (SIGCONT). Does nothing after Kill.
  void Resume(std::size_t member);
  /// Kills a member (SIGKILL), also a paused one, and waits for its end. Does nothing if it does
  /// not run. Its data stays.
  void Kill(std::size_t member);
  /// Kills a member if it runs, starts it again with the same data and ports, and waits until it is
  /// healthy. Errors: as for Start; kUnavailable also if less than a majority of members runs then.
  /// After kUnavailable, the member may still run.
  Status Restart(std::size_t member);

  /// Whether this host has an `etcdutl` that can raise revisions (etcd 3.6, later 3.5).
  bool CanRaiseRevisions() const;
  /// Runs etcdctl at the first member. `words`: its arguments, for example {"get", "/a"}. Errors:
  /// kNotFound: etcdctl is not on PATH. kTimedOut: it took longer than start_timeout, and was
  /// killed. kInternal: it failed; the message names the file with its output.
  Status Etcdctl(std::vector<std::string> words) const;
  /// Saves a backup of the first member to a file, as an operator does (`etcdctl snapshot save`).
  /// Errors: as Etcdctl.
  Status SaveSnapshot(const std::string& path);
  /// Kills all members, replaces their data by the backup, starts them on the same ports, and waits
  /// until they are healthy. `as`: whether the cluster keeps its id. (Operators choose this by the
  /// token that they give to the restore.) Uses `etcdutl` if CanRaiseRevisions is true, otherwise
  /// `etcdctl`. Errors: those of Etcdctl, of the program used, and those of Start. After an error,
  /// members may be missing or without data. REQUIRES: if `as` is kSameClusterRaised,
  /// CanRaiseRevisions is true.
  Status Restore(const std::string& path, RestoredAs as);

  /// Whether the member answers a linearizable read within a second and has no alarm. The alarm
  /// NOSPACE is allowed.
  bool Healthy(std::size_t member) const;
  /// The member that says that it is the raft leader; nullopt: no running member says so.
  std::optional<std::size_t> Leader() const;

  /// A lower bound of the longest sync of any member's log since the member was last started. Every
  /// commit waits for a sync. It is read from etcd's histogram, whose bounds double from 1 ms to
  /// 8.192 s. 0: all syncs took 1 ms at most, or no member answers.
  Duration SlowestSync() const;

  /// Makes the destructor keep the folder.
  void Keep();
  /// Makes the destructor keep the folder and leave the members running. REQUIRES:
  /// PrivateEtcdOptions::lifetime is kOwned.
  void LeaveRunning();
  /// The process ids of the members that Kill has not killed. A member may have ended by itself.
  std::vector<pid_t> pids() const;

 private:
  struct State;
  explicit PrivateEtcd(std::unique_ptr<State> state);

  std::unique_ptr<State> state_;
};

}  // namespace baton::lab
