// PrivateEtcd: a temporary etcd with one or three members on loopback, in a fresh folder.
//
// For tests, `batonctl demo` and benches. It uses the `etcd` on PATH and free ports, and touches no
// other etcd on the host. Its members end with this object, and with the thread that started it
// (see ChildLifetime), so a crashed test leaves none behind. LeaveRunning lets them run on.
//
// One thread at a time. Every wait for etcd is bounded. The destructor removes the folder. It keeps
// the folder, with the logs, if a member was not healthy after Start, Restart or Restore (the error
// names it) or Keep() was called. A `member` is a number below size().
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

/// PEM files for the members' client port; empty paths: no TLS.
struct PrivateEtcdTls {
  std::string cert_path;
  std::string key_path;
  /// If set, clients must show a certificate signed by it.
  std::string client_ca_path;
};

enum class Durability {
  kFsync,        ///< as in production
  kUnsafeNoSync  ///< `--unsafe-no-fsync` if this etcd has it (3.5), else like kFsync
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
  /// Given to every etcdctl that this object runs: certificates, or a user.
  std::vector<std::string> etcdctl_arguments = {};
  std::string program = "etcd";
  /// Must be kOwned if LeaveRunning may be called.
  ChildLifetime lifetime = ChildLifetime::kDiesWithStartingThread;
  /// How long all members may take to be healthy, each time they are started.
  std::chrono::milliseconds start_timeout{30000};
};

/// The highest bucket bound that some value of a histogram exceeded, read from Prometheus' text
/// format; 0 if none did.
double GreatestExceeded(const std::string& metrics, const std::string& histogram);

class PrivateEtcd {
 public:
  /// Starts the members and waits until each serves linearizable reads. If another process takes a
  /// port meanwhile, it begins again, up to five times. Errors: kNotFound (no etcd), kUnavailable
  /// (not healthy in time: the message names the logs), kInternal (the system refused a folder or
  /// process).
  static Result<std::unique_ptr<PrivateEtcd>> Start(const PrivateEtcdOptions& options);

  /// Kills the members, frozen ones too, and removes the folder unless it is kept.
  ~PrivateEtcd();
  PrivateEtcd(const PrivateEtcd&) = delete;
  PrivateEtcd& operator=(const PrivateEtcd&) = delete;

  std::size_t size() const;
  /// "127.0.0.1:port" of each member's client port; the same after Restart.
  std::vector<std::string> endpoints() const;
  const std::string& folder() const;
  std::string log_path(std::size_t member) const;

  /// Freezes a member, or lets it run again (SIGSTOP, SIGCONT): its connections stay and answer
  /// nothing. Pause waits until it stands still, and aborts if it does not within a minute.
  void Pause(std::size_t member);
  void Resume(std::size_t member);
  /// Kills a member (SIGKILL); does nothing if it does not run.
  void Kill(std::size_t member);
  /// Kills a member if it runs, starts it again with the same data and ports, and waits until it is
  /// healthy. Errors as for Start. REQUIRES: a majority can run; otherwise no member becomes
  /// healthy.
  Status Restart(std::size_t member);

  /// Whether this host has an `etcdutl` that can raise revisions (etcd 3.6, later 3.5).
  bool CanRaiseRevisions() const;
  /// Runs etcdctl at the first member, for start_timeout at most. Errors, here and in SaveSnapshot
  /// and Restore: kNotFound (it is not on PATH), kTimedOut, kInternal (it failed: the message names
  /// its output).
  Status Etcdctl(std::vector<std::string> words) const;
  /// Saves a backup of the first member to a file, as an operator does (`etcdctl snapshot save`).
  Status SaveSnapshot(const std::string& path);
  /// Kills all members, replaces their data by the backup, starts them on the same ports, and waits
  /// until they are healthy. The cluster keeps its id or gets another one: operators meet both,
  /// depending on the token that they give. Uses `etcdutl` if CanRaiseRevisions, else `etcdctl`.
  /// Errors also as for Start; then members are missing or without data. REQUIRES:
  /// CanRaiseRevisions, if the revision is to be raised.
  Status Restore(const std::string& path, RestoredAs as);

  /// Whether the member answers a linearizable read within a second and has no alarm but NOSPACE.
  bool Healthy(std::size_t member) const;
  /// The raft leader according to the running members; nullopt if none says that it leads.
  std::optional<std::size_t> Leader() const;

  /// A lower bound of the longest sync of any member's log since it started, from its histogram
  /// (bounds double from 1 ms to 8.192 s): every commit waits for one. 0: all were short, or no
  /// member answers.
  Duration SlowestSync() const;

  /// Keeps the folder at the end.
  void Keep();
  /// Keeps the folder and leaves the members running. REQUIRES: started as kOwned.
  void LeaveRunning();
  /// Process ids of the members that were started and not killed by Kill; they may have ended.
  std::vector<pid_t> pids() const;

 private:
  struct State;
  explicit PrivateEtcd(std::unique_ptr<State> state);

  std::unique_ptr<State> state_;
};

}  // namespace baton::lab
