// Readiness: shows other programs whether this process is ready, by gRPC's health services, the
// ready file (ready_file.h), and the service manager, for example systemd.
//
// One thread at a time. The functions wait only for the file system.
#pragma once

#include <chrono>
#include <string>
#include <vector>

#include <grpcpp/health_check_service_interface.h>

#include "app/common/service_manager.h"
#include "app/daemon/ready_file.h"
#include "base/clock.h"
#include "runtime/control.h"

namespace baton::app {

class Readiness {
 public:
  /// Removes the file that an earlier process left at `ready_file`. Empty: no ready file. Takes the
  /// service manager's variables out of the environment: see ServiceManager::OfEnvironment.
  explicit Readiness(std::string ready_file);

  /// Says that the process serves; from now on it may be ready. `health`: the health services of
  /// all servers. `content`: for the ready file. REQUIRES (not checked): called once; each of
  /// `health` answers "not serving" now, and outlives the calls of Look and Leave.
  void Serve(std::vector<grpc::HealthCheckServiceInterface*> health, ReadyContent content);
  /// Checks whether the node or relay is ready, and passes a change on to the health services and
  /// the service manager. If the node or relay is alive, gives the service manager a sign of life.
  /// When the node is ready for the first time, writes the ready file. If this write fails, the log
  /// says so, and nobody tries again. Call Look several times a second. REQUIRES (not checked):
  /// Serve was called; `now` never goes back.
  void Look(const runtime::Control& control, TimePoint now);
  /// Says that the process begins to leave, and ends within about this time. From now on the
  /// process is not ready, and the ready file is removed. If the service manager's socket is full,
  /// it does not get the message. REQUIRES (not checked): Serve was called, and Look will not be
  /// called.
  void Leave(std::chrono::milliseconds within);

 private:
  void TellManager();
  void SetHealth(bool serving);

  ServiceManager manager_ = ServiceManager::OfEnvironment();
  ReadyFile file_;
  ReadyContent content_;
  std::vector<grpc::HealthCheckServiceInterface*> health_;
  bool serving_ = false;  ///< the health services' answer
  bool was_ready_ = false;
  bool manager_knows_ = true;  ///< false: the service manager has not got the newest state
};

}  // namespace baton::app
