// ReceiveWatch: calls ReceiveBudget::Weigh (base/receive_budget.h) again and again. It has a thread
// of its own for this, which gRPC can't delay. (gRPC can delay the thread that hands a connection
// to it: that thread may have to read from the connection as long as more comes.) ReceiveWatch also
// gives unused memory of the process back to the system.
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
  /// The longest pause. With ten thousand connections, Weigh takes some 10 ms. Then the pauses get
  /// longer, up to this bound, so that the thread takes only about a twentieth of a processor.
  static constexpr std::chrono::milliseconds kLongest{300};
  static constexpr std::chrono::seconds kLate{1};

  explicit ReceiveWatch(const ReceiveBudget::Bounds& bounds)
      : budget_(std::make_shared<ReceiveBudget>(bounds)) {}
  /// Starts the thread. If a callback of gRPC has waited for kLate or longer, the thread calls
  /// `late` before each call of Weigh. REQUIRES (not checked): called at most once; `late` is set,
  /// and does not wait.
  void Start(std::function<void()> late);
  /// Ends the thread and waits for it.
  ~ReceiveWatch() = default;

  /// Returns the budget, which is never null, also before Start. It may outlive this object, but
  /// then nobody calls Weigh. Any thread.
  const std::shared_ptr<ReceiveBudget>& budget() const { return budget_; }

 private:
  void Run(const std::stop_token& stop, const std::function<void()>& late);

  const std::shared_ptr<ReceiveBudget> budget_;
  std::mutex mutex_;
  std::condition_variable_any changed_;
  std::jthread thread_;
};

}  // namespace baton::app
