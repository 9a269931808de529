// LeadDeadline: until when Leads() may answer true, as the runtime knows it; and whether the node
// is suspended, which means that this time has passed.
//
// Pure and single-threaded: owned by the core.
#pragma once

#include <optional>

#include "core/context.h"
#include "core/leaderships.h"

namespace baton::core {

class LeadDeadline {
 public:
  /// The session has ended: from now on Leads() answers false.
  void Withdraw(Context& context);
  /// Passes the session's deadline on to the runtime. Then tells the leaderships if the node is
  /// suspended or resumed, so Leads() is right before a callback says so.
  void Advance(Context& context, Leaderships& leaderships);

 private:
  TimePoint published_ = TimePoint::min();
  std::optional<TimePoint> suspended_at_;
};

}  // namespace baton::core
