#include "runtime/guard/hang_judge.h"

#include <algorithm>

namespace baton::runtime {
namespace {

constexpr int kLooks = 4;         // in a timeout
constexpr int kLateFraction = 8;  // of the timeout: a look that is later than this is late

}  // namespace

HangJudge::Verdict HangJudge::Look(SteadyTime now, std::optional<SteadyTime> progress) {
  if (!progress || now > next_ + timeout_ / kLateFraction) counts_from_ = now;
  const SteadyTime since = std::max(progress.value_or(now), counts_from_);
  // The node may have made a turn just before it would have noted the next one.
  const SteadyTime due = since + timeout_ + kProgressEvery;
  if (now >= due) return {.hangs = true, .look_at = now};
  next_ = std::min<SteadyTime>(due, now + timeout_ / kLooks);
  return {.hangs = false, .look_at = next_};
}

}  // namespace baton::runtime
