#include "sidecar/peer_process.h"

#include <fcntl.h>
#include <poll.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <unistd.h>

#ifndef SO_PEERPIDFD
#define SO_PEERPIDFD 77  // Debian 12's headers lack it
#endif

namespace baton::sidecar {
namespace {

/// The id of the process that connected; 0: unknown.
pid_t ConnectedBy(int fd) {
  ucred credentials{};
  socklen_t length = sizeof(credentials);
  return getsockopt(fd, SOL_SOCKET, SO_PEERCRED, &credentials, &length) == 0 ? credentials.pid : 0;
}

}  // namespace

std::shared_ptr<const PeerProcess> PeerProcess::OfSocket(int fd) {
  int pidfd = -1;
  socklen_t length = sizeof(pidfd);
  if (getsockopt(fd, SOL_SOCKET, SO_PEERPIDFD, &pidfd, &length) != 0) return nullptr;
  return std::shared_ptr<const PeerProcess>(new PeerProcess(pidfd, ConnectedBy(fd)));
}

std::shared_ptr<const PeerProcess> PeerProcess::OfSocket(int fd, const PeerProcess& child) {
  if (child.pid_ == 0 || ConnectedBy(fd) != child.pid_ || child.ProvenDead()) return nullptr;
  const int pidfd = fcntl(child.pidfd_, F_DUPFD_CLOEXEC, 0);
  if (pidfd < 0) return nullptr;
  return std::shared_ptr<const PeerProcess>(new PeerProcess(pidfd, child.pid_));
}

std::shared_ptr<const PeerProcess> PeerProcess::OfChild(pid_t pid) {
  const auto pidfd = static_cast<int>(syscall(SYS_pidfd_open, pid, 0));
  if (pidfd < 0) return nullptr;
  return std::shared_ptr<const PeerProcess>(new PeerProcess(pidfd, pid));
}

PeerProcess::~PeerProcess() { close(pidfd_); }

bool PeerProcess::ProvenDead(std::chrono::milliseconds patience) const {
  pollfd ended{.fd = pidfd_, .events = POLLIN, .revents = 0};
  return poll(&ended, 1, static_cast<int>(patience.count())) > 0 && (ended.revents & POLLIN) != 0;
}

// An id belongs to one process until that has died, so both are checked after the comparison.
bool PeerProcess::Is(const PeerProcess& other) const {
  return pid_ != 0 && pid_ == other.pid_ && !ProvenDead() && !other.ProvenDead();
}

}  // namespace baton::sidecar
