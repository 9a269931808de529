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

  /// Listens on `socket`, which is bound and becomes its own. With `most_descriptors` in use, or
  /// none left but reserved ones, clients are turned away. kUnavailable: another process took the
  /// port; `address` names it.
  static Result<std::unique_ptr<ConnectionListener>> Start(int socket, const std::string& address,
                                                           int most_descriptors, Serve serve);
  /// Nothing is handed over any more.
  ~ConnectionListener();
  ConnectionListener(const ConnectionListener&) = delete;
  ConnectionListener& operator=(const ConnectionListener&) = delete;

 private:
  ConnectionListener(int socket, int wake, int most_descriptors, Serve serve);
  void Run();
  /// False: the end, within so many milliseconds (-1: however long it takes). Else there may be a
  /// connection, or the time has passed.
  bool Wait(bool connections, int milliseconds) const;

  const int socket_;
  const int wake_;  ///< readable: the end
  const int most_descriptors_;
  const Serve serve_;
  std::thread thread_;
};

}  // namespace baton::app
