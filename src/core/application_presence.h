// ApplicationPresence: whether the application is there. The state can change if the application is
// another process, or if a watchdog watches this process. Otherwise it is always kAttached.
//
// Pure and single-threaded: owned by the core.
#pragma once

#include <optional>
#include <utility>

#include "base/clock.h"
#include "core/events.h"

namespace baton::core {

class ApplicationPresence {
 public:
  /// An external application (another process) is kAbsent at first. Any other is kAttached.
  explicit ApplicationPresence(bool external)
      : state_(external ? ApplicationState::kAbsent : ApplicationState::kAttached) {}

  void On(const ApplicationChanged& event, TimePoint now) {
    if (event.state == state_) return;
    change_ = Change{.to = event.state, .detached_for = std::nullopt};
    if (state_ == ApplicationState::kAbsent) there_since_ = now;
    if (state_ == ApplicationState::kDetached) change_->detached_for = now - detached_at_;
    if (event.state == ApplicationState::kDetached) detached_at_ = now;
    state_ = event.state;
  }

  struct Change {
    ApplicationState to = ApplicationState::kAttached;
    std::optional<Duration> detached_for;  ///< unset: the state before was not kDetached
  };
  /// Returns the newest change since the last call, and forgets older ones. nullopt: no change.
  std::optional<Change> TakeChange() { return std::exchange(change_, std::nullopt); }

  ApplicationState state() const { return state_; }
  bool absent() const { return state_ == ApplicationState::kAbsent; }
  /// When the state last changed from kAbsent to another one; TimePoint{}: never.
  TimePoint there_since() const { return there_since_; }

 private:
  ApplicationState state_;
  std::optional<Change> change_;
  TimePoint detached_at_{};
  TimePoint there_since_{};
};

}  // namespace baton::core
