#include "runtime/transition_log.h"

#include <chrono>

namespace baton::runtime {
namespace {

double Seconds(std::chrono::nanoseconds duration) {
  const auto micros = std::chrono::duration_cast<std::chrono::microseconds>(duration);
  return static_cast<double>(micros.count()) / 1e6;
}

}  // namespace

void TransitionLog::OnTransition(const Transition& transition) {
  log_.Write(LogLevel::kInfo, "transition",
             {{"shard", transition.shard.value},
              {"reason", ToString(transition.reason)},
              {"from", transition.from},
              {"to", transition.to},
              {"term", transition.term.value},
              {"actor", transition.actor},
              {"cause", CauseWords(transition.cause)},
              {"elect_seconds", Seconds(transition.elect)},
              {"activate_seconds", Seconds(transition.activate)}},
             &transition);
}

}  // namespace baton::runtime
