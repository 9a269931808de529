#include "app/daemon/http2_handshakes.h"

#include <fcntl.h>
#include <linux/tcp.h>
#include <netinet/in.h>
#include <poll.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <optional>
#include <utility>

#include "app/daemon/http2_greeting.h"
#include "base/log.h"

namespace baton::app {
namespace {

using std::chrono::milliseconds;

// Far above what a client may send before it is served.
constexpr int kGate = 8 * static_cast<int>(kMaxGreeting);

bool SetGate(int socket, int bytes) {
  return setsockopt(socket, SOL_SOCKET, SO_RCVLOWAT, &bytes, sizeof bytes) == 0;
}

/// A quarter of the connection's age, within bounds: most clients answer within a millisecond, and
/// those who are silent cost little.
Duration PauseAfter(Duration age) {
  return std::clamp<Duration>(age / 4, milliseconds(1), milliseconds(200));
}

/// The bytes that can be read now. Negative: the connection has failed.
int Readable(int socket) {
  int count = 0;
  return ioctl(socket, FIONREAD, &count) == 0 ? count : -1;
}

struct Traffic {
  std::uint64_t sent = 0;  ///< bytes
  bool taken = false;      ///< somebody has read what the client sent
};

/// Unset: the connection has failed, or bytes arrive faster than one can look.
std::optional<Traffic> TrafficOf(int socket) {
  constexpr int kLooks = 20;
  std::uint64_t received = 0;
  int readable = -1;
  for (int i = 0; i < kLooks; ++i) {
    tcp_info info{};
    socklen_t length = sizeof info;
    if (getsockopt(socket, IPPROTO_TCP, TCP_INFO, &info, &length) != 0) return std::nullopt;
    // Both numbers are of the same moment if nothing arrived between two looks. The end of a
    // stream counts as a byte.
    if (readable >= 0 && info.tcpi_bytes_received == received) {
      return Traffic{.sent = info.tcpi_bytes_sent,
                     .taken = received > static_cast<std::uint64_t>(readable) + 1};
    }
    received = info.tcpi_bytes_received;
    readable = Readable(socket);
    if (readable < 0) return std::nullopt;
  }
  return std::nullopt;
}

/// Tries the gate on a connection of its own.
bool KernelGates() {
  const int listener = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
  sockaddr_in name{};
  name.sin_family = AF_INET;
  name.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  socklen_t length = sizeof name;
  auto* const address = reinterpret_cast<sockaddr*>(&name);
  const bool listens = bind(listener, address, length) == 0 && listen(listener, 1) == 0 &&
                       getsockname(listener, address, &length) == 0;
  const int client = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
  const bool connected = listens && connect(client, address, length) == 0;
  const int served = connected ? accept4(listener, nullptr, nullptr, SOCK_CLOEXEC) : -1;
  pollfd wanted{.fd = served, .events = POLLIN, .revents = 0};
  const bool holds = served >= 0 && SetGate(served, kGate) && send(client, "x", 1, 0) == 1 &&
                     poll(&wanted, 1, 20) == 0;
  const bool opens = holds && SetGate(served, 1) && poll(&wanted, 1, 1000) == 1;
  for (const int one : {listener, client, served}) {
    if (one >= 0) close(one);
  }
  return opens;
}

}  // namespace

Http2Handshakes::Http2Handshakes(Serve serve)
    : serve_(std::move(serve)), gates_(KernelGates()), bytes_(kMaxGreeting, '\0') {
  if (gates_) return;
  log::Warn("gRPC callers may begin any number of calls: SO_RCVLOWAT does not work here");
}

Http2Handshakes::~Http2Handshakes() {
  for (const auto& [next, waiting] : waiting_) close(waiting.descriptor);
}

void Http2Handshakes::Begin(int connection, TimePoint now) {
  const std::string settings = SettingsFrame();
  send(connection, settings.data(), settings.size(), MSG_NOSIGNAL);  // a failure shows later
  waiting_.emplace(now + PauseAfter(Duration{0}), Waiting{.descriptor = connection, .since = now});
}

TimePoint Http2Handshakes::Advance(TimePoint now) {
  while (!waiting_.empty() && waiting_.begin()->first <= now) {
    auto entry = waiting_.extract(waiting_.begin());
    Waiting& waiting = entry.mapped();
    Verdict verdict = Look(waiting);
    if (verdict == Verdict::kWait && now - waiting.since >= kPatience) verdict = Verdict::kFail;
    if (verdict == Verdict::kWait) {
      entry.key() = now + PauseAfter(waiting.served ? Duration{0} : now - waiting.since);
      waiting_.insert(std::move(entry));
      continue;
    }
    if (verdict == Verdict::kFail) {
      ++*failed_;
      shutdown(waiting.descriptor, SHUT_RDWR);
    }
    if (waiting.descriptor >= 0) close(waiting.descriptor);
  }
  return waiting_.empty() ? TimePoint::max() : waiting_.begin()->first;
}

Http2Handshakes::Verdict Http2Handshakes::Look(Waiting& waiting) {
  return waiting.served ? LookAtServer(waiting) : LookAtClient(waiting);
}

Http2Handshakes::Verdict Http2Handshakes::LookAtClient(Waiting& waiting) {
  const int readable = Readable(waiting.descriptor);
  if (readable < 0 || readable > static_cast<int>(kMaxGreeting)) return Verdict::kFail;
  if (readable > 0 && static_cast<std::size_t>(readable) < waiting.need) return Verdict::kWait;
  const ssize_t got =
      recv(waiting.descriptor, bytes_.data(), bytes_.size(), MSG_PEEK | MSG_DONTWAIT);
  if (got < 0 && (errno == EAGAIN || errno == EWOULDBLOCK)) return Verdict::kWait;
  if (got <= 0) return Verdict::kFail;
  const GreetingSoFar greeting = ReadGreeting({bytes_.data(), static_cast<std::size_t>(got)});
  waiting.need = greeting.need;
  switch (greeting.state) {
    case Greeting::kIncomplete: return Verdict::kWait;
    case Greeting::kForeign: return Verdict::kFail;
    case Greeting::kAcknowledged: break;
  }
  return Hand(waiting);
}

/// Gives the connection to the server, behind the gate.
Http2Handshakes::Verdict Http2Handshakes::Hand(Waiting& waiting) {
  const int connection = waiting.descriptor;
  if (!gates_) {
    waiting.descriptor = -1;
    serve_(connection);
    return Verdict::kDone;
  }
  const int own = fcntl(connection, F_DUPFD_CLOEXEC, 0);
  if (own < 0 || !SetGate(connection, kGate)) {
    if (own >= 0) close(own);
    return Verdict::kFail;
  }
  waiting.descriptor = own;
  waiting.served = true;
  serve_(connection);
  return LookAtServer(waiting);  // it has mostly sent its settings by now
}

Http2Handshakes::Verdict Http2Handshakes::LookAtServer(const Waiting& waiting) {
  const auto traffic = TrafficOf(waiting.descriptor);
  if (!traffic || traffic->taken) return Verdict::kFail;
  if (traffic->sent <= SettingsFrame().size()) return Verdict::kWait;
  return SetGate(waiting.descriptor, 1) ? Verdict::kDone : Verdict::kFail;
}

}  // namespace baton::app
