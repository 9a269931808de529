#include "core/watch_progress.h"

#include <algorithm>

#include "core/options.h"

namespace baton::core {

void WatchProgress::Reach(Revision revision) {
  reached_ = std::max(reached_, revision);
  if (reached_ >= required_) behind_since_ = TimePoint::max();
}

bool WatchProgress::Require(Revision revision, TimePoint now) {
  if (revision <= reached_) return false;
  required_ = std::max(required_, revision);
  if (!behind()) behind_since_ = now;
  return true;
}

TimePoint WatchProgress::StandsStillAt() const {
  return behind() ? behind_since_ + kWatchStandsStill : TimePoint::max();
}

std::optional<std::string> WatchProgress::StandsStill(TimePoint now) {
  if (now < StandsStillAt()) return std::nullopt;
  behind_since_ = now;
  return "the watch stands still at revision " + std::to_string(reached_.value) + " below " +
         std::to_string(required_.value) + "; opening it on another endpoint";
}

bool WatchProgress::AuditDue(TimePoint now, Duration every) {
  if (now < AuditAt(every)) return false;
  read_at_ = now;
  return true;
}

}  // namespace baton::core
