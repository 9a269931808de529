// BarredCallers: which callers are barred from a server, and until when. It remembers at most
// kMaxCallers callers.
//
// One thread at a time. ReceiveBudget owns it (receive_budget.h).
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

  /// Bars the caller until `until`, which replaces an earlier time of this caller. If more than
  /// kMaxCallers callers are remembered then, forgets one other caller: the one whose time ends
  /// first.
  void Bar(const std::string& caller, TimePoint until);
  /// Whether the caller is barred at `now`. False if `now` is the caller's time or later.
  bool Has(const std::string& caller, TimePoint now) const;
  /// Forgets the callers whose time is over. Until then they count for kMaxCallers.
  void ForgetEnded(TimePoint now);

 private:
  void ForgetFirst();

  std::unordered_map<std::string, TimePoint> until_;
  std::set<std::pair<TimePoint, std::string>> by_end_;  // the same, sorted by end
};

}  // namespace baton
