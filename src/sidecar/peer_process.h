// PeerProcess: the process at the other end of a connection, and the proof of its death.
//
// The proof is a pidfd that the kernel made for the process that connected (SO_PEERPIDFD, Linux
// 6.5). A pidfd opened later, by the process id from SO_PEERCRED, would prove nothing: that process
// may have died, and its id may belong to another one by then. Older kernels leave one safe case: a
// child of this process keeps its id until it is reaped. For other processes there is no
// PeerProcess then, and only deadlines tell when they must have stopped.
//
// Immutable and thread-safe.
#pragma once

#include <sys/types.h>

#include <chrono>
#include <memory>

namespace baton::sidecar {

class PeerProcess {
 public:
  /// The process that connected this unix socket. Null: the kernel can't tell, or the process is
  /// gone.
  static std::shared_ptr<const PeerProcess> OfSocket(int fd);
  /// The same for older kernels: `child`, if SO_PEERCRED says that it connected. Null: another
  /// process did, or the child has ended.
  static std::shared_ptr<const PeerProcess> OfSocket(int fd, const PeerProcess& child);
  /// A child of this process. REQUIRES: nobody has reaped it. Null: the kernel can't open a pidfd.
  static std::shared_ptr<const PeerProcess> OfChild(pid_t pid);
  ~PeerProcess();
  PeerProcess(const PeerProcess&) = delete;
  PeerProcess& operator=(const PeerProcess&) = delete;

  /// Becomes readable when the process has ended. Open as long as this object lives.
  int pidfd() const { return pidfd_; }
  /// The process id in this process's namespace, for messages; 0: not visible there.
  pid_t pid() const { return pid_; }
  /// Whether the process has ended. Waits for that up to `patience`. False proves nothing.
  bool ProvenDead(std::chrono::milliseconds patience = std::chrono::milliseconds(0)) const;
  /// Whether both are the same process, and it lives. False also if pid() is 0.
  bool Is(const PeerProcess& other) const;

 private:
  PeerProcess(int pidfd, pid_t pid) : pidfd_(pidfd), pid_(pid) {}

  const int pidfd_;
  const pid_t pid_;
};

}  // namespace baton::sidecar
