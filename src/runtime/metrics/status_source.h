// StatusSource: gets a node's newest status for callers that can wait, but not for ever.
//
// Thread-safe. At most one request is in flight, however many threads ask. So requests don't pile
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
  std::chrono::system_clock::time_point taken{};  ///< when `status` was made
  /// Whether `status` arrived during this call. It may answer a request that an earlier call made.
  bool fresh = false;
};

class StatusSource {
 public:
  /// REQUIRES: `control` outlives this object. An answer may arrive after this object is destroyed.
  explicit StatusSource(Control& control, std::chrono::milliseconds patience = kStatusPatience);

  /// Asks the node, or joins a request in flight, and waits for at most `patience`. If no answer
  /// comes in this time, returns the last status. REQUIRES: not called on the node's loop, because
  /// the loop would wait for itself.
  LatestStatus Get();

 private:
  struct Shared;
  static void Ask(Control& control, const std::shared_ptr<Shared>& shared);

  Control& control_;
  const std::chrono::milliseconds patience_;
  const std::shared_ptr<Shared> shared_;
};

}  // namespace baton::runtime
