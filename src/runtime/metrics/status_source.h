// StatusSource: gets a node's newest status for callers that can wait for a bounded time.
//
// Thread-safe, except for the destructor. However many threads ask, at most one request is in
// flight. So a loop that is stuck gets no queue of requests.
#pragma once

#include <chrono>
#include <memory>

#include "runtime/control.h"

namespace baton::runtime {

/// How long one scrape or one HTTP request waits for the node's loop.
inline constexpr std::chrono::milliseconds kStatusPatience{1000};

struct LatestStatus {
  std::shared_ptr<const NodeStatus> status;  ///< null: no status has come yet
  /// When `status` was made (NodeStatus::at), by the wall clock. If the node has stopped: when
  /// `status` arrived.
  std::chrono::system_clock::time_point taken{};
  /// Whether `status` arrived during this call of Get, maybe as the answer to an earlier request. A
  /// fresh status may be up to 10 s old, because calls share a snapshot (Control::GetStatus).
  bool fresh = false;
};

class StatusSource {
 public:
  /// `patience`: how long Get waits. REQUIRES: `control` outlives this object. An answer that comes
  /// after this object is destroyed does no harm.
  explicit StatusSource(Control& control, std::chrono::milliseconds patience = kStatusPatience);

  /// Asks the node for a status, or joins a request in flight, and waits for at most `patience`. If
  /// no answer comes in this time, returns the last status. The request stays in flight, and later
  /// calls wait for its answer. REQUIRES: not called on the node's loop, because the loop would
  /// wait for itself.
  LatestStatus Get();

 private:
  struct Shared;
  static void Ask(Control& control, const std::shared_ptr<Shared>& shared);

  Control& control_;
  const std::chrono::milliseconds patience_;
  const std::shared_ptr<Shared> shared_;
};

}  // namespace baton::runtime
