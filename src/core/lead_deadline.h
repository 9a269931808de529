// LeadDeadline: tells the runtime until when Leads() may answer true. It also notices when this
// time has passed, and the node is suspended, and when a confirmed renewal lets the node resume.
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
  /// session. Runs no callbacks and reports no transitions. The node is not suspended any more.
  void Withdraw(Context& context);
  /// Passes the session's deadline on to the runtime, if it has changed. If the node has been
  /// suspended or has resumed since the last call, then calls Leaderships::SuspendAll or ResumeAll.
  /// So Leads() has changed already when the callback `suspended` or `resumed` runs. Asks for a
  /// step at the deadline. REQUIRES: call it in each step; after the end of a session, call
  /// Withdraw first.
  void Advance(Context& context, Leaderships& leaderships);

 private:
  TimePoint published_ = TimePoint::min();  ///< the deadline that the runtime knows
  std::optional<TimePoint> suspended_at_;   ///< unset: not suspended
};

}  // namespace baton::core
