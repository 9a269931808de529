// ServiceManager: reports this process's state to the service manager that started the process,
// such as systemd.
//
// ServiceManager uses the protocol of sd_notify(3): it sends datagrams to the unix socket that
// NOTIFY_SOCKET names. If there is no service manager, Say and Alive do nothing, and Say returns
// true. No function waits. Not thread-safe.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "base/clock.h"
#include "base/owned_descriptor.h"

namespace baton::app {

class ServiceManager {
 public:
  /// Returns the service manager that NOTIFY_SOCKET, WATCHDOG_USEC and WATCHDOG_PID describe.
  /// Removes these variables from the environment, so that no child process uses them. So a second
  /// call finds no service manager. NOTIFY_SOCKET must be an absolute path, or '@' and an abstract
  /// name; 107 bytes at most. If it is anything else, there is no service manager. A WATCHDOG_USEC
  /// of more than 24 hours counts as 24 hours. REQUIRES (not checked): no other thread uses the
  /// environment.
  static ServiceManager OfEnvironment();

  /// Sends assignments, one a line, such as "READY=1". Returns false if the service manager's
  /// socket is full; then call Say again later. Returns true in all other cases, even if nobody
  /// listens on the socket any more.
  bool Say(std::string_view assignments) const;

  /// Says that the process is alive. The first call sends "WATCHDOG=1". A later call sends it again
  /// if half of WATCHDOG_USEC has passed since the last time. So call Alive several times within
  /// half of WATCHDOG_USEC. If the socket is full, the next call tries again. Does nothing if
  /// WATCHDOG_USEC is not a whole number above 0, or if WATCHDOG_PID is set and is not the id of
  /// this process. REQUIRES (not checked): `now` never goes back.
  void Alive(TimePoint now);

 private:
  ServiceManager(std::string address, Duration sign_of_life);

  const std::string address_;    ///< of the socket, with a null byte first if it is abstract
  const Duration sign_of_life_;  ///< the least time between two signs of life; 0: send no signs
  const OwnedDescriptor socket_;
  std::optional<TimePoint> last_sign_;
};

}  // namespace baton::app
