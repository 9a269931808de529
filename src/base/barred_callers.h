// BarredCallers: who is kept away, and until when. It remembers a bounded number of callers.
//
// One thread at a time. A ReceiveBudget owns it.
#pragma once

#include <cstddef>
#include <set>
#include <string>
#include <unordered_map>
#include <utility>

#include "base/clock.h"

namespace baton {

class BarredCallers {
 public:
  static constexpr std::size_t kMaxCallers = 4'096;

  /// From now on the caller is barred until this time, which replaces an earlier one. If there are
  /// too many, the earlier caller whose time is over first is not barred any more.
  void Bar(const std::string& caller, TimePoint until);
  /// Whether the caller is barred at this time.
  bool Has(const std::string& caller, TimePoint now) const;
  /// Forgets those whose time is over.
  void ForgetEnded(TimePoint now);

 private:
  void ForgetFirst();

  std::unordered_map<std::string, TimePoint> until_;
  std::set<std::pair<TimePoint, std::string>> by_end_;  // the same, sorted by end
};

}  // namespace baton
