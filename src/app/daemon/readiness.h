// Readiness: shows to other programs whether this process is ready: by gRPC's health service, the
// ready file, and the service manager.
//
// One thread at a time. No function waits, except for the file system.
#pragma once

#include <chrono>
#include <string>

#include <grpcpp/health_check_service_interface.h>

#include "app/common/service_manager.h"
#include "app/daemon/ready_file.h"
#include "base/clock.h"
#include "runtime/control.h"

namespace baton::app {

class Readiness {
 public:
  /// Removes the file that an earlier process left at `ready_file` (empty: there is none), and
  /// takes the service manager's variables: see ServiceManager::OfEnvironment.
  explicit Readiness(std::string ready_file);

  /// The process serves, and may be ready from now on. REQUIRES: called once; `health` answers "not
  /// serving" now; it outlives the calls of Look and Leave.
  void Serve(grpc::HealthCheckServiceInterface& health, ReadyContent content);
  /// Checks whether the node or relay is ready and alive, and passes changes and signs of life on.
  /// When it is ready for the first time, writes the ready file; if that fails, the log says so.
  /// Call it several times a second. REQUIRES: Serve was called.
  void Look(const runtime::Control& control, TimePoint now);
  /// The process begins to leave, and ends within about this time. It is not ready from now on.
  /// REQUIRES: Serve was called, and Look is not called again.
  void Leave(std::chrono::milliseconds within);

 private:
  void TellManager();

  ServiceManager manager_ = ServiceManager::OfEnvironment();
  ReadyFile file_;
  ReadyContent content_;
  grpc::HealthCheckServiceInterface* health_ = nullptr;
  bool serving_ = false;  ///< the health service's answer
  bool was_ready_ = false;
  bool manager_knows_ = true;  ///< what is to be said now
};

}  // namespace baton::app
