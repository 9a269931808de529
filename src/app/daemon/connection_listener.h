// ConnectionListener: accepts connections and hands them to a server.
//
// It closes a new connection at once in three cases: only reserved descriptors are left
// (base/descriptors.h), more descriptors are in use than Bounds allows, or Serve refuses the
// connection. If there is no place, it logs this at most once a minute. It accepts clients again as
// soon as there is room. If the system had no descriptor left at all, that is within 100 ms.
//
// batond accepts gRPC's connections itself, because gRPC's own listener (1.51) has two faults. If
// no descriptor is free for a new connection, it stops listening for good; until then it uses up
// the descriptors that etcd's connections need. And it has no limit: if ten thousand idle clients
// leave at once, gRPC's threads are busy for longer than a short lease.
//
// Start and destroy it on one thread. It has a thread of its own.
#pragma once

#include <atomic>
#include <chrono>
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
  static constexpr std::chrono::milliseconds kWeighEvery{100};

  enum class Served : std::uint8_t {
    kTaken,    ///< the server has taken the socket over
    kNoPlace,  ///< refused: there is no place for this client; the listener closes the socket
    kShare,    ///< refused: this client has its share of the places; the listener closes the socket
  };
  /// Takes over a connected, non-blocking socket, or refuses it. The kernel keeps some 256 KiB of
  /// what the client does not read, and no more. `free`: how many places are left for clients that
  /// the server does not prefer, with this one's; 0 or less: it should take only those that it
  /// prefers. Called on the listener's thread, which accepts nothing meanwhile.
  using Serve = std::function<Served(int connection, int free)>;

  /// The server. Both are called on the listener's thread.
  struct Server {
    Serve serve;
    /// Ends connections that cost too much, and returns how many. Called every kWeighEvery once a
    /// connection was taken; more rarely if it would take more than a twentieth of the time. May be
    /// empty.
    std::function<int()> weigh = {};
  };

  /// The kernel gives out the lowest free descriptor, so the number of a new descriptor shows how
  /// many are in use.
  struct Bounds {
    /// Clients that the server does not prefer have places up to kLastPlaces below this number, or
    /// below the first reserved descriptor, if that is less. If this number plus `kept` or more are
    /// in use, every new connection is closed.
    int most_descriptors = 0;
    int kept = 0;  ///< descriptors that are kept for HTTP connections, besides the reserved ones
  };

  /// Listens on `socket`, and owns it from now on, also if this fails. `address`: its name in
  /// errors. kUnavailable: it can't listen, for example because another process took the port; the
  /// message says why. REQUIRES: `socket` is bound.
  static Result<std::unique_ptr<ConnectionListener>> Start(int socket, const std::string& address,
                                                           Bounds bounds, Server server);
  /// Closes the listening socket, and waits for a call of the server that runs. None is made later.
  ~ConnectionListener();
  ConnectionListener(const ConnectionListener&) = delete;
  ConnectionListener& operator=(const ConnectionListener&) = delete;

  /// How many connections were closed so far.
  struct Refused {
    std::atomic<std::uint64_t> full{0};   ///< for want of a place
    std::atomic<std::uint64_t> share{0};  ///< Served::kShare
    std::atomic<std::uint64_t> ended{0};  ///< not at once, but by Server::weigh
  };
  /// The counts may outlive this object. Any thread.
  std::shared_ptr<const Refused> refused() const { return refused_; }

 private:
  ConnectionListener(int socket, int wake, Bounds bounds, Server server);
  void Run();
  /// Waits for a connection, at most so many milliseconds (-1: without a bound). False if the
  /// listener ends.
  bool Wait(bool connections, int milliseconds) const;

  const int socket_;
  const int wake_;  ///< readable after the destructor has begun
  const Bounds bounds_;
  const Server server_;
  const std::shared_ptr<Refused> refused_ = std::make_shared<Refused>();
  std::thread thread_;
};

}  // namespace baton::app
