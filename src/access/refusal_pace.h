// RefusalPace: decides which refusals get a line in a file. So refused callers can't fill the disk,
// and can't hide the refusals of others.
//
// Each caller (LimitedAs, call_limits.h) gets at most one line a second. At most kMaxCallers
// callers are remembered; all others share one line a second. All callers together get at most
// kAtOnce lines in a burst, and then one line in each kEvery (the common limit). Each line says how
// many refusals had no line.
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

  /// Call Next for each refusal of a caller. `caller`: the result of LimitedAs. nullopt: write no
  /// line for the refusal. Otherwise write a line with the result: the number of refusals without a
  /// line. The result is the sum of two counts:
  ///   - the refusals of this caller since its last line. If the caller shares its lines, this
  ///     counts the refusals of all callers that share them, and of forgotten callers;
  ///   - the refusals that the common limit left out since the last line of any caller.
  std::optional<std::uint64_t> Next(const std::string& caller, TimePoint now);

 private:
  struct Entry {
    TimePoint quiet_until{};
    std::uint64_t unsaid = 0;
  };
  Entry& EntryOf(const std::string& caller, TimePoint now);
  /// Whether the common limit allows one more line. If so, counts the line.
  bool TakeOfAll(TimePoint now);

  std::unordered_map<std::string, Entry> callers_;  // at most kMaxCallers
  Entry others_;
  TimePoint all_full_at_{};     // when all kAtOnce lines may be made again
  std::uint64_t left_out_ = 0;  // refusals without a line by the common limit
};

}  // namespace baton::access
