// HangJudge: decides from a node's progress and the clock whether the node hangs. A node hangs if
// its loop has made no turn for the timeout plus kProgressEvery.
//
// A machine that stood still must not look like a node that hangs. So the caller must look about
// four times within each timeout (Verdict::look_at). If a look comes late by more than an eighth of
// the timeout, the timeout begins again. An early look does no harm.
//
// Not thread-safe. Pure: the caller reads the clock and the node's ProgressPage.
#pragma once

#include <chrono>
#include <optional>

#include "runtime/guard/progress_page.h"

namespace baton::runtime {

/// How often a node notes its progress, if its guard watches for hangs (OwnGuard).
inline constexpr std::chrono::milliseconds kProgressEvery{20};

class HangJudge {
 public:
  /// The first Look is due at once. REQUIRES: timeout > 0.
  HangJudge(std::chrono::milliseconds timeout, SteadyTime now)
      : timeout_(timeout), counts_from_(now), next_(now) {}

  struct Verdict {
    bool hangs = false;
    SteadyTime look_at{};  ///< when to call Look again; `now` if the node hangs
  };
  /// `progress`: when the node's loop made its last turn (ProgressPage::Last). nullopt: the node is
  /// not expected to make turns, so the timeout begins again. Time before the constructor's `now`
  /// never counts. REQUIRES (not checked): `now` never goes back.
  Verdict Look(SteadyTime now, std::optional<SteadyTime> progress);

 private:
  const std::chrono::milliseconds timeout_;
  SteadyTime counts_from_;  ///< time before this does not count
  SteadyTime next_;         ///< when the next look is due
};

}  // namespace baton::runtime
