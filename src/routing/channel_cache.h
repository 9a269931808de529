// ChannelCache: one channel for each leader's address. Bounded; what is long unused goes.
//
// Thread-safe. Whoever holds a channel that goes may use it on.
#pragma once

#include <chrono>
#include <cstddef>
#include <memory>
#include <mutex>
#include <string>
#include <string_view>
#include <unordered_map>

#include <grpcpp/channel.h>
#include <grpcpp/security/credentials.h>
#include <grpcpp/support/channel_arguments.h>

#include "base/clock.h"

namespace baton::routing {

inline constexpr std::size_t kMostChannels = 1024;
inline constexpr Duration kChannelUnused = std::chrono::minutes(5);

/// What all of a router's channels have in common.
grpc::ChannelArguments ChannelArguments();
/// A deadline for gRPC that no step of the wall clock moves.
gpr_timespec MonotonicDeadline(Duration left);

class ChannelCache {
 public:
  explicit ChannelCache(std::shared_ptr<grpc::ChannelCredentials> credentials)
      : credentials_(std::move(credentials)) {}

  /// Where there are kMostChannels, the longest unused one goes.
  std::shared_ptr<grpc::Channel> Get(std::string_view address, TimePoint now);
  /// Lets go of what was unused for kChannelUnused.
  void Sweep(TimePoint now);
  std::size_t size() const;

 private:
  struct Used {
    std::shared_ptr<grpc::Channel> channel;
    TimePoint at;
  };

  const std::shared_ptr<grpc::ChannelCredentials> credentials_;
  mutable std::mutex mutex_;
  std::unordered_map<std::string, Used> channels_;  // by address; guarded by mutex_
};

}  // namespace baton::routing
