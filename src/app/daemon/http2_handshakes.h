// Http2Handshakes: connections whose clients have not acknowledged our HTTP/2 settings yet.
//
// gRPC 1.51 enforces its limits of calls and headers only once the client has acknowledged them,
// and a client that never does could begin any number of calls. So this object sends the settings
// itself, and gives a connection to the server only after the acknowledgement. It looks at a
// client's bytes without taking them: the server finds them all.
//
// The server sends the same settings again, and must not read the acknowledgement before that: it
// would count for nothing. So the server gets the connection with a closed gate: SO_RCVLOWAT is
// above all that the client has sent, so the connection does not look readable. The gate opens
// once the server has sent something. If a client sends so much meanwhile that the server reads all
// the same, its connection is shut down. On a kernel on which SO_RCVLOWAT holds nothing back
// there is no gate, and a warning at the start says so.
//
// It is not woken when bytes arrive, because the gate would hold for it, too. It looks again after
// pauses that grow.
//
// Not thread-safe.
#pragma once

#include <atomic>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <string>

#include "base/clock.h"

namespace baton::app {

class Http2Handshakes {
 public:
  /// A client that has not acknowledged by then is closed.
  static constexpr Duration kPatience = std::chrono::seconds(10);

  /// Takes over a connected socket.
  using Serve = std::function<void(int connection)>;

  explicit Http2Handshakes(Serve serve);
  /// Closes the connections that the server has not got.
  ~Http2Handshakes();
  Http2Handshakes(const Http2Handshakes&) = delete;
  Http2Handshakes& operator=(const Http2Handshakes&) = delete;

  /// Takes over a connection that does not block.
  void Begin(int connection, TimePoint now);
  /// Serves connections, opens gates and closes what is due. Returns when to call it again.
  TimePoint Advance(TimePoint now);
  /// The connections closed or shut down. It outlives this object. Any thread.
  std::shared_ptr<const std::atomic<std::uint64_t>> failed() const { return failed_; }

 private:
  struct Waiting {
    int descriptor = -1;  ///< of our own: the server may close its descriptor at any time
    TimePoint since{};
    bool served = false;   ///< the server has it, behind the gate
    std::size_t need = 0;  ///< bytes before which reading them again is of no use
  };
  enum class Verdict { kWait, kDone, kFail };

  Verdict Look(Waiting& waiting);
  Verdict LookAtClient(Waiting& waiting);
  Verdict LookAtServer(const Waiting& waiting);
  Verdict Hand(Waiting& waiting);

  const Serve serve_;
  const bool gates_;                           ///< whether the kernel holds bytes back
  std::string bytes_;                          ///< room for what a client has sent
  std::multimap<TimePoint, Waiting> waiting_;  ///< by the time of the next look
  const std::shared_ptr<std::atomic<std::uint64_t>> failed_ =
      std::make_shared<std::atomic<std::uint64_t>>(0);
};

}  // namespace baton::app
