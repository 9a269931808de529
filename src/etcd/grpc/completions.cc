#include "etcd/grpc/completions.h"

#include "base/check.h"

namespace baton::etcd {

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
    const CallbackScope scope;
    static_cast<Step*>(tag)->Completed(ok);
  }
}

}  // namespace baton::etcd
