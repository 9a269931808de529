#include "app/daemon/connection_listener.h"

#include <fcntl.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <sys/eventfd.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <optional>
#include <system_error>
#include <utility>

#include <fmt/format.h>

#include "base/descriptors.h"
#include "base/log.h"

namespace baton::app {
namespace {

constexpr int kPauseMilliseconds = 100;  // trying again at once would spin
constexpr std::chrono::minutes kSayAgain{1};
// Otherwise the kernel keeps up to 4 MiB for each caller that does not read, besides what the
// server's budgets count. It doubles this.
constexpr int kSendBuffer = 128 << 10;
// If a caller's connections are ended, the bytes that gRPC has read before still cost time. The
// kernel doubles this, too.
constexpr int kReceiveBuffer = 16 << 10;

/// Logs why connections are refused, at most once a minute.
class Complaint {
 public:
  void Say(int why) {
    const auto now = std::chrono::steady_clock::now();
    if (said_ && now - *said_ < kSayAgain) return;
    said_ = now;
    log::Warn(
        "gRPC connections are refused: there are too many, there are too few descriptors (ulimit "
        "-n), or a client has two from one port",
        {{"why", std::generic_category().message(why)}});
  }

 private:
  std::optional<std::chrono::steady_clock::time_point> said_;
};

}  // namespace

Result<std::unique_ptr<ConnectionListener>> ConnectionListener::Start(int socket,
                                                                      const std::string& address,
                                                                      Bounds bounds, Serve serve) {
  OwnedDescriptor owned(socket);
  OwnedDescriptor wake(eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK));
  // Its connections have the same; set later, it would not bound what they offer to take.
  setsockopt(socket, SOL_SOCKET, SO_RCVBUF, &kReceiveBuffer, sizeof kReceiveBuffer);
  const bool listens =
      wake.get() >= 0 && fcntl(socket, F_SETFL, O_NONBLOCK) == 0 && listen(socket, SOMAXCONN) == 0;
  if (!listens) {
    const char* const advice =
        errno == EMFILE || errno == ENFILE ? "; raise ulimit -n" : "; give another port";
    return Error{ErrorCode::kUnavailable,
                 fmt::format("can't serve gRPC on {}: {}{}", address,
                             std::generic_category().message(errno), advice)};
  }
  try {
    return std::unique_ptr<ConnectionListener>(
        new ConnectionListener(std::move(owned), std::move(wake), bounds, std::move(serve)));
  } catch (const std::system_error& error) {
    return Error{
        ErrorCode::kUnavailable,
        fmt::format("can't serve gRPC on {}: the host lacks threads: {}", address, error.what())};
  }
}

ConnectionListener::ConnectionListener(OwnedDescriptor socket, OwnedDescriptor wake, Bounds bounds,
                                       Serve serve)
    : socket_(std::move(socket)),
      wake_(std::move(wake)),
      bounds_(bounds),
      serve_(std::move(serve)),
      thread_([this] { Run(); }) {}

ConnectionListener::~ConnectionListener() {
  eventfd_write(wake_.get(), 1);
  thread_.join();
}

bool ConnectionListener::Wait(bool connections, int milliseconds) const {
  pollfd wanted[] = {{.fd = wake_.get(), .events = POLLIN, .revents = 0},
                     {.fd = connections ? socket_.get() : -1, .events = POLLIN, .revents = 0}};
  poll(wanted, 2, milliseconds);
  return wanted[0].revents == 0;
}

void ConnectionListener::Run() {
  Complaint complaint;
  while (Wait(true, -1)) {
    const int connection = accept4(socket_.get(), nullptr, nullptr, SOCK_CLOEXEC | SOCK_NONBLOCK);
    if (connection < 0) {
      if (errno == EAGAIN || errno == EINTR || errno == ECONNABORTED) continue;
      ++refused_->full;
      complaint.Say(errno);
      if (!Wait(false, kPauseMilliseconds)) return;
      continue;
    }
    // The kernel gives out the lowest free number, so the number tells how many are in use.
    // The others' connections may have some of the numbers below the bound, so clients whom the
    // server prefers get numbers beyond it.
    const bool many = connection >= bounds_.most_descriptors + bounds_.kept;
    const int reserved = LeastReserved(bounds_.kept);
    if (many || connection >= reserved) {
      close(connection);
      ++refused_->full;
      complaint.Say(many ? EUSERS : EMFILE);
      continue;
    }
    const int on = 1;
    setsockopt(connection, IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
    setsockopt(connection, SOL_SOCKET, SO_SNDBUF, &kSendBuffer, sizeof kSendBuffer);
    const int places = std::min(bounds_.most_descriptors, reserved) - kLastPlaces;
    const Served served = serve_(connection, places - connection);
    if (served == Served::kTaken) continue;
    close(connection);
    ++(served == Served::kShare ? refused_->share : refused_->full);
    if (served == Served::kNoPlace) complaint.Say(EUSERS);
  }
}

}  // namespace baton::app
