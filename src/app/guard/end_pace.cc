#include "app/guard/end_pace.h"

#include <algorithm>

#include "base/check.h"

namespace baton::app {

Duration EndPace::Wait(TimePoint now) const {
  if (began_.size() < kMost) return Duration{0};
  return std::max(Duration(began_.front() + kWithin - now), Duration{0});
}

void EndPace::Begin(TimePoint now) {
  BATON_CHECK(Wait(now) == Duration{0});
  if (began_.size() == kMost) began_.pop_front();
  began_.push_back(now);
}

}  // namespace baton::app
