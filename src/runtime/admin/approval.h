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

/// Returns how long a change may take if its caller waits for `callers_time`. An eighth of this
/// time (at least 20 ms, at most 500 ms) is kept for the answer. The change gets the rest, but at
/// most a minute. If there is no rest (20 ms or less, also a negative time), returns 0.
Duration TimeForChange(Duration callers_time);

class Approval {
 public:
  /// For a change that is asked for now. The time of the change begins now. It is TimeForChange of
  /// the time until the call's deadline; without a deadline, it is a minute. REQUIRES: the call is
  /// finished only after the last use of this object and its copies; `gate` outlives them.
  Approval(const grpc::CallbackServerContext& context, const access::Gate& gate);

  /// How long the change may still take, so that its caller gets the outcome in time. Zero or less:
  /// no time is left.
  Duration TimeLeft() const { return by_ - BootClock::now(); }
  /// Returns why the change must not be made now; unset: it may be made. Ignores `change.caller`,
  /// and identifies the caller of the call again. Returns the first of these that applies:
  ///  - The caller may not make the change any more: the code of access::Gate::Refusal (StatusOf).
  ///  - UNAVAILABLE: no time is left.
  ///  - CANCELLED: the caller hung up.
  std::optional<grpc::Status> WhyNot(const RequestedChange& change) const;

 private:
  const grpc::CallbackServerContext& context_;
  const access::Gate& gate_;
  const TimePoint by_;
};

}  // namespace baton::runtime
