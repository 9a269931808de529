#include "core/lead_deadline.h"

namespace baton::core {

void LeadDeadline::Withdraw(Context& context) {
  context.Do(SetDeadline{TimePoint::min()});
  published_ = TimePoint::min();
  suspended_at_.reset();
}

void LeadDeadline::Advance(Context& context, Leaderships& leaderships) {
  const TimePoint deadline = context.session.deadline();
  if (deadline != published_) {
    published_ = deadline;
    context.Do(SetDeadline{deadline});
  }
  if (deadline == TimePoint::min()) return;
  if (context.live()) {
    context.WakeAt(deadline);
    if (!suspended_at_) return;
    leaderships.ResumeAll(context, context.now - *suspended_at_);
    context.Say(Notice::Level::kInfo,
                "resumed: a renewal was confirmed; this node leads again with the same terms");
    suspended_at_.reset();
  } else if (!suspended_at_) {
    suspended_at_ = deadline;
    context.Say(
        Notice::Level::kWarning,
        "suspended: no renewal was confirmed in time; this node leads nothing until one is");
    leaderships.SuspendAll(context);
  }
}

}  // namespace baton::core
