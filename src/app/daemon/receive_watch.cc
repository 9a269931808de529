#include "app/daemon/receive_watch.h"

#include <algorithm>
#include <ctime>

namespace baton::app {
namespace {

constexpr int kShare = 20;

// How long this thread has run. By the wall clock a busy machine would lengthen the pauses.
std::chrono::nanoseconds Ran() {
  timespec time{};
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &time);
  return std::chrono::seconds(time.tv_sec) + std::chrono::nanoseconds(time.tv_nsec);
}

}  // namespace

void ReceiveWatch::Start() {
  thread_ = std::jthread([this](const std::stop_token& stop) { Run(stop); });
}

void ReceiveWatch::Run(const std::stop_token& stop) {
  std::unique_lock lock(mutex_);
  std::chrono::nanoseconds pause = kEvery;
  while (!changed_.wait_for(lock, stop, pause, [&stop] { return stop.stop_requested(); })) {
    const auto began = Ran();
    budget_->Weigh(BootClock::now());
    pause = std::clamp<std::chrono::nanoseconds>(kShare * (Ran() - began), kEvery, kLongest);
  }
}

}  // namespace baton::app
