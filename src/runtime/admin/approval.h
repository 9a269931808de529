// Approval: decides whether a change that a caller asked for may still be made, and how long the
// change may take.
//
// With --audit-required, a change waits until its entry is in the audit file. During this wait, the
// caller may lose the role, hang up, or run out of time. Thread-safe.
#pragma once

#include <optional>

#include <grpcpp/server_context.h>
#include <grpcpp/support/status.h>

#include "access/access.h"
#include "base/clock.h"
#include "runtime/admin/audit.h"

namespace baton::runtime {

/// Returns how long a change may take if its caller waits for `callers_time`. The answer gets an
/// eighth of this time: at least 20 ms, at most 500 ms. The change gets the rest, but at most a
/// minute. Returns 0 if `callers_time` is 20 ms or less, or negative.
Duration TimeForChange(Duration callers_time);

class Approval {
 public:
  /// For a change that a caller asks for now. From now on, the change may take TimeForChange of the
  /// time until the call's deadline; without a deadline, a minute. REQUIRES: this object and its
  /// copies are not used after the call is finished; `gate` outlives all of them.
  Approval(const grpc::CallbackServerContext& context, const access::Gate& gate);

  /// How long the change may still take. Zero or less: no time is left.
  Duration TimeLeft() const { return by_ - BootClock::now(); }
  /// Returns why the change must not be made now; nullopt: the change may be made. Ignores
  /// `change.caller`: identifies the caller of the call again. Returns the first of these that
  /// applies:
  ///  - StatusOf of access::Gate::Refusal: the caller may not make the change any more.
  ///  - UNAVAILABLE: no time is left.
  ///  - CANCELLED: the caller hung up.
  std::optional<grpc::Status> WhyNot(const RequestedChange& change) const;

 private:
  const grpc::CallbackServerContext& context_;
  const access::Gate& gate_;
  const TimePoint by_;
};

}  // namespace baton::runtime
