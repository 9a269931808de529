// RefusalPace: decides which refusals get a line in a file, so that a caller that is refused all
// the time neither fills the disk nor hides the refusals of other callers.
//
// Each caller (LimitedAs) gets a line a second; the next one says how many refusals had none.
// All callers together get kAtOnce lines at once, and then one each kEvery; the next line says how
// many refusals of all callers that left out. So callers under many names fill no disk.
// kMaxCallers callers are remembered; further ones at the same time share one line a second. When a
// caller is forgotten, its refusals without a line count as those of the ones who share.
//
// Pure: `now` is an argument, and must not go back. Not thread-safe.
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <unordered_map>

#include "base/clock.h"

namespace baton::access {

class RefusalPace {
 public:
  /// How many callers have lines of their own at the same time.
  static constexpr std::size_t kMaxCallers = 64;
  static constexpr int kAtOnce = 256;
  static constexpr std::chrono::milliseconds kEvery{250};

  /// Unset: this refusal gets no line. Else how many before it got none: of this caller, or of
  /// those who share; and of everybody, for the sake of the rate of all.
  std::optional<std::uint64_t> Next(const std::string& caller, TimePoint now);

 private:
  struct Entry {
    TimePoint quiet_until{};
    std::uint64_t unsaid = 0;
  };
  Entry& EntryOf(const std::string& caller, TimePoint now);
  /// Whether all callers together may have another line, which is counted then.
  bool TakeOfAll(TimePoint now);

  std::unordered_map<std::string, Entry> callers_;  // at most kMaxCallers
  Entry others_;
  TimePoint all_full_at_{};     // when all kAtOnce lines may be made again
  std::uint64_t left_out_ = 0;  // for the sake of the rate of all
};

}  // namespace baton::access
