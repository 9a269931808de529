// RefusalPace: decides which refusals get a line in a file. So a caller that is refused all the
// time does not fill the disk, and does not hide the refusals of other callers.
//
// Each caller (LimitedAs) gets at most one line a second. The caller's next line says how many of
// its refusals had no line. All callers together get at most kAtOnce lines in a burst, and after
// these one line in each kEvery. So a caller that uses many names does not fill the disk. The
// refusals that this common limit leaves out are counted in the next line of any caller. At most
// kMaxCallers callers are remembered; all others share one line a second. When a caller is
// forgotten, its refusals without a line are added to the shared ones.
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
  /// How many lines all callers together get in a burst.
  static constexpr int kAtOnce = 256;
  /// After a burst, all callers together get one line in this time.
  static constexpr std::chrono::milliseconds kEvery{250};

  /// Call it for each refusal of a caller. `caller`: the result of LimitedAs. nullopt: write no
  /// line for the refusal. Otherwise write a line that says how many refusals had no line: the
  /// result. It is the sum of two counts:
  ///   - the refusals of this caller, or of all callers that share its line, since its last line;
  ///   - the refusals of all callers that the common limit left out since the last line of any
  ///     caller.
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
  std::uint64_t left_out_ = 0;  // because of the rate of all
};

}  // namespace baton::access
