// The gRPC service baton.v1.AdminService (proto/baton/v1/admin.proto). It checks callers, and
// passes their requests to Control.
//
// gRPC's threads call the service, which never blocks them. Most calls are answered by handlers
// that the service passes to Control. A handler may run on the node's loop, and encoding 100,000
// shards takes tens of milliseconds. So a thread of the service, the *encoding thread*, encodes
// statuses and lists of events.
//
// access::CallLimits and EventStreams refuse calls above their limits with RESOURCE_EXHAUSTED. The
// service has three more bounds with this error:
//  - At most kMaxQueuedStatuses calls wait for the encoding thread. Calls of callers with the role
//    kOperate have a second queue with the same bound. The thread serves the second queue first.
//  - UnreadAnswers bounds the bytes of answers that callers have not read. At this bound, calls for
//    statuses, shards, lists of events and plans of moves are refused. Callers with kOperate are
//    refused only at twice this bound.
//  - At most kMaxDiagnosesOfReaders examinations (Diagnose) for callers without kOperate run or
//    wait, for all these callers together.
// A caller with the role kAdmin also has the role kOperate (access::Includes).
#pragma once

#include <cstddef>
#include <memory>

#include <grpcpp/grpcpp.h>

#include "access/access.h"
#include "access/stream_places.h"
#include "baton/grpc.h"
#include "baton/result.h"
#include "runtime/admin/audit.h"
#include "runtime/admin/grpc_access.h"
#include "runtime/admin/unread_answers.h"
#include "runtime/control.h"

namespace baton::runtime {

/// The most calls in each of the two queues for the encoding thread.
inline constexpr std::size_t kMaxQueuedStatuses = 64;
/// The most examinations that run or wait for callers without the role kOperate.
inline constexpr int kMaxDiagnosesOfReaders = 2;

/// The service, with its counts. Several servers of the process may serve it at once.
class CountingAdminService : public baton::AdminService {
 public:
  /// The counts of answers that callers did not read. They may outlive the service.
  virtual std::shared_ptr<const UnreadCounts> unread() const = 0;
  /// The places of the streams of WatchEvents. They may outlive the service.
  virtual std::shared_ptr<const access::StreamPlaces> event_places() const = 0;
  /// The service. Register it with the builder of each further server. REQUIRES: the service
  /// outlives these servers.
  virtual grpc::Service& service() = 0;
};

/// Makes the service, and adds it to `builder`. Never returns null. Programs that embed a Node use
/// baton/grpc.h instead. `gate` decides who may call which method. Each call of Diagnose passes
/// `examine` to Control::Examine. The sinks in `audit` get each change that a caller asks for, also
/// each dry run. Without sinks, only the node's log has the changes. Throws std::system_error if
/// the host lacks threads. REQUIRES: called before BuildAndStart; `control` and the returned
/// service outlive the server.
std::unique_ptr<CountingAdminService> RegisterAdminService(grpc::ServerBuilder& builder,
                                                           Control& control, access::Gate gate,
                                                           ExamineRequest examine = {},
                                                           Audit::Sinks audit = {});

}  // namespace baton::runtime
