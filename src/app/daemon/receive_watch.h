// ReceiveWatch: calls ReceiveBudget::Weigh (base/receive_budget.h) again and again, on a thread of
// its own that gRPC can't delay. It also gives unused memory back to the system.
#pragma once

#include <chrono>
#include <condition_variable>
#include <functional>
#include <memory>
#include <mutex>
#include <thread>

#include "base/receive_budget.h"

namespace baton::app {

class ReceiveWatch {
 public:
  /// The shortest pause between two calls of Weigh.
  static constexpr std::chrono::milliseconds kEvery{100};
  /// The longest pause. The more connections there are, the longer Weigh takes. Then the pauses get
  /// longer, up to this bound, so that the thread takes only about a twentieth of a processor.
  static constexpr std::chrono::milliseconds kLongest{300};
  static constexpr std::chrono::seconds kLate{1};  ///< see Start

  explicit ReceiveWatch(const ReceiveBudget::Bounds& bounds)
      : budget_(std::make_shared<ReceiveBudget>(bounds)) {}
  /// Starts the thread. While a callback of gRPC has waited for kLate or longer, the thread calls
  /// `late` before each call of Weigh. REQUIRES (not checked): called at most once; `late` is set,
  /// and does not wait.
  void Start(std::function<void()> late);
  /// Ends the thread and waits for it.
  ~ReceiveWatch() = default;

  /// Returns the budget, which is never null, not even before Start. The budget may outlive this
  /// object, but then nobody calls Weigh. Any thread.
  const std::shared_ptr<ReceiveBudget>& budget() const { return budget_; }

 private:
  void Run(const std::stop_token& stop, const std::function<void()>& late);

  const std::shared_ptr<ReceiveBudget> budget_;
  std::mutex mutex_;
  std::condition_variable_any changed_;
  std::jthread thread_;
};

}  // namespace baton::app
