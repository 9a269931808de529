// Planner: answers which moves would balance the group, without work on the node's loop.
//
// It plans from the node's newest status, on a thread of its own, started by the first request. At
// most kMaxWaiting requests wait for it. So a flood of requests costs the loop one status at a
// time.
//
// Thread-safe.
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

  /// REQUIRES: `control` outlives this object.
  explicit Planner(Control& control);

  /// Calls the handler once, on this object's thread or on the caller's. kUnavailable: the node's
  /// view is not complete, the node does not answer, too many requests wait, or the host lacks
  /// threads.
  void Plan(Handler handler);

 private:
  Result<std::vector<MoveFact>> PlanNow();

  std::mutex mutex_;
  StatusSource status_;
  // For this object's thread alone: the last plan, which is repeated while nothing changes.
  std::shared_ptr<const core::AssignmentOfView> planned_for_;
  std::vector<MoveFact> planned_;
  std::optional<Worker> worker_;  ///< started under mutex_; last, so that its thread ends first
};

}  // namespace baton::runtime
