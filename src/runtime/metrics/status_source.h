// StatusSource: gets a node's newest status for callers that can wait, but not for ever.
//
// Thread-safe. At most one request is in flight, however many threads ask, so requests don't pile
// up at a loop that is stuck.
#pragma once

#include <chrono>
#include <memory>

#include "runtime/control.h"

namespace baton::runtime {

/// How long one scrape or one HTTP request waits for the node's loop.
inline constexpr std::chrono::milliseconds kStatusPatience{1000};

struct LatestStatus {
  std::shared_ptr<const NodeStatus> status;       ///< null: the node has never answered
  std::chrono::system_clock::time_point taken{};  ///< when it arrived here
  bool fresh = false;  ///< this call asked for it; false: it is left over from an earlier call
};

class StatusSource {
 public:
  /// REQUIRES: `control` outlives this object. Answers may arrive after this object is destroyed.
  explicit StatusSource(Control& control, std::chrono::milliseconds patience = kStatusPatience);

  /// Asks the node, waits for at most the patience, and otherwise returns the last status.
  LatestStatus Get();

 private:
  struct Shared;
  static void Ask(Control& control, const std::shared_ptr<Shared>& shared);

  Control& control_;
  const std::chrono::milliseconds patience_;
  const std::shared_ptr<Shared> shared_;
};

}  // namespace baton::runtime
