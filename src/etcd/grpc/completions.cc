#include "etcd/grpc/completions.h"

namespace baton::etcd {

Completions::Completions() : thread_([this] { Run(); }) {}

Completions::~Completions() {
  queue_.Shutdown();
  thread_.join();
}

void Completions::Run() {
  void* tag = nullptr;
  bool ok = false;
  while (queue_.Next(&tag, &ok)) static_cast<Step*>(tag)->Completed(ok);
}

}  // namespace baton::etcd
