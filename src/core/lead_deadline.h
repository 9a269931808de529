// LeadDeadline: tells the runtime until when Leads() may answer true. When this time passes, the
// node is suspended. When a renewal is confirmed after that, the node resumes.
//
// Pure and single-threaded: owned by the core.
#pragma once

#include <optional>

#include "core/context.h"
#include "core/leaderships.h"

namespace baton::core {

class LeadDeadline {
 public:
  /// The session has ended: Leads() answers false until Advance passes on the deadline of another
  /// session. Runs no callbacks and reports no transitions. A suspended node is not suspended any
  /// more.
  void Withdraw(Context& context);
  /// Passes a changed deadline of the session on to the runtime. If the node is newly suspended or
  /// resumed, calls Leaderships::SuspendAll or ResumeAll after that. So Leads() has changed already
  /// when the callback `suspended` or `resumed` runs. Asks for a step at the deadline. REQUIRES:
  /// call Advance in each step; after the end of a session, call Withdraw first.
  void Advance(Context& context, Leaderships& leaderships);

 private:
  TimePoint published_ = TimePoint::min();  ///< the deadline that the runtime knows
  std::optional<TimePoint> suspended_at_;   ///< unset: not suspended
};

}  // namespace baton::core
