#include "access/refusal_pace.h"

#include <algorithm>
#include <chrono>
#include <utility>

namespace baton::access {
namespace {

constexpr std::chrono::seconds kLineEvery{1};

}  // namespace

std::optional<std::uint64_t> RefusalPace::Next(const std::string& caller, TimePoint now) {
  Entry& entry = EntryOf(caller, now);
  if (now < entry.quiet_until) {
    ++entry.unsaid;
    return std::nullopt;
  }
  if (!TakeOfAll(now)) {
    ++left_out_;
    return std::nullopt;
  }
  entry.quiet_until = now + kLineEvery;
  return std::exchange(entry.unsaid, 0) + std::exchange(left_out_, 0);
}

bool RefusalPace::TakeOfAll(TimePoint now) {
  const TimePoint after = std::max(all_full_at_, now) + kEvery;
  if (after > now + kAtOnce * kEvery) return false;
  all_full_at_ = after;
  return true;
}

RefusalPace::Entry& RefusalPace::EntryOf(const std::string& caller, TimePoint now) {
  if (const auto known = callers_.find(caller); known != callers_.end()) return known->second;
  if (callers_.size() >= kMaxCallers) {
    std::erase_if(callers_, [&](const auto& one) {
      if (now < one.second.quiet_until) return false;
      others_.unsaid += one.second.unsaid;  // no count is lost
      return true;
    });
  }
  return callers_.size() < kMaxCallers ? callers_[caller] : others_;
}

}  // namespace baton::access
