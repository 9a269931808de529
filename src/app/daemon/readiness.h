// Readiness: tells those outside who wait for it whether the process is ready: gRPC's health
// service, the ready file, and the service manager.
//
// Used by one thread.
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

  /// The process serves, and may be ready from now on. `health` says that it is not, and has to
  /// outlive the calls of Look and Leave.
  void Serve(grpc::HealthCheckServiceInterface& health, ReadyContent content);
  /// Looks once at the node or relay and tells what changed. REQUIRES: Serve was called.
  void Look(const runtime::Control& control, TimePoint now);
  /// The process leaves, within about this time. From now on it is not ready. REQUIRES: Serve was
  /// called.
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
