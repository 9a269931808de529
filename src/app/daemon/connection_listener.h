// ConnectionListener: accepts connections and hands them to a server.
//
// The listener closes a new connection at once in three cases:
//  - Only reserved descriptors are left (base/descriptors.h).
//  - More descriptors are in use than Bounds allows.
//  - Serve refuses the connection.
// The log says so at most once a minute. It says nothing about Served::kShare. The listener accepts
// clients again as soon as there is room. If accepting fails, for example because the system has no
// descriptor left, new connections wait. Then the listener tries again every 100 ms.
//
// gRPC's own listener (1.51) is not used; docs/decisions/20-batond-accepts-connections-itself.md
// says why.
//
// Start and destroy the listener on one thread. It has a thread of its own.
#pragma once

#include <atomic>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <thread>

#include "base/owned_descriptor.h"
#include "baton/result.h"

namespace baton::app {

class ConnectionListener {
 public:
  /// How many places are kept for clients that the server prefers. A place is a descriptor that a
  /// connection may use.
  static constexpr int kLastPlaces = 16;

  enum class Served : std::uint8_t {
    kTaken,    ///< the server has taken the socket over
    kNoPlace,  ///< refused: there is no place for this client; the listener closes the socket
    kShare,    ///< refused: this client has its share of the places; the listener closes the socket
  };
  /// Takes over a connected, non-blocking socket, or refuses it. Called on the listener's thread,
  /// which accepts nothing meanwhile. `free`: how many places are left for clients that the server
  /// does not prefer, including the place of this connection. If `free` is 0 or less, `Serve`
  /// should take only clients that the server prefers. For each socket, the kernel keeps some 256
  /// KiB that the client has not read, and 32 KiB that the server has not read.
  using Serve = std::function<Served(int connection, int free)>;

  /// Bounds of the descriptors that this process has in use. (The kernel gives out the lowest free
  /// descriptor. So the number of a new descriptor shows how many are in use.)
  struct Bounds {
    /// If this many descriptors plus `kept` are in use, every new connection is closed. For clients
    /// that the server does not prefer, the limit is lower: the smaller of this number and the
    /// first reserved descriptor, minus kLastPlaces.
    int most_descriptors = 0;
    int kept = 0;  ///< descriptors that are kept for HTTP connections, besides the reserved ones
  };

  /// Listens on `socket`, and owns it from now on, even after an error. `address` names the socket
  /// in errors. kUnavailable: the listener can't listen, for example because another process took
  /// the port, or the host lacks threads; the message says why. REQUIRES (not checked): `socket` is
  /// bound; `serve` is set.
  static Result<std::unique_ptr<ConnectionListener>> Start(int socket, const std::string& address,
                                                           Bounds bounds, Serve serve);
  /// Closes the listening socket, and waits for a `Serve` that runs. No `Serve` is called later.
  ~ConnectionListener();
  ConnectionListener(const ConnectionListener&) = delete;
  ConnectionListener& operator=(const ConnectionListener&) = delete;

  /// How many connections were closed at once so far.
  struct Refused {
    /// Connections for which there was no place. Each failed try to accept a connection counts,
    /// too; that connection goes on waiting.
    std::atomic<std::uint64_t> full{0};
    std::atomic<std::uint64_t> share{0};  ///< Served::kShare
  };
  /// The counts may outlive this object. Any thread.
  std::shared_ptr<const Refused> refused() const { return refused_; }

 private:
  ConnectionListener(OwnedDescriptor socket, OwnedDescriptor wake, Bounds bounds, Serve serve);
  void Run();
  /// Waits for a connection (if `connections`) or the listener's end, but at most this long; -1:
  /// without a bound. Returns false if the listener ends.
  bool Wait(bool connections, int milliseconds) const;

  const OwnedDescriptor socket_;
  const OwnedDescriptor wake_;  ///< readable after the destructor has begun
  const Bounds bounds_;
  const Serve serve_;
  const std::shared_ptr<Refused> refused_ = std::make_shared<Refused>();
  std::thread thread_;
};

}  // namespace baton::app
