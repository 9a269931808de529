// baton.v1.AdminService on top of Control: translates, checks the caller, and never blocks.
//
// Calls arrive on gRPC's threads; Control's handlers answer them. A handler may run on the node's
// loop, and encoding 100,000 shards takes tens of milliseconds. So the service encodes statuses on
// a thread of its own. At most kMaxQueuedStatuses wait for it; more are refused with
// RESOURCE_EXHAUSTED. So are calls while callers have yet to read what was sent (UnreadAnswers).
#pragma once

#include <cstddef>
#include <memory>
#include <utility>

#include <grpcpp/grpcpp.h>

#include "access/access.h"
#include "baton/grpc.h"
#include "baton/result.h"
#include "runtime/admin/unread_answers.h"
#include "runtime/control.h"

namespace baton::runtime {

inline constexpr std::size_t kMaxQueuedStatuses = 64;

/// The service, with what it counts.
class CountingAdminService : public baton::AdminService {
 public:
  /// It outlives the service.
  virtual std::shared_ptr<const UnreadCounts> unread() const = 0;
};

/// Who may ask for changes.
struct AdminGate {
  /// No gate without rules: `rules` is never null. `callers` are those of the server; null: no user
  /// is known.
  AdminGate(std::shared_ptr<const access::Access> rules,
            std::shared_ptr<const access::Callers> server_callers)
      : access(std::move(rules)), callers(std::move(server_callers)) {}

  std::shared_ptr<const access::Access> access;
  std::shared_ptr<const access::Callers> callers;
};
/// For a server whose connections we don't accept ourselves.
AdminGate GateOf(const AdminOptions& options);

/// Adds the service to `builder`. Programs that have a Node use baton/grpc.h instead. `examine`
/// goes with each Diagnose. REQUIRES: `control` and the returned service outlive the server.
std::unique_ptr<CountingAdminService> RegisterAdminService(grpc::ServerBuilder& builder,
                                                           Control& control, AdminGate gate,
                                                           ExamineRequest examine = {});

/// The gRPC status of an error, with the same message.
grpc::Status StatusOf(const Error& error);

}  // namespace baton::runtime
