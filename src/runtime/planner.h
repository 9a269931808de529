// Planner: answers which moves would balance the group. It plans on a thread of its own.
//
// The first request starts the thread. At most kMaxWaiting requests wait, besides the one that the
// thread works on. So a flood of requests costs the loop one status at a time. The destructor waits
// until all requests are answered.
//
// Thread-safe, except for the destructor.
#pragma once

#include <cstddef>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <vector>

#include "base/facts.h"
#include "baton/result.h"
#include "runtime/admin/worker.h"
#include "runtime/control.h"
#include "runtime/metrics/status_source.h"

namespace baton::runtime {

class Planner {
 public:
  static constexpr std::size_t kMaxWaiting = 4;
  using Handler = std::function<void(Result<std::vector<MoveFact>>)>;

  /// Before each plan, this object's thread calls `refresh`, which asks the node for a new status
  /// (GroupFollower::RefreshStatus). Then the thread plans from the status that `control` returns.
  /// This status may be older than the request, because RefreshStatus does nothing for a while
  /// after it has made a status. REQUIRES: `control` outlives this object.
  Planner(Control& control, std::function<void()> refresh);

  /// Returns at once. Calls the handler once, with the moves of core::PlanAll or an error. The call
  /// comes on this object's thread (then the handler may block), or on the caller's thread before
  /// Plan returns. kUnavailable: the node's view is not complete, the node does not answer within
  /// kStatusPatience or has stopped, too many requests wait, or the host lacks threads. REQUIRES:
  /// the handler does not throw, and does not destroy this object.
  void Plan(Handler handler);

 private:
  Result<std::vector<MoveFact>> PlanNow();

  const std::function<void()> refresh_;
  std::mutex mutex_;
  StatusSource status_;
  // For this object's thread alone: the last plan. PlanNow returns it again if the status still has
  // the same assignment and revision.
  std::shared_ptr<const StatusAssignment> planned_for_;
  Revision planned_at_;
  std::vector<MoveFact> planned_;
  std::optional<Worker> worker_;  ///< started under mutex_; last, so that its thread ends first
};

}  // namespace baton::runtime
