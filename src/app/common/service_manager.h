// ServiceManager: tells the service manager that started this process, such as systemd, how the
// process is.
//
// It speaks the protocol of sd_notify(3): datagrams of assignments to the unix socket that
// NOTIFY_SOCKET names. Without that variable there is nobody to tell, and nothing fails. No
// function waits. Not thread-safe.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "base/clock.h"
#include "base/owned_descriptor.h"

namespace baton::app {

class ServiceManager {
 public:
  /// The one that NOTIFY_SOCKET, WATCHDOG_USEC and WATCHDOG_PID name, which this takes out of the
  /// environment: no child is to speak for this process. A socket of an unknown kind counts as
  /// none. REQUIRES: no other thread uses the environment.
  static ServiceManager OfEnvironment();

  /// Sends assignments, one a line, such as "READY=1". False: it has no room for them now, so say
  /// them again. True also if there is nobody to tell, or the service manager is gone.
  bool Say(std::string_view assignments) const;

  /// The process is alive. Sends "WATCHDOG=1" twice in each time of WATCHDOG_USEC, if that is
  /// given: call it more often. REQUIRES: `now` is not before that of the last call.
  void Alive(TimePoint now);

 private:
  ServiceManager(std::string address, Duration sign_of_life);

  const std::string address_;    ///< of the socket, with a null byte first if it is abstract
  const Duration sign_of_life_;  ///< the pause between two; 0: nobody asks for them
  const OwnedDescriptor socket_;
  std::optional<TimePoint> last_sign_;
};

}  // namespace baton::app
