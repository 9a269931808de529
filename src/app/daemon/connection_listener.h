// ConnectionListener: accepts connections and hands them to a server.
//
// It closes a new connection at once in three cases: only reserved descriptors are left
// (base/descriptors.h), more descriptors are in use than Bounds allows, or Serve refuses the
// connection. It logs this at most once a minute. It accepts clients again as soon as there is
// room. If the system had no descriptor left at all, that is within 100 ms.
//
// batond accepts gRPC's connections itself, because gRPC's own listener (1.51) has two faults. If
// no descriptor is free for a new connection, it stops listening for good; until then it uses up
// the descriptors that etcd's connections need. And it has no limit: if ten thousand idle clients
// leave at once, gRPC's threads are busy for longer than a short lease.
//
// Start and destroy it on one thread. It has a thread of its own.
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

  /// Takes over a connected, non-blocking socket and returns true. Or returns false, and the
  /// listener closes the socket. The kernel keeps some 256 KiB of what the client does not read,
  /// and no more. `last_places`: few descriptors are left (see Bounds), so the server should take
  /// only clients that it prefers. Called on the listener's thread, which accepts nothing
  /// meanwhile.
  using Serve = std::function<bool(int connection, bool last_places)>;

  /// The kernel gives out the lowest free descriptor, so the number of a new descriptor shows how
  /// many are in use.
  struct Bounds {
    /// `last_places` is true if at least most_descriptors - kLastPlaces descriptors are in use, or
    /// if at most kLastPlaces are free besides the reserved ones. Every new connection is closed if
    /// at least most_descriptors + kept are in use.
    int most_descriptors = 0;
    int kept = 0;  ///< descriptors that are kept for HTTP connections, besides the reserved ones
  };

  /// Listens on `socket`, and owns it from now on, also if this fails. `address`: its name in
  /// errors. kUnavailable: it can't listen, for example because another process took the port; the
  /// message says why. REQUIRES: `socket` is bound.
  static Result<std::unique_ptr<ConnectionListener>> Start(int socket, const std::string& address,
                                                           Bounds bounds, Serve serve);
  /// Closes the listening socket, and waits for a `Serve` that runs. No `Serve` is called later.
  ~ConnectionListener();
  ConnectionListener(const ConnectionListener&) = delete;
  ConnectionListener& operator=(const ConnectionListener&) = delete;

  /// How many connections were closed at once so far. The count may outlive this object. Any
  /// thread.
  std::shared_ptr<const std::atomic<std::uint64_t>> refused() const { return refused_; }

 private:
  ConnectionListener(int socket, int wake, Bounds bounds, Serve serve);
  void Run();
  /// Waits for a connection, at most so many milliseconds (-1: without a bound). False if the
  /// listener ends.
  bool Wait(bool connections, int milliseconds) const;

  const int socket_;
  const int wake_;  ///< readable after the destructor has begun
  const Bounds bounds_;
  const Serve serve_;
  const std::shared_ptr<std::atomic<std::uint64_t>> refused_ =
      std::make_shared<std::atomic<std::uint64_t>>(0);
  std::thread thread_;
};

}  // namespace baton::app
