// SentLately: what each caller sent within the last seconds, and by how much this process grew
// meanwhile. It keeps that in steps, so that a long time costs no more memory than a short one.
//
// For one thread at a time: owned by a ReceiveBudget.
#pragma once

#include <cstdint>
#include <deque>
#include <string>
#include <unordered_map>

#include "base/clock.h"

namespace baton {

class SentLately {
 public:
  using SentByCaller = std::unordered_map<std::string, std::int64_t>;  ///< bytes

  /// Keeps what happened within `kept`, in steps of `step`; 0: one for each Add.
  SentLately(Duration kept, Duration step) : kept_(kept), step_(step) {}

  /// `sent`: since the Add before. `resident`: the process's memory now, in bytes; 0: not known.
  /// REQUIRES: `now` never goes back.
  void Add(TimePoint now, std::int64_t resident, const SentByCaller& sent);

  /// By how many bytes the process has grown since it was smallest within `within`, which is at
  /// most `kept`. 0 before the first Add, or if its memory is not known.
  std::int64_t Growth(Duration within) const;
  /// What callers sent in the steps that ended at `since` or later.
  SentByCaller SentSince(TimePoint since) const;

  void Forget(const std::string& caller);
  /// Forgets everything.
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
