#include "runtime/metrics/status_source.h"

#include <condition_variable>
#include <cstdint>
#include <mutex>
#include <utility>

namespace baton::runtime {

namespace {

/// The wall-clock time of NodeStatus::at. A stopped node's status says no time; it is made now.
std::chrono::system_clock::time_point MadeAt(const NodeStatus* status) {
  const auto now = std::chrono::system_clock::now();
  if (status == nullptr || status->at == TimePoint{}) return now;
  return now - std::chrono::duration_cast<std::chrono::system_clock::duration>(BootClock::now() -
                                                                               status->at);
}

}  // namespace

struct StatusSource::Shared {
  std::mutex mutex;  // guards everything below
  std::condition_variable answered;
  bool asking = false;
  std::uint64_t answers = 0;
  LatestStatus latest;
};

StatusSource::StatusSource(Control& control, std::chrono::milliseconds patience)
    : control_(control), patience_(patience), shared_(std::make_shared<Shared>()) {}

void StatusSource::Ask(Control& control, const std::shared_ptr<Shared>& shared) {
  control.GetStatus([shared](std::shared_ptr<const NodeStatus> status) {
    const std::lock_guard lock(shared->mutex);
    shared->asking = false;
    ++shared->answers;
    shared->latest.taken = MadeAt(status.get());
    shared->latest.status = std::move(status);
    shared->answered.notify_all();
  });
}

LatestStatus StatusSource::Get() {
  std::unique_lock lock(shared_->mutex);
  const std::uint64_t before = shared_->answers;
  if (!std::exchange(shared_->asking, true)) {
    // GetStatus may call the handler on this thread.
    lock.unlock();
    Ask(control_, shared_);
    lock.lock();
  }
  const bool fresh =
      shared_->answered.wait_for(lock, patience_, [&] { return shared_->answers != before; });
  LatestStatus latest = shared_->latest;
  latest.fresh = fresh;
  return latest;
}

}  // namespace baton::runtime
