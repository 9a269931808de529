// Approval: whether a change that somebody asked for may still be made, and how long it may take.
//
// With --audit-required a change waits for its entry in the audit file. During this wait the caller
// may lose the role, hang up, or run out of time. Thread-safe.
#pragma once

#include <optional>

#include <grpcpp/server_context.h>
#include <grpcpp/support/status.h>

#include "access/access.h"
#include "base/clock.h"
#include "runtime/admin/audit.h"

namespace baton::runtime {

class Approval {
 public:
  /// The change is asked for now, and its time begins. The time ends a little before the caller's
  /// deadline (20 to 500 ms, for the answer), but after a minute at the latest. REQUIRES: the call
  /// is not finished while this object is used; `gate` outlives this object.
  Approval(const grpc::CallbackServerContext& context, const access::Gate& gate);

  /// How long the change may take from now on, so that its caller still hears the outcome. Zero or
  /// less: no time is left.
  Duration TimeLeft() const { return by_ - BootClock::now(); }
  /// Why the change must not be made now; unset: it may be made. UNAVAILABLE: no time is left.
  /// CANCELLED: the caller hung up. Another code: the caller may not make the change any more
  /// (access::Gate::Refusal).
  std::optional<grpc::Status> WhyNot(const AskedChange& change) const;

 private:
  const grpc::CallbackServerContext& context_;
  const access::Gate& gate_;
  const TimePoint by_;
};

}  // namespace baton::runtime
