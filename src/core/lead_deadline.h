// LeadDeadline: tells the runtime until when Leads() may answer true. It also notices when this
// time has passed, so that the node is suspended, and when the node resumes.
//
// Pure and single-threaded: owned by the core.
#pragma once

#include <optional>

#include "core/context.h"
#include "core/leaderships.h"

namespace baton::core {

class LeadDeadline {
 public:
  /// The session has ended: Leads() answers false from now on. Runs no callbacks and reports no
  /// transitions.
  void Withdraw(Context& context);
  /// Passes the session's deadline on to the runtime. After that, if the node has become suspended
  /// or has resumed, it tells `leaderships`. So Leads() has changed already when `suspended` or
  /// `resumed` runs.
  void Advance(Context& context, Leaderships& leaderships);

 private:
  TimePoint published_ = TimePoint::min();  ///< the deadline that the runtime knows
  std::optional<TimePoint> suspended_at_;   ///< unset: not suspended
};

}  // namespace baton::core
