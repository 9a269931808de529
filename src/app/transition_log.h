// TransitionLog: one log line for each change of leadership that this node counts.
#pragma once

#include "runtime/control.h"

namespace baton::app {

class TransitionLog : public runtime::Observer {
 public:
  void OnTransition(const Transition& transition) override;
};

}  // namespace baton::app
