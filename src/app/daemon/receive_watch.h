// ReceiveWatch: weighs what callers send (base/receive_budget.h), on a thread of its own, which
// gRPC can't hold up: the thread that hands a connection to gRPC may have to read from it for as
// long as more comes. It also gives memory back to the system that nobody uses any more.
#pragma once

#include <chrono>
#include <condition_variable>
#include <memory>
#include <mutex>
#include <thread>

#include "base/receive_budget.h"

namespace baton::app {

class ReceiveWatch {
 public:
  static constexpr std::chrono::milliseconds kEvery{100};
  /// The longest pause. Ten thousand connections take some 10 ms to weigh, so pauses are longer
  /// then, to take at most about a twentieth of a processor.
  static constexpr std::chrono::milliseconds kLongest{300};

  explicit ReceiveWatch(const ReceiveBudget::Bounds& bounds)
      : budget_(std::make_shared<ReceiveBudget>(bounds)) {}
  /// Begins. REQUIRES: called at most once.
  void Start();
  /// Ends, and waits for the thread.
  ~ReceiveWatch() = default;

  /// Never null, and may outlive this object. Any thread.
  const std::shared_ptr<ReceiveBudget>& budget() const { return budget_; }

 private:
  void Run(const std::stop_token& stop);

  const std::shared_ptr<ReceiveBudget> budget_;
  std::mutex mutex_;
  std::condition_variable_any changed_;
  std::jthread thread_;
};

}  // namespace baton::app
