#include "base/stderr_now.h"

#include <fcntl.h>
#include <poll.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <climits>
#include <cstddef>

namespace baton {
namespace {

/// Opens stderr again without blocking, or returns -1. O_APPEND in case it is a file by now.
int OpenAnew() {
  constexpr int kFlags = O_WRONLY | O_APPEND | O_NONBLOCK | O_NOCTTY | O_CLOEXEC;
  return open("/proc/self/fd/2", kFlags);
}

ssize_t WriteAndClose(int descriptor, std::string_view bytes) {
  const ssize_t count = write(descriptor, bytes.data(), bytes.size());
  const int why = errno;
  close(descriptor);
  errno = why;
  return count;
}

ssize_t WriteWhereThereIsRoom(std::string_view bytes) {
  pollfd wanted{.fd = STDERR_FILENO, .events = POLLOUT, .revents = 0};
  const int ready = poll(&wanted, 1, 0);
  if (ready == 0) errno = EAGAIN;
  if (ready != 1) return -1;
  // A writable pipe takes this much at once.
  return write(STDERR_FILENO, bytes.data(), std::min<std::size_t>(bytes.size(), PIPE_BUF));
}

}  // namespace

ssize_t WriteStderrNow(std::string_view bytes) {
  struct stat kind {};
  if (fstat(STDERR_FILENO, &kind) != 0) return -1;
  if (S_ISSOCK(kind.st_mode)) {
    return send(STDERR_FILENO, bytes.data(), bytes.size(), MSG_DONTWAIT | MSG_NOSIGNAL);
  }
  if (S_ISREG(kind.st_mode)) return write(STDERR_FILENO, bytes.data(), bytes.size());
  const int anew = OpenAnew();
  return anew >= 0 ? WriteAndClose(anew, bytes) : WriteWhereThereIsRoom(bytes);
}

}  // namespace baton
