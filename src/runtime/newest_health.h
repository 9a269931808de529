// NewestHealth: the health that the program stated last, on its way to the loop.
//
// A program may state its health in a tight loop, and must not fill the queue of the node's loop.
// So at most one step is on its way, and this step takes the newest statement. Thread-safe,
// lock-free.
#pragma once

#include <atomic>

namespace baton::runtime {

class NewestHealth {
 public:
  /// Sets the newest health. Returns true if the caller must make sure that Take is called; false
  /// if an earlier caller does so already. Before the first Set, the health is true.
  [[nodiscard]] bool Set(bool healthy) {
    healthy_.store(healthy);
    return !on_its_way_.exchange(true);
  }
  /// Returns the newest health. The next Set returns true again.
  bool Take() {
    on_its_way_.store(false);
    return healthy_.load();
  }

 private:
  std::atomic<bool> healthy_{true};
  std::atomic<bool> on_its_way_{false};
};

}  // namespace baton::runtime
