// baton.v1.AdminService on top of Control. It translates, checks callers, and never blocks.
//
// Calls arrive on gRPC's threads; Control's handlers answer them. A handler may run on the node's
// loop, and encoding 100,000 shards takes tens of milliseconds. So the service encodes statuses and
// lists of events on a thread of its own.
//
// Besides access::CallLimits and EventStreams, three bounds refuse calls with RESOURCE_EXHAUSTED:
//  - At most kMaxQueuedStatuses calls wait for this thread. Callers with the role kOperate have a
//    queue of their own, with the same bound, and the thread serves it first.
//  - Answers that callers have not read yet may take a number of bytes together (UnreadAnswers).
//    Calls of callers with the role kOperate are refused only at twice that number.
//  - All callers without the role kOperate together may have kMaxDiagnosesOfReaders examinations
//    (Diagnose) that run or wait.
// Here kAdmin counts as kOperate, too (access::Includes).
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

/// The service, with its counts. It may have several servers.
class CountingAdminService : public baton::AdminService {
 public:
  /// The counts. They may outlive the service.
  virtual std::shared_ptr<const UnreadCounts> unread() const = 0;
  /// The places of the streams of WatchEvents. They, too, may outlive the service.
  virtual std::shared_ptr<const access::StreamPlaces> event_places() const = 0;
  /// For a further server's builder.
  virtual grpc::Service& service() = 0;
};

/// Makes the service, and adds it to `builder`. Never null. Programs that have a Node use
/// baton/grpc.h instead. Each call of Diagnose passes `examine` to Control::Examine. `audit` gets
/// each change that somebody asks for; if its sinks are unset, only the node's log has the changes.
/// Throws std::system_error if the host lacks threads. REQUIRES: `control` and the returned service
/// outlive the server.
std::unique_ptr<CountingAdminService> RegisterAdminService(grpc::ServerBuilder& builder,
                                                           Control& control, access::Gate gate,
                                                           ExamineRequest examine = {},
                                                           Audit::Sinks audit = {});

}  // namespace baton::runtime
