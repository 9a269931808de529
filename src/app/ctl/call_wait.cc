#include "app/ctl/call_wait.h"

#include <chrono>
#include <utility>

#include "app/ctl/interrupt.h"

namespace baton::app {
namespace {

constexpr std::chrono::milliseconds kInterruptCheck{20};

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

}  // namespace baton::app
