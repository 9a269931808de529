#include "app/daemon/callback_probe.h"

namespace baton::app {

// Without credentials gRPC makes a channel whose calls fail at once. It reaches nobody, so it needs
// no LimitChannel.
CallbackProbe::CallbackProbe() : stub_(grpc::CreateChannel("", nullptr)) {
  const grpc::Slice nothing("");
  request_ = grpc::ByteBuffer(&nothing, 1);
}

CallbackProbe::~CallbackProbe() {
  std::unique_lock lock(mutex_);
  changed_.wait(lock, [this] { return over_; });
}

Duration CallbackProbe::Waited(TimePoint now) {
  {
    const std::lock_guard lock(mutex_);
    if (!over_) return now - begun_;
    over_ = false;
  }
  begun_ = now;
  context_ = std::make_unique<grpc::ClientContext>();
  stub_.UnaryCall(context_.get(), "/baton/Probe", {}, &request_, &response_,
                  [this](const grpc::Status&) {
                    const std::lock_guard lock(mutex_);
                    over_ = true;
                    changed_.notify_all();
                  });
  return Duration(0);
}

}  // namespace baton::app
