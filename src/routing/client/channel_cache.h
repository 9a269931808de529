// ChannelCache: keeps one gRPC channel per leader address, at most kMaxChannels of them, and
// closes channels that nobody used for a while, or whose credentials were replaced.
//
// Thread-safe. A caller may continue to use a channel after the cache has dropped that channel.
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

inline constexpr std::size_t kMaxChannels = 1024;
inline constexpr Duration kChannelUnused = std::chrono::minutes(5);

/// The arguments that all of a router's channels have in common.
grpc::ChannelArguments ChannelArguments();
/// A deadline for gRPC, `left` from now, that does not depend on the wall clock.
gpr_timespec MonotonicDeadline(Duration left);

class ChannelCache {
 public:
  explicit ChannelCache(std::shared_ptr<grpc::ChannelCredentials> credentials)
      : credentials_(std::move(credentials)) {}

  /// Returns the address's channel, or makes one. A full cache drops the least recently used
  /// channel. REQUIRES: IsUsable(address), see leader_address.h.
  std::shared_ptr<grpc::Channel> Get(std::string_view address, TimePoint now);
  /// Drops channels that were not used for kChannelUnused.
  void Sweep(TimePoint now);
  /// For the channels that Get makes from now on. Drops all others.
  void SetCredentials(std::shared_ptr<grpc::ChannelCredentials> credentials);
  std::size_t size() const;

 private:
  struct Used {
    std::shared_ptr<grpc::Channel> channel;
    TimePoint at;
  };

  mutable std::mutex mutex_;  // guards what follows
  std::shared_ptr<grpc::ChannelCredentials> credentials_;
  std::unordered_map<std::string, Used> channels_;  // by address
};

}  // namespace baton::routing
