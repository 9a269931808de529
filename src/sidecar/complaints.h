// Complaints: what a sidecar's log says about those who connect, each line once a minute at most.
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
  void Say(const char* what, const access::Caller& caller);
  /// Counts and says that this caller lacks the role kLead.
  void SayDenied(const access::Caller& caller);
  std::uint64_t denied() const { return denied_; }

 private:
  std::atomic<std::uint64_t> denied_{0};
  std::mutex mutex_;
  std::map<std::string, TimePoint> say_at_;  ///< by line: not before; guarded by mutex_
};

}  // namespace baton::sidecar
