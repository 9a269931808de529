// PeerProcess: the process at the other end of a connection, and the proof of its death.
//
// The proof is a pidfd that the kernel made for the very process that connected (SO_PEERPIDFD,
// Linux 6.5). One opened later by the process id that SO_PEERCRED names would be no proof: the
// process may have died meanwhile and the id belong to another, which would then be watched in its
// place. Where the kernel can't, only a child of this process is known for certain, as its id is
// its own until it is reaped; of anybody else there is no PeerProcess, and only deadlines tell.
//
// Immutable and thread-safe.
#pragma once

#include <sys/types.h>

#include <chrono>
#include <memory>

namespace baton::sidecar {

class PeerProcess {
 public:
  /// Of the process that connected this unix socket. Null: the kernel can't tell, or it is gone.
  static std::shared_ptr<const PeerProcess> OfSocket(int fd);
  /// The same without the kernel's help: of the process that connected where that is `child`, by
  /// the id that SO_PEERCRED names. Null: it is another, or has ended.
  static std::shared_ptr<const PeerProcess> OfSocket(int fd, const PeerProcess& child);
  /// Of a child of this process that nobody has reaped. Null: the kernel can't.
  static std::shared_ptr<const PeerProcess> OfChild(pid_t pid);
  ~PeerProcess();
  PeerProcess(const PeerProcess&) = delete;
  PeerProcess& operator=(const PeerProcess&) = delete;

  /// Readable once the process has ended. Lives as long as this object.
  int pidfd() const { return pidfd_; }
  /// For people. In this process's namespace; 0: not visible there.
  pid_t pid() const { return pid_; }
  /// It has ended; waits up to `patience` for that.
  bool ProvenDead(std::chrono::milliseconds patience = std::chrono::milliseconds(0)) const;
  /// Both are one process, and it lives.
  bool Is(const PeerProcess& other) const;

 private:
  PeerProcess(int pidfd, pid_t pid) : pidfd_(pidfd), pid_(pid) {}

  const int pidfd_;
  const pid_t pid_;
};

}  // namespace baton::sidecar
