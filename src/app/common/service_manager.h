// ServiceManager: reports this process's state to the service manager that started the process,
// such as systemd.
//
// It speaks the protocol of sd_notify(3): it sends assignments, as datagrams, to the unix socket
// that NOTIFY_SOCKET names. If there is no service manager, Say and Alive do nothing, and Say
// returns true. No function waits. Not thread-safe.
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
  /// Removes these variables from the environment, so that no child speaks for this process. So a
  /// second call finds no service manager. NOTIFY_SOCKET has an absolute path, or @ and an abstract
  /// name, of at most 107 bytes. With any other text there is no service manager. A WATCHDOG_USEC
  /// of more than 24 hours counts as 24 hours. REQUIRES (not checked): no other thread uses the
  /// environment.
  static ServiceManager OfEnvironment();

  /// Sends assignments, one a line, such as "READY=1". Returns false if the service manager's
  /// socket is full; then call this again later. Returns true in every other case, also if there is
  /// no service manager, or if nobody listens on its socket any more.
  bool Say(std::string_view assignments) const;

  /// Says that the process is alive. The first call sends "WATCHDOG=1". A later call sends it again
  /// if half of WATCHDOG_USEC has passed since it was sent last. So call this several times within
  /// half of WATCHDOG_USEC. If the socket is full, the next call tries again. Does nothing if
  /// WATCHDOG_USEC is not set or no whole number above 0, or if WATCHDOG_PID names another process.
  /// REQUIRES (not checked): `now` never goes back.
  void Alive(TimePoint now);

 private:
  ServiceManager(std::string address, Duration sign_of_life);

  const std::string address_;    ///< of the socket, with a null byte first if it is abstract
  const Duration sign_of_life_;  ///< the least time between two signs of life; 0: send no signs
  const OwnedDescriptor socket_;
  std::optional<TimePoint> last_sign_;
};

}  // namespace baton::app
