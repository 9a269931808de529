// ChannelCache: keeps one gRPC channel for each leader address, at most kMaxChannels. It drops
// channels that nobody used for kChannelUnused, and all channels when the credentials change.
//
// Thread-safe. A caller may continue to use a channel that the cache has dropped; it closes when
// its last user lets it go.
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
/// Returns a deadline for gRPC, `left` from now, by the monotonic clock.
gpr_timespec MonotonicDeadline(Duration left);

class ChannelCache {
 public:
  /// REQUIRES: `credentials` are not null.
  explicit ChannelCache(std::shared_ptr<grpc::ChannelCredentials> credentials)
      : credentials_(std::move(credentials)) {}

  /// Returns the address's channel, and makes it if there is none. A full cache then drops the
  /// least recently used channel. REQUIRES: IsUsable(address), see leader_address.h; not checked.
  std::shared_ptr<grpc::Channel> Get(std::string_view address, TimePoint now);
  /// Drops channels that were not used for kChannelUnused.
  void Sweep(TimePoint now);
  /// Drops all channels. Get makes new ones with these credentials. REQUIRES: not null.
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
