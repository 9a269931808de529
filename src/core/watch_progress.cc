#include "core/watch_progress.h"

#include <algorithm>

#include "core/options.h"

namespace baton::core {
namespace {

constexpr int kMaxEndpointsCounted = 16;

}  // namespace

void WatchProgress::Reach(Revision revision, TimePoint now) {
  if (revision <= reached_) return;
  reached_ = revision;
  still_since_ = now;
  stood_still_ = 0;
}

bool WatchProgress::Require(Revision revision, TimePoint now) {
  if (revision <= reached_) return false;
  if (!behind()) still_since_ = now;
  required_ = std::max(required_, revision);
  return true;
}

Duration WatchProgress::Bound() const {
  const int doublings = std::max(0, stood_still_ - kEndpointsAtOnce + 1);
  return std::min(kMaxWatchStandsStill, kWatchStandsStill * (1 << doublings));
}

TimePoint WatchProgress::StandsStillAt() const {
  return behind() ? still_since_ + Bound() : TimePoint::max();
}

std::optional<std::string> WatchProgress::StandsStill(TimePoint now) {
  if (now < StandsStillAt()) return std::nullopt;
  still_since_ = now;
  stood_still_ = std::min(stood_still_ + 1, kMaxEndpointsCounted);
  return "the watch stands still at revision " + std::to_string(reached_.value) + " below " +
         std::to_string(required_.value) + "; opening it on another endpoint";
}

bool WatchProgress::AuditDue(TimePoint now, Duration every, TimePoint since) {
  if (now < AuditAt(every, since)) return false;
  read_at_ = now;
  return true;
}

bool WatchProgress::AskDue(TimePoint now, Duration every) {
  if (now < ask_at_) return false;
  ask_at_ = now + every;
  return true;
}

}  // namespace baton::core
