// PeerProcess: the process at the other end of a connection, and the proof of its death.
//
// The proof is a pidfd that the kernel made for the process that connected (SO_PEERPIDFD, Linux
// 6.5). A pidfd that this process opens later by a process id would prove nothing, because another
// process may have the id by then. On older kernels this object exists only for a child of this
// process, because a child keeps its id until it is reaped. If there is no such object for a
// connection, only deadlines show when the process at the other end must have stopped.
//
// Immutable and thread-safe.
#pragma once

#include <sys/types.h>

#include <chrono>
#include <memory>

namespace baton::sidecar {

class PeerProcess {
 public:
  /// Returns the process that connected this unix socket, also if the process has ended: then
  /// ProvenDead is true. Null: the kernel can't tell, this process has no descriptor left, or
  /// (before Linux 6.16) the process has been reaped.
  static std::shared_ptr<const PeerProcess> OfSocket(int fd);
  /// For older kernels: returns the process of `child` if SO_PEERCRED says that the child
  /// connected. Null: another process connected, the child has ended, or this process has no
  /// descriptor left. REQUIRES: `child` is from OfChild.
  static std::shared_ptr<const PeerProcess> OfSocket(int fd, const PeerProcess& child);
  /// Returns a child of this process. Null: the kernel can't open a pidfd, this process has no
  /// descriptor left, or `pid` is 0. REQUIRES: the child was not reaped yet.
  static std::shared_ptr<const PeerProcess> OfChild(pid_t pid);
  ~PeerProcess();
  PeerProcess(const PeerProcess&) = delete;
  PeerProcess& operator=(const PeerProcess&) = delete;

  /// The pidfd, which becomes readable when the process has ended. It is open while this object
  /// lives. Remove it from an epoll set before this object is destroyed. To close it is not enough,
  /// because the pidfds of `child` and of the result of OfSocket(fd, child) share an open file.
  int pidfd() const { return pidfd_; }
  /// The process id in this process's pid namespace; 0: the process is not visible there.
  pid_t pid() const { return pid_; }
  /// Whether the process has ended. Waits for its end up to `patience`; without a bound if
  /// `patience` is negative. False proves nothing, and may come early if a signal interrupts this
  /// thread. Once true, the result stays true.
  bool ProvenDead(std::chrono::milliseconds patience = std::chrono::milliseconds(0)) const;
  /// Whether both objects are of one process, which still lives. False if pid() is 0.
  bool Is(const PeerProcess& other) const;

 private:
  PeerProcess(int pidfd, pid_t pid) : pidfd_(pidfd), pid_(pid) {}

  const int pidfd_;
  const pid_t pid_;
};

}  // namespace baton::sidecar
