// ServiceManager: reports this process's state to the service manager that started the process,
// such as systemd.
//
// It speaks the protocol of sd_notify(3): it sends datagrams of assignments to the unix socket that
// NOTIFY_SOCKET names. Without that variable, the functions do nothing and succeed. No function
// waits. Not thread-safe.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "base/clock.h"
#include "base/owned_descriptor.h"

namespace baton::app {

class ServiceManager {
 public:
  /// Returns the service manager that NOTIFY_SOCKET, WATCHDOG_USEC and WATCHDOG_PID describe, and
  /// removes these variables from the environment, so that no child speaks for this process; a
  /// second call finds no service manager. NOTIFY_SOCKET has an absolute path, or @ and an abstract
  /// name; any other text counts as no service manager. REQUIRES: no other thread uses the
  /// environment.
  static ServiceManager OfEnvironment();

  /// Sends assignments, one a line, such as "READY=1". False: the service manager's socket is full,
  /// so call this again later. True in every other case, also if there is no service manager, or it
  /// is gone.
  bool Say(std::string_view assignments) const;

  /// Says that the process is alive: sends "WATCHDOG=1" at the first call, and later whenever half
  /// of WATCHDOG_USEC has passed since the last one was sent. So call it several times within that
  /// half. If the socket is full, the next call tries again. Does nothing without WATCHDOG_USEC, or
  /// if WATCHDOG_PID names another process. REQUIRES: `now` never goes back.
  void Alive(TimePoint now);

 private:
  ServiceManager(std::string address, Duration sign_of_life);

  const std::string address_;    ///< of the socket, with a null byte first if it is abstract
  const Duration sign_of_life_;  ///< the least time between two; 0: send none
  const OwnedDescriptor socket_;
  std::optional<TimePoint> last_sign_;
};

}  // namespace baton::app
