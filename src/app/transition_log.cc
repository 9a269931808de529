#include "app/transition_log.h"

#include <chrono>

#include "base/log.h"

namespace baton::app {
namespace {

double Seconds(std::chrono::nanoseconds duration) {
  const auto micros = std::chrono::duration_cast<std::chrono::microseconds>(duration);
  return static_cast<double>(micros.count()) / 1e6;
}

}  // namespace

void TransitionLog::OnTransition(const Transition& transition) {
  if (!log::Enabled(log::Level::kInfo)) return;
  log::Info("transition", {{"shard", transition.shard.value},
                           {"reason", ToString(transition.reason)},
                           {"from", transition.from},
                           {"to", transition.to},
                           {"term", transition.term.value},
                           {"actor", transition.actor},
                           {"elect_seconds", Seconds(transition.elect)},
                           {"activate_seconds", Seconds(transition.activate)}});
}

}  // namespace baton::app
