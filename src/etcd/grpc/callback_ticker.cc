#include "etcd/grpc/callback_ticker.h"

#include <grpcpp/grpcpp.h>

#include <chrono>

#include "etcd/etcd.grpc.pb.h"

namespace baton::etcd {
namespace {

// A thread sleeps only after a second without work, so the thread of the last tick stays awake.
constexpr std::chrono::milliseconds kTick{250};

}  // namespace

CallbackTicker::CallbackTicker() : thread_([this] { Run(); }) {}

CallbackTicker::~CallbackTicker() {
  {
    const std::lock_guard lock(mutex_);
    stop_ = true;
    changed_.notify_all();
  }
  thread_.join();
}

void CallbackTicker::Run() {
  // Without credentials gRPC makes a channel whose calls fail at once. It reaches nobody, so it
  // needs no LimitChannel.
  const auto stub = etcdserverpb::KV::NewStub(grpc::CreateChannel("", nullptr));
  std::unique_lock lock(mutex_);
  while (!stop_) {
    grpc::ClientContext context;
    const etcdserverpb::RangeRequest request;
    etcdserverpb::RangeResponse response;
    bool over = false;
    lock.unlock();
    stub->async()->Range(&context, &request, &response, [&](const grpc::Status&) {
      const std::lock_guard done(mutex_);
      over = true;
      changed_.notify_all();
    });
    lock.lock();
    changed_.wait(lock, [&] { return over; });
    changed_.wait_for(lock, kTick, [&] { return stop_; });
  }
}

}  // namespace baton::etcd
