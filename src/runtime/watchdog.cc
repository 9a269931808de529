#include "runtime/watchdog.h"

#include <utility>

#include "base/check.h"
#include "runtime/engine.h"

namespace baton::runtime {

Watchdog::Watchdog(Duration bound, const Clock& clock, Executor& executor, LeadershipTable& table,
                   std::function<void(bool alive)> changed)
    : bound_(bound),
      clock_(clock),
      executor_(executor),
      table_(table),
      changed_(std::move(changed)) {
  BATON_CHECK(bound > Duration{0});
}

void Watchdog::Begin() {
  {
    const std::lock_guard lock(mutex_);
    if (ended_ || begun_.load()) return;
    table_.SetAliveUntil(clock_.Now() + bound_);
    begun_.store(true);
  }
  Look();
}

void Watchdog::End() noexcept {
  const std::lock_guard lock(mutex_);
  ended_ = true;
  table_.SetAliveUntil(TimePoint::max());
}

std::shared_ptr<Watchdog> Watchdog::Of(const std::shared_ptr<Engine>& engine, Duration bound,
                                       Executor& executor, LeadershipTable& table) {
  if (bound == Duration{0}) return nullptr;
  const auto changed = [weak = std::weak_ptr(engine)](bool alive) {
    const auto told = weak.lock();
    if (told == nullptr) return;
    told->Step(core::ApplicationChanged{alive ? core::ApplicationState::kAttached
                                              : core::ApplicationState::kAbsent});
  };
  return std::make_shared<Watchdog>(bound, Clock::Real(), executor, table, changed);
}

// While signs come in time, silent_ stays false, so that none of them posts a call of Look.
void Watchdog::Look() {
  TimePoint until = table_.AliveUntil();
  const TimePoint now = clock_.Now();
  if (now >= until) {
    silent_.store(true);
    until = table_.AliveUntil();  // a sign that came meanwhile did not see it set
    if (now < until) silent_.store(false);
  }
  const bool alive = now < until;
  if (std::exchange(alive_, alive) != alive) changed_(alive);
  // After End nothing remains to be looked for.
  if (!alive || until == TimePoint::max() || std::exchange(looks_later_, true)) return;
  executor_.Schedule(until - now, [weak = weak_from_this()] {
    const auto self = weak.lock();
    if (self == nullptr) return;
    self->looks_later_ = false;
    self->Look();
  });
}

}  // namespace baton::runtime
