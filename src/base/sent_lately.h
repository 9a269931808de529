// SentLately: how many bytes each caller sent within the last seconds, and by how much this
// process's memory grew meanwhile. Time is divided into steps. A step has at most 2 * kMaxCallers
// callers. If more callers send in a step, the step forgets all except the kMaxCallers callers that
// have sent most in this step so far.
//
// One thread at a time. A ReceiveBudget owns it.
#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <string>
#include <unordered_map>

#include "base/clock.h"

namespace baton {

class SentLately {
 public:
  using SentByCaller = std::unordered_map<std::string, std::int64_t>;  ///< bytes
  static constexpr std::size_t kMaxCallers = 4'096;

  /// `kept`: for how long a step is kept after its end. `step`: the length of a step; 0: each Add
  /// begins a step.
  SentLately(Duration kept, Duration step) : kept_(kept), step_(step) {}

  /// `sent`: the bytes that callers have sent since the last Add. `resident`: the process's memory
  /// now, in bytes; 0: not known. REQUIRES (not checked): `now` never goes back.
  void Add(TimePoint now, std::int64_t resident, const SentByCaller& sent);

  /// Returns by how many bytes the process's memory grew. Compares the memory at the last Add with
  /// the smallest memory in the steps that ended at most `within` before that Add. The result is 0
  /// before the first Add, or if the memory at the last Add is not known. REQUIRES (not checked):
  /// within <= kept.
  std::int64_t Growth(Duration within) const;
  /// Returns how many bytes each caller sent in the steps that ended at `since` or later. Each of
  /// these steps counts as a whole, even if it began earlier.
  SentByCaller SentSince(TimePoint since) const;

  /// Forgets the bytes that this caller has sent so far.
  void Forget(const std::string& caller);
  /// Forgets all bytes, and how memory grew.
  void Clear() { steps_.clear(); }

 private:
  struct Step {
    TimePoint began;
    TimePoint ended;
    std::int64_t smallest;  // memory; 0: not known
    std::int64_t last;
    SentByCaller sent;
  };

  const Duration kept_;
  const Duration step_;
  std::deque<Step> steps_;
};

}  // namespace baton
