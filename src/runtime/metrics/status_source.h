// StatusSource: gets a node's newest status for callers that can wait, but not for ever.
//
// Thread-safe, except for the destructor. At most one request is in flight, even if many threads
// ask. So requests don't pile up at a loop that is stuck.
#pragma once

#include <chrono>
#include <memory>

#include "runtime/control.h"

namespace baton::runtime {

/// How long one scrape or one HTTP request waits for the node's loop.
inline constexpr std::chrono::milliseconds kStatusPatience{1000};

struct LatestStatus {
  std::shared_ptr<const NodeStatus> status;  ///< null: no answer came to this StatusSource yet
  /// When `status` was made (NodeStatus::at), by the wall clock. If the node has stopped: when
  /// `status` arrived.
  std::chrono::system_clock::time_point taken{};
  /// Whether `status` arrived during this call, maybe as the answer to an earlier call's request.
  /// A fresh status may be up to 10 s old, because calls share a snapshot (Control::GetStatus).
  bool fresh = false;
};

class StatusSource {
 public:
  /// `patience`: how long Get waits. REQUIRES: `control` outlives this object. An answer that comes
  /// after this object is destroyed does no harm.
  explicit StatusSource(Control& control, std::chrono::milliseconds patience = kStatusPatience);

  /// Asks the node, or joins a request in flight, and waits for at most `patience`. If no answer
  /// comes in this time, returns the last status, and the request stays in flight: later calls wait
  /// for its answer. REQUIRES: not called on the node's loop, because the loop would wait for
  /// itself.
  LatestStatus Get();

 private:
  struct Shared;
  static void Ask(Control& control, const std::shared_ptr<Shared>& shared);

  Control& control_;
  const std::chrono::milliseconds patience_;
  const std::shared_ptr<Shared> shared_;
};

}  // namespace baton::runtime
