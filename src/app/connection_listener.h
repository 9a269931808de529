// ConnectionListener: accepts connections, and hands them to whoever serves them.
//
// batond accepts gRPC's connections by itself: gRPC's own listener (1.51) gives its port up for
// good at the first connection that it can't accept because descriptors ran out, and it would take
// them until none is left for etcd; and when ten thousand idle clients leave at once, closing their
// connections holds its threads up for longer than a short lease. Here a client that comes when
// only reserved descriptors are left (see base/descriptors.h), or too many are in use, is
// closed at once; others are served again as soon as there is room, and a line says so, once a
// minute at most.
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
  /// Takes a connected socket, which is its own from then on. On the listener's thread.
  using Serve = std::function<void(int connection)>;

  struct Bounds {
    int most_descriptors = 0;  ///< in use by the process
    int kept = 0;              ///< besides the reserved ones, for others' connections
  };

  /// Listens on `socket`, which is bound and becomes its own. Where a bound is reached, clients are
  /// turned away. kUnavailable: another process took the port; `address` names it.
  static Result<std::unique_ptr<ConnectionListener>> Start(int socket, const std::string& address,
                                                           Bounds bounds, Serve serve);
  /// Nothing is handed over any more.
  ~ConnectionListener();
  ConnectionListener(const ConnectionListener&) = delete;
  ConnectionListener& operator=(const ConnectionListener&) = delete;

  /// How many were turned away so far. Outlives this object. Any thread.
  std::shared_ptr<const std::atomic<std::uint64_t>> refused() const { return refused_; }

 private:
  ConnectionListener(int socket, int wake, Bounds bounds, Serve serve);
  void Run();
  /// False: the end, within so many milliseconds (-1: however long it takes). Else there may be a
  /// connection, or the time has passed.
  bool Wait(bool connections, int milliseconds) const;

  const int socket_;
  const int wake_;  ///< readable: the end
  const Bounds bounds_;
  const Serve serve_;
  const std::shared_ptr<std::atomic<std::uint64_t>> refused_ =
      std::make_shared<std::atomic<std::uint64_t>>(0);
  std::thread thread_;
};

}  // namespace baton::app
