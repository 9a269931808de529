// TransitionLog: writes one log record, with LogLevel::kInfo, for each change of leadership that a
// node counts. The node calls OnTransition on its loop; the call does not wait for the log.
#pragma once

#include "runtime/control.h"
#include "runtime/node_log.h"

namespace baton::runtime {

class TransitionLog final : public Observer {
 public:
  /// REQUIRES: `log` outlives this object.
  explicit TransitionLog(NodeLog& log) : log_(log) {}
  void OnTransition(const Transition& transition) override;

 private:
  NodeLog& log_;
};

}  // namespace baton::runtime
