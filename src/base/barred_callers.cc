#include "base/barred_callers.h"

namespace baton {

void BarredCallers::Bar(const std::string& caller, TimePoint until) {
  const auto [known, fresh] = until_.try_emplace(caller, until);
  if (!fresh) by_end_.erase({known->second, caller});
  known->second = until;
  if (until_.size() > kMaxCallers) ForgetFirst();
  by_end_.emplace(until, caller);
}

bool BarredCallers::Has(const std::string& caller, TimePoint now) const {
  const auto known = until_.find(caller);
  return known != until_.end() && now < known->second;
}

void BarredCallers::ForgetEnded(TimePoint now) {
  while (!by_end_.empty() && by_end_.begin()->first <= now) ForgetFirst();
}

void BarredCallers::ForgetFirst() {
  const auto first = by_end_.begin();
  until_.erase(first->second);
  by_end_.erase(first);
}

}  // namespace baton
