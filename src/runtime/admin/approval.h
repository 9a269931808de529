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

/// How long a change may take if its caller waits for this time, which may be negative. An eighth
/// of the time (at least 20 ms, at most 500 ms) is kept for the answer. The change gets the rest,
/// but at most a minute. Never negative.
Duration TimeForChange(Duration callers_time);

class Approval {
 public:
  /// Begins the time of a change that is asked for now: TimeForChange of the time until the
  /// caller's deadline. REQUIRES: the call is finished only after the last use of this object and
  /// its copies; `gate` outlives them.
  Approval(const grpc::CallbackServerContext& context, const access::Gate& gate);

  /// How long the change may take from now on, so that its caller still hears the outcome. Zero or
  /// less: no time is left.
  Duration TimeLeft() const { return by_ - BootClock::now(); }
  /// Why the change must not be made now; unset: it may be made. Identifies the call's caller
  /// again, and ignores `change.caller`. The first of these that applies: the caller may not make
  /// the change any more (another code, see access::Gate::Refusal); UNAVAILABLE: no time is left;
  /// CANCELLED: the caller hung up.
  std::optional<grpc::Status> WhyNot(const RequestedChange& change) const;

 private:
  const grpc::CallbackServerContext& context_;
  const access::Gate& gate_;
  const TimePoint by_;
};

}  // namespace baton::runtime
