// ReceiveWatch: calls ReceiveBudget::Weigh (base/receive_budget.h) again and again, on a thread of
// its own, which gRPC can't hold up. The thread that hands a connection to gRPC can be held up: it
// may have to read from the connection for as long as more comes. ReceiveWatch also gives unused
// memory of the process back to the system.
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
  /// The longest pause. With ten thousand connections, Weigh takes some 10 ms; so pauses get
  /// longer, and the thread takes about a twentieth of a processor at most.
  static constexpr std::chrono::milliseconds kLongest{300};
  static constexpr std::chrono::seconds kLate{1};

  explicit ReceiveWatch(const ReceiveBudget::Bounds& bounds)
      : budget_(std::make_shared<ReceiveBudget>(bounds)) {}
  /// Starts the thread. It calls `late` in each of its turns in which a callback of gRPC has waited
  /// for kLate or longer. REQUIRES: called at most once.
  void Start(std::function<void()> late);
  /// Ends the thread and waits for it.
  ~ReceiveWatch() = default;

  /// Never null. The budget may outlive this object, but nobody calls Weigh then. Any thread.
  const std::shared_ptr<ReceiveBudget>& budget() const { return budget_; }

 private:
  void Run(const std::stop_token& stop, const std::function<void()>& late);

  const std::shared_ptr<ReceiveBudget> budget_;
  std::mutex mutex_;
  std::condition_variable_any changed_;
  std::jthread thread_;
};

}  // namespace baton::app
