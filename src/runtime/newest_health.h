// NewestHealth: what the program said last about its health, on its way to the loop.
//
// A program that says so in a tight loop must not fill the loop's queue: one step is on its way at
// most, and takes the newest word. Thread-safe, lock-free.
#pragma once

#include <atomic>

namespace baton::runtime {

class NewestHealth {
 public:
  /// True: the caller must see to it that Take is called. False: another one has.
  [[nodiscard]] bool Set(bool healthy) {
    healthy_.store(healthy);
    return !on_its_way_.exchange(true);
  }
  /// The newest word. The next Set returns true again.
  bool Take() {
    on_its_way_.store(false);
    return healthy_.load();
  }

 private:
  std::atomic<bool> healthy_{true};
  std::atomic<bool> on_its_way_{false};
};

}  // namespace baton::runtime
