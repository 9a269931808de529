#include "etcd/grpc/completions.h"

#include <atomic>
#include <cstdint>

#include "base/check.h"

namespace baton::etcd {
namespace {

// gRPC hands a step from the thread that starts it to the queue's in a way that race detectors
// don't see; they see this count.
std::atomic<std::uint64_t> steps_started{0};

}  // namespace

void* Step::tag() {
  steps_started.fetch_add(1, std::memory_order_release);
  return this;
}

thread_local int CallbackScope::depth_ = 0;

Completions::Completions() : thread_([this] { Run(); }) {}

Completions::~Completions() {
  BATON_CHECK(thread_.get_id() != std::this_thread::get_id());
  queue_.Shutdown();
  thread_.join();
}

void Completions::Run() {
  void* tag = nullptr;
  bool ok = false;
  while (queue_.Next(&tag, &ok)) {
    steps_started.load(std::memory_order_acquire);
    const CallbackScope scope;
    static_cast<Step*>(tag)->Completed(ok);
  }
}

}  // namespace baton::etcd
