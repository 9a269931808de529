#include "app/ctl/call_wait.h"

#include <chrono>
#include <string>
#include <utility>

#include "access/access.h"
#include "app/ctl/interrupt.h"

namespace baton::app {
namespace {

constexpr std::chrono::milliseconds kInterruptCheck{20};
constexpr std::chrono::milliseconds kUntilKnown{2100};  // longer than access::Callers::kContested

// This port of ours had another user's connection a moment ago.
bool IsUserNotKnown(const grpc::Status& status) {
  return status.error_code() == grpc::StatusCode::PERMISSION_DENIED &&
         (status.error_message().find(access::kUserNotKnown) != std::string::npos ||
          status.error_message().find(access::kGroupsNotKnown) != std::string::npos);
}

}  // namespace

void CallCompletion::Finish(grpc::Status status) {
  const std::lock_guard lock(mutex_);
  status_ = std::move(status);
  done_ = true;
  changed_.notify_one();
}

grpc::Status CallCompletion::Wait(grpc::ClientContext* context) {
  std::unique_lock lock(mutex_);
  while (!changed_.wait_for(lock, kInterruptCheck, [this] { return done_; })) {
    if (Interrupt::Happened()) context->TryCancel();
  }
  return status_;
}

InterruptGuard::InterruptGuard(grpc::ClientContext& context)
    : thread_([this, &context] {
        std::unique_lock lock(mutex_);
        while (!changed_.wait_for(lock, kInterruptCheck, [this] { return over_; })) {
          if (Interrupt::Happened()) return context.TryCancel();
        }
      }) {}

InterruptGuard::~InterruptGuard() {
  {
    const std::lock_guard lock(mutex_);
    over_ = true;
  }
  changed_.notify_one();
  thread_.join();
}

std::chrono::system_clock::time_point SystemTime(TimePoint deadline) {
  return std::chrono::system_clock::now() +
         std::chrono::duration_cast<std::chrono::system_clock::duration>(deadline -
                                                                         BootClock::now());
}

bool WaitedUntilKnown(const grpc::Status& status, TimePoint deadline) {
  return IsUserNotKnown(status) && deadline - BootClock::now() > kUntilKnown &&
         Interrupt::Sleep(kUntilKnown);
}

}  // namespace baton::app
