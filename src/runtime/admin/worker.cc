#include "runtime/admin/worker.h"

#include <condition_variable>
#include <deque>
#include <mutex>
#include <utility>

namespace baton::runtime {

/// The thread has it, too, because it may outlive the object.
struct Worker::Shared {
  explicit Shared(std::size_t most) : bound(most) {}

  const std::size_t bound;
  std::mutex mutex;  // guards what follows
  std::condition_variable changed;
  std::deque<std::function<void()>> usual;
  std::deque<std::function<void()>> urgent;
  bool ending = false;
  bool ended = false;
};

Worker::Worker(std::size_t bound)
    : shared_(std::make_shared<Shared>(bound)), thread_([shared = shared_] { Run(*shared); }) {}

Worker::~Worker() {
  if (!thread_.joinable()) return;
  {
    std::lock_guard lock(shared_->mutex);
    shared_->ending = true;
  }
  shared_->changed.notify_all();
  thread_.join();
}

bool Worker::Post(std::function<void()> task, Urgency urgency) {
  {
    std::lock_guard lock(shared_->mutex);
    auto& queue = urgency == Urgency::kUrgent ? shared_->urgent : shared_->usual;
    if (shared_->ending || queue.size() >= shared_->bound) return false;
    queue.push_back(std::move(task));
  }
  shared_->changed.notify_all();
  return true;
}

bool Worker::End(Duration patience) {
  std::unique_lock lock(shared_->mutex);
  shared_->ending = true;
  shared_->changed.notify_all();
  const bool ended = shared_->changed.wait_for(lock, patience, [this] { return shared_->ended; });
  lock.unlock();
  if (ended) {
    thread_.join();
  } else {
    thread_.detach();
  }
  return ended;
}

void Worker::Run(Shared& shared) {
  std::unique_lock lock(shared.mutex);
  while (true) {
    shared.changed.wait(
        lock, [&] { return shared.ending || !shared.usual.empty() || !shared.urgent.empty(); });
    auto& queue = shared.urgent.empty() ? shared.usual : shared.urgent;
    if (queue.empty()) break;
    std::function<void()> task = std::move(queue.front());
    queue.pop_front();
    lock.unlock();
    task();
    task = nullptr;  // what it owns ends without the lock
    lock.lock();
  }
  shared.ended = true;
  shared.changed.notify_all();
}

}  // namespace baton::runtime
