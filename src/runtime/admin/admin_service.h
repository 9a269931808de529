// baton.v1.AdminService on top of Control: translates, checks callers, and never blocks.
//
// Calls arrive on gRPC's threads; Control's handlers answer them. A handler may run on the node's
// loop, and encoding 100,000 shards takes tens of milliseconds. So the service encodes statuses on
// a thread of its own. At most kMaxQueuedStatuses calls wait for it; further calls are refused with
// RESOURCE_EXHAUSTED. Calls are refused with the same code while callers have too many unread
// answers (UnreadAnswers). Callers who may make changes come first: they have a queue of their own,
// and twice the budget of unread answers. All other callers together may have two examinations
// (Diagnose) that run or wait.
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

/// For each of the two queues.
inline constexpr std::size_t kMaxQueuedStatuses = 64;
/// The examinations at once for callers who may not make changes. The doctor takes five in all.
inline constexpr int kMaxDiagnosesOfReaders = 2;

/// The service, with its counts.
class CountingAdminService : public baton::AdminService {
 public:
  /// The counts. They may outlive the service.
  virtual std::shared_ptr<const UnreadCounts> unread() const = 0;
  /// The places of the streams of WatchEvents. They, too, may outlive the service.
  virtual std::shared_ptr<const access::StreamPlaces> event_places() const = 0;
};

/// Adds the service to `builder`. Programs that have a Node use baton/grpc.h instead. `examine` is
/// passed on with each Diagnose. `audit` gets each change that somebody asks for; if its sinks are
/// unset, only the log has the changes. REQUIRES: `control` and the returned service outlive the
/// server.
std::unique_ptr<CountingAdminService> RegisterAdminService(grpc::ServerBuilder& builder,
                                                           Control& control, access::Gate gate,
                                                           ExamineRequest examine = {},
                                                           Audit::Sinks audit = {});

}  // namespace baton::runtime
