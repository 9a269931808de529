// ConnectionListener: accepts connections and hands them to a server.
//
// It closes a new connection at once in three cases: only reserved descriptors are left
// (base/descriptors.h), more descriptors are in use than Bounds allows, or Serve refuses the
// connection. The log says so at most once a minute; it says nothing about Served::kShare. The
// listener accepts clients again as soon as there is room. If accepting fails, for example because
// the system has no descriptor left at all, new connections wait, and the listener tries again
// every 100 ms.
//
// batond accepts gRPC's connections itself, because gRPC's own listener (1.51) has two faults.
// First, if no descriptor is free for a new connection, gRPC's listener stops listening for good.
// Until then, it uses up the descriptors that etcd's connections need. Second, it has no limit. If
// ten thousand idle clients leave at once, gRPC's threads are busy for longer than a short lease.
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
  /// How many of the last places are only for clients that the server prefers. A place is a
  /// descriptor that a connection may use.
  static constexpr int kLastPlaces = 16;

  enum class Served : std::uint8_t {
    kTaken,    ///< the server has taken the socket over
    kNoPlace,  ///< refused: there is no place for this client; the listener closes the socket
    kShare,    ///< refused: this client has its share of the places; the listener closes the socket
  };
  /// Takes over a connected, non-blocking socket, or refuses it. For such a socket, the kernel
  /// keeps some 256 KiB of what the client does not read, and 32 KiB of what the server has not
  /// read. `free`: how many places are left for clients that the server does not prefer, including
  /// the place of this connection. 0 or less: only a client that the server prefers should be
  /// taken. Called on the listener's thread, which accepts nothing meanwhile.
  using Serve = std::function<Served(int connection, int free)>;

  /// Bounds of the descriptors that this process has in use. The kernel gives out the lowest free
  /// descriptor, so the number of a new one shows how many are in use.
  struct Bounds {
    /// If this many descriptors plus `kept` are in use, every new connection is closed. For clients
    /// that the server does not prefer, the limit is lower: it is this number (or the first
    /// reserved descriptor if that is lower) minus kLastPlaces.
    int most_descriptors = 0;
    int kept = 0;  ///< descriptors that are kept for HTTP connections, besides the reserved ones
  };

  /// Listens on `socket`, and owns it from now on, also after an error. `address` names the socket
  /// in errors. kUnavailable: the listener can't listen, for example because another process took
  /// the port; the message says why. REQUIRES: `socket` is bound; `serve` is set (not checked).
  static Result<std::unique_ptr<ConnectionListener>> Start(int socket, const std::string& address,
                                                           Bounds bounds, Serve serve);
  /// Closes the listening socket, and waits for a `Serve` that runs. No `Serve` is called later.
  ~ConnectionListener();
  ConnectionListener(const ConnectionListener&) = delete;
  ConnectionListener& operator=(const ConnectionListener&) = delete;

  /// How many connections were closed at once so far.
  struct Refused {
    /// Connections for which there was no place. Each failed try to accept a connection counts,
    /// too, for example if there was no descriptor; the connection goes on waiting then.
    std::atomic<std::uint64_t> full{0};
    std::atomic<std::uint64_t> share{0};  ///< Served::kShare
  };
  /// The counts may outlive this object. Any thread.
  std::shared_ptr<const Refused> refused() const { return refused_; }

 private:
  ConnectionListener(int socket, int wake, Bounds bounds, Serve serve);
  void Run();
  /// Waits for a connection (if `connections`) or the listener's end, but at most this long; -1:
  /// without a bound. Returns false if the listener ends.
  bool Wait(bool connections, int milliseconds) const;

  const int socket_;
  const int wake_;  ///< readable after the destructor has begun
  const Bounds bounds_;
  const Serve serve_;
  const std::shared_ptr<Refused> refused_ = std::make_shared<Refused>();
  std::thread thread_;
};

}  // namespace baton::app
