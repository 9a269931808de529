// baton.v1.AdminService on top of Control. It translates, checks callers, and never blocks.
//
// Calls arrive on gRPC's threads, and handlers that the service passes to Control answer most of
// them. These handlers may run on the node's loop, and encoding 100,000 shards takes tens of
// milliseconds. So the service encodes statuses and lists of events on a thread of its own, the
// encoding thread.
//
// The limits of access::CallLimits and EventStreams refuse calls with RESOURCE_EXHAUSTED. So do
// three more bounds:
//  - At most kMaxQueuedStatuses calls wait for the encoding thread. Callers with the role kOperate
//    have a queue of their own, with the same bound. The thread serves this queue first.
//  - UnreadAnswers bounds the bytes of the answers that callers have not read yet. At this bound,
//    calls for statuses, shards, lists of events and plans of moves are refused. Callers with the
//    role kOperate are refused only at twice this bound.
//  - Examinations (Diagnose) for callers without the role kOperate: at most kMaxDiagnosesOfReaders
//    of them run or wait, for all these callers together.
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

/// The bound of each of the two queues.
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
  /// Register this with the builder of each further server. REQUIRES: the service outlives these
  /// servers.
  virtual grpc::Service& service() = 0;
};

/// Makes the service, and adds it to `builder`. Never null. Programs that have a Node use
/// baton/grpc.h instead. `gate` decides who may call which method. Each call of Diagnose passes
/// `examine` to Control::Examine. The sinks in `audit` get each change that somebody asks for, also
/// in a dry run. If they are unset, only the node's log has the changes. Throws std::system_error
/// if the host lacks threads. REQUIRES: called before BuildAndStart; `control` and the returned
/// service outlive the server.
std::unique_ptr<CountingAdminService> RegisterAdminService(grpc::ServerBuilder& builder,
                                                           Control& control, access::Gate gate,
                                                           ExamineRequest examine = {},
                                                           Audit::Sinks audit = {});

}  // namespace baton::runtime
