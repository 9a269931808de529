// Readiness: shows other programs whether this process is ready. It uses gRPC's health services,
// the ready file, and the service manager.
//
// One thread at a time. No function waits, except for the file system.
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
  /// Removes the file that an earlier process left at `ready_file` (empty: no ready file), and
  /// takes the service manager's variables: see ServiceManager::OfEnvironment.
  explicit Readiness(std::string ready_file);

  /// Says that the process serves, and may be ready from now on. `health`: the health services of
  /// all servers. `content`: for the ready file. REQUIRES: called once; each of `health` answers
  /// "not serving" now, and outlives the calls of Look and Leave.
  void Serve(std::vector<grpc::HealthCheckServiceInterface*> health, ReadyContent content);
  /// Checks whether the node or relay is ready and alive. Passes a change on to the health services
  /// and the service manager, and a sign of life to the service manager. When the node is ready for
  /// the first time, writes the ready file; if that fails, the log says so, and nobody tries again.
  /// Call it several times a second. REQUIRES: Serve was called; `now` never goes back.
  void Look(const runtime::Control& control, TimePoint now);
  /// Says that the process begins to leave, and ends within about this time. From now on the
  /// process is not ready, and the ready file is removed. The message to the service manager is
  /// lost if its socket is full. REQUIRES: Serve was called, and Look is not called again.
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
