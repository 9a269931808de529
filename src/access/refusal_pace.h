// RefusalPace: decides which refusals get a line in a file. So a caller that is refused all the
// time neither fills the disk nor hides the refusals of others.
//
// Each caller (LimitedAs) gets a line a second; the next one says how many refusals had none.
// kMaxCallers callers are remembered; further ones at the same time share one line a second. When a
// caller is forgotten, its refusals without a line count as those of the ones who share.
//
// Pure: `now` is an argument, and must not go back. Not thread-safe.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <unordered_map>

#include "base/clock.h"

namespace baton::access {

class RefusalPace {
 public:
  /// Callers with a line of their own at the same time.
  static constexpr std::size_t kMaxCallers = 64;

  /// Unset: this refusal gets no line. Else how many before it got none: of this caller, or of
  /// those who share.
  std::optional<std::uint64_t> Next(const std::string& caller, TimePoint now);

 private:
  struct Entry {
    TimePoint quiet_until{};
    std::uint64_t unsaid = 0;
  };
  Entry& EntryOf(const std::string& caller, TimePoint now);

  std::unordered_map<std::string, Entry> callers_;  // at most kMaxCallers
  Entry others_;
};

}  // namespace baton::access
