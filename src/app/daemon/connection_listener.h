// ConnectionListener: accepts connections and hands them to a server.
//
// batond accepts gRPC's connections itself, because gRPC's own listener (1.51) has two faults. It
// gives its port up for good at the first connection that it can't accept for want of descriptors,
// and until then it takes the descriptors that etcd's connections need. And when ten thousand idle
// clients leave at once, closing their connections keeps gRPC's threads busy for longer than a
// short lease. This listener closes a new connection at once if only reserved descriptors are left
// (see base/descriptors.h) or too many are in use. The last kLastPlaces before that are for clients
// whom the server prefers. It serves clients again as soon as there is room, within 100 ms if the
// system itself had no descriptor. It logs that clients are turned away, at most once a minute.
#pragma once

#include <atomic>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <thread>

#include "baton/result.h"

namespace baton::app {

class ConnectionListener {
 public:
  static constexpr int kLastPlaces = 16;

  /// Takes over a connected socket, or returns false: the listener closes it, as one too many.
  /// `last_places`: kLastPlaces or fewer are free below the bounds. Called on the listener's
  /// thread, which accepts nothing meanwhile. The socket does not block.
  using Serve = std::function<bool(int connection, bool last_places)>;

  struct Bounds {
    /// From this many descriptors in use on, only clients whom the server prefers get in, up to
    /// `kept` more: other connections may use some of the first ones.
    int most_descriptors = 0;
    int kept = 0;  ///< how many are kept for other connections, besides the reserved ones
  };

  /// Listens on `socket`, which is bound; the listener owns it from then on, and closes it if this
  /// fails. `address` names it in errors. kUnavailable: it can't listen, for example because
  /// another process took the port; the message says why.
  static Result<std::unique_ptr<ConnectionListener>> Start(int socket, const std::string& address,
                                                           Bounds bounds, Serve serve);
  /// Ends: no connection is handed over after this. It waits for a `Serve` that runs.
  ~ConnectionListener();
  ConnectionListener(const ConnectionListener&) = delete;
  ConnectionListener& operator=(const ConnectionListener&) = delete;

  /// The count of clients turned away so far. It outlives this object. Any thread.
  std::shared_ptr<const std::atomic<std::uint64_t>> refused() const { return refused_; }

 private:
  ConnectionListener(int socket, int wake, Bounds bounds, Serve serve);
  void Run();
  /// Waits for a connection, at most so many milliseconds (-1: without a bound). False if the
  /// listener ends.
  bool Wait(bool connections, int milliseconds) const;

  const int socket_;
  const int wake_;  ///< readable once the listener ends
  const Bounds bounds_;
  const Serve serve_;
  const std::shared_ptr<std::atomic<std::uint64_t>> refused_ =
      std::make_shared<std::atomic<std::uint64_t>>(0);
  std::thread thread_;
};

}  // namespace baton::app
