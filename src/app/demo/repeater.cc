#include "app/demo/repeater.h"

#include <time.h>

#include <utility>

namespace baton::app {

void Pause(Duration duration) {
  const auto whole = std::chrono::duration_cast<std::chrono::seconds>(duration);
  const timespec wait{.tv_sec = whole.count(), .tv_nsec = (duration - whole).count()};
  clock_nanosleep(CLOCK_MONOTONIC, 0, &wait, nullptr);
}

Repeater::Repeater(std::function<Duration()> step)
    : thread_([this, step = std::move(step)] {
        while (!stop_.load()) Pause(step());
      }) {}

Repeater::~Repeater() {
  stop_.store(true);
  thread_.join();
}

}  // namespace baton::app
