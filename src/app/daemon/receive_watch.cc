#include "app/daemon/receive_watch.h"

#include <malloc.h>

#include <algorithm>
#include <cstdint>
#include <cstdlib>
#include <ctime>
#include <utility>

#include "app/daemon/callback_probe.h"
#include "base/log.h"

namespace baton::app {
namespace {

constexpr int kShare = 20;
// glibc keeps what a flood needed: all of 900 MiB, of which 5 were in use.
constexpr std::int64_t kWorthIt = 64 << 20;
constexpr std::int64_t kCalm = 8 << 20;
constexpr std::chrono::seconds kOften{5};
constexpr std::chrono::minutes kRarely{10};

/// Gives memory back that nobody uses. glibc holds locks meanwhile, for which all threads may have
/// to wait, so this happens only when the process is at rest, and rarely if it is of no use.
class GivingBack {
 public:
  explicit GivingBack(TimePoint now)
      : least_(ReceiveBudget::ResidentBytes()), seen_(least_), look_at_(now + kOften) {}

  void Look(TimePoint now) {
    if (now < look_at_) return;
    const std::int64_t before = ReceiveBudget::ResidentBytes();
    const bool calm = std::abs(before - std::exchange(seen_, before)) < kCalm;
    look_at_ = now + kOften;
    if (!calm || before < least_ + kWorthIt || now < give_back_at_) return;
    malloc_trim(0);
    seen_ = ReceiveBudget::ResidentBytes();
    log::Debug("memory that nobody used was given back",
               {{"mib", (before - seen_) >> 20},
                {"took_ms", (BootClock::now() - now) / std::chrono::milliseconds(1)}});
    least_ = seen_;
    pause_ = before - seen_ < kWorthIt ? std::min<Duration>(2 * pause_, kRarely) : kOften;
    give_back_at_ = now + pause_;
  }

 private:
  std::int64_t least_;  // after the last time
  std::int64_t seen_;   // when Look last looked
  TimePoint look_at_;
  TimePoint give_back_at_{};
  Duration pause_ = kOften;
};

// How long this thread has run. By the wall clock a busy machine would lengthen the pauses.
std::chrono::nanoseconds Ran() {
  timespec time{};
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &time);
  return std::chrono::seconds(time.tv_sec) + std::chrono::nanoseconds(time.tv_nsec);
}

}  // namespace

void ReceiveWatch::Start(std::function<void()> late) {
  thread_ = std::jthread(
      [this, late = std::move(late)](const std::stop_token& stop) { Run(stop, late); });
}

void ReceiveWatch::Run(const std::stop_token& stop, const std::function<void()>& late) {
  CallbackProbe probe;
  std::unique_lock lock(mutex_);
  std::chrono::nanoseconds pause = kEvery;
  GivingBack giving_back(BootClock::now());
  while (!changed_.wait_for(lock, stop, pause, [&stop] { return stop.stop_requested(); })) {
    const auto began = Ran();
    const TimePoint now = BootClock::now();
    const Duration waited = probe.Waited(now);
    if (waited >= kLate) late();
    budget_->Weigh(now, waited);
    pause = std::clamp<std::chrono::nanoseconds>(kShare * (Ran() - began), kEvery, kLongest);
    giving_back.Look(now);
  }
}

}  // namespace baton::app
