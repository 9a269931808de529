// Complaints: the lines that a sidecar logs about callers. The same line is logged at most once a
// minute, even if it is about many callers.
//
// Thread-safe; waits only for a short lock.
#pragma once

#include <atomic>
#include <cstdint>
#include <map>
#include <mutex>
#include <string>

#include "access/access.h"
#include "base/clock.h"

namespace baton::sidecar {

class Complaints {
 public:
  /// Logs `what` and the caller's name, but not if `what` was logged less than a minute ago, for
  /// any caller. REQUIRES: `what` is one of few texts, because each text is kept for ever.
  void Say(const char* what, const access::Caller& caller);
  /// Call it if a caller lacks the role kLead, or is not known to have it. Adds 1 to denied(), and
  /// calls Say.
  void SayDenied(const access::Caller& caller);
  /// How many calls of SayDenied there were.
  std::uint64_t denied() const { return denied_; }

 private:
  std::atomic<std::uint64_t> denied_{0};
  std::mutex mutex_;
  std::map<std::string, TimePoint> say_at_;  ///< each line's next time; guarded by mutex_
};

}  // namespace baton::sidecar
