#include "runtime/admin/worker.h"

#include <utility>

namespace baton::runtime {

Worker::Worker(std::size_t bound) : bound_(bound), thread_([this] { Run(); }) {}

Worker::~Worker() {
  {
    std::lock_guard lock(mutex_);
    ending_ = true;
  }
  changed_.notify_one();
  thread_.join();
}

bool Worker::Post(std::function<void()> task, Urgency urgency) {
  {
    std::lock_guard lock(mutex_);
    auto& queue = urgency == Urgency::kUrgent ? urgent_ : usual_;
    if (queue.size() >= bound_) return false;
    queue.push_back(std::move(task));
  }
  changed_.notify_one();
  return true;
}

void Worker::Run() {
  std::unique_lock lock(mutex_);
  while (true) {
    changed_.wait(lock, [this] { return ending_ || !usual_.empty() || !urgent_.empty(); });
    auto& queue = urgent_.empty() ? usual_ : urgent_;
    if (queue.empty()) return;
    std::function<void()> task = std::move(queue.front());
    queue.pop_front();
    lock.unlock();
    task();
    lock.lock();
  }
}

}  // namespace baton::runtime
