// Floods: users without any right who send as fast as they can, for tests.
#pragma once

#include <poll.h>

#include <atomic>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "e2e/http2.h"
#include "e2e/socket.h"

namespace baton::e2e {

/// The first of many users of this host who have no right.
inline constexpr uid_t kSomebody = 61'234;

inline std::string Repeated(const std::string& frame, std::size_t bytes) {
  std::string frames;
  while (frames.size() < bytes) frames += frame;
  return frames;
}

/// The bytes that a connection sends next; `number` counts its parts.
using Part = std::function<std::string(std::uint32_t number)>;

/// PRIORITY frames, which no flow control holds back, a MiB at a time.
inline Part CheapFrames() {
  return [frames = Repeated(FrameOf({kPriority, 0, 1}, std::string(5, '\0')), 1 << 20)](
             std::uint32_t) { return frames; };
}

/// Bytes that cost gRPC far more than others.
inline Part Pings() {
  return [pings = Repeated(FrameOf({kPing}, std::string(8, 'x')), 1 << 18)](std::uint32_t) {
    return pings;
  };
}
inline Part AHeaderInPieces() {
  const std::string long_value("\0\5x-pad\x7F\x81\xFF\xFF\x1F", 12);  // of 64 MiB
  return [begin = FrameOf({kHeaders, 0, 1}, long_value),
          pieces = Repeated(FrameOf({kContinuation, 0, 1}, std::string(64, 'a')), 1 << 18)](
             std::uint32_t n) { return n == 0 ? begin : pieces; };
}
/// A header of 3 MiB that does not end. gRPC copies all of it for each piece that follows.
inline Part AHugeHeaderThenPieces() {
  const std::string long_value("\0\5x-pad\x7F\x81\xFF\xFF\x1F", 12);  // of 64 MiB
  return [begin = FrameOf({kHeaders, 0, 1}, long_value) +
                  Repeated(FrameOf({kContinuation, 0, 1}, std::string(16 << 10, 'a')), 3 << 20),
          pieces = Repeated(FrameOf({kContinuation, 0, 1}, "a"), 100'000)](std::uint32_t n) {
    return n == 0 ? begin : pieces;
  };
}
/// Each costs memory for as long as its connection lasts.
inline Part CallsThatDontEnd() {
  return [](std::uint32_t n) {
    std::string calls;
    for (std::uint32_t i = 1'000 * n; i < 1'000 * (n + 1); ++i) calls += CallOf(i);
    return calls;
  };
}
/// Each costs memory.
inline Part CallsThatAreReset() {
  return [](std::uint32_t n) {
    std::string calls;
    for (std::uint32_t i = 1'000 * n; i < 1'000 * (n + 1); ++i) {
      calls += CallOf(i) + FrameOf({kReset, 0, 1 + 2 * i}, std::string("\0\0\0\x08", 4));
    }
    return calls;
  };
}

struct FloodOptions {
  Part part = {};
  std::uint32_t parts_by_connection = UINT32_MAX;
  bool fresh_users = false;  ///< each connection is one of another user
};

/// Eight users at once send parts to a port, as fast as they can, and connect again whenever their
/// connection ends. REQUIRES: this process is root's.
class Flood {
 public:
  static constexpr int kUsers = 8;

  Flood(std::uint16_t port, FloodOptions options) : port_(port), options_(std::move(options)) {
    for (uid_t i = 0; i < kUsers; ++i) {
      users_.emplace_back([this, user = kSomebody + i](const std::stop_token& stop) {
        for (uid_t n = 0; !stop.stop_requested(); ++n) {
          Connect(options_.fresh_users ? user + kUsers * n : user, stop);
        }
      });
    }
  }

  /// Connections that the other side has served, and ended while their users went on sending.
  int cut_off() const { return cut_off_; }

 private:
  void Connect(uid_t user, const std::stop_token& stop) {
    const Socket socket = ConnectAs(user, port_);
    socket.LimitSend(std::chrono::seconds(1));
    bool open = socket.Send(Http2Greeting());
    pollfd greeted{.fd = socket.descriptor(), .events = POLLIN, .revents = 0};
    poll(&greeted, 1, 1'000);  // bounded: what is not accepted is not greeted
    const bool served = socket.Heard();
    for (std::uint32_t n = 0; open && n < options_.parts_by_connection && !stop.stop_requested();
         ++n) {
      open = socket.Send(options_.part(n));
    }
    if (served && !open && socket.Refused()) ++cut_off_;
  }

  const std::uint16_t port_;
  const FloodOptions options_;
  std::atomic<int> cut_off_{0};
  std::vector<std::jthread> users_;
};

}  // namespace baton::e2e
