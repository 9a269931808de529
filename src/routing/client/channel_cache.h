// ChannelCache: keeps one gRPC channel for each leader address, at most kMaxChannels. Sweep drops
// channels that Get did not return for kChannelUnused; the owner calls it now and then.
//
// Thread-safe; waits only for short locks. A caller may go on using a channel that the cache has
// dropped: the channel closes when its last user releases it.
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
/// Returns the time `left` from now, by gRPC's monotonic clock.
gpr_timespec MonotonicDeadline(Duration left);

class ChannelCache {
 public:
  /// REQUIRES: `credentials` are not null.
  explicit ChannelCache(std::shared_ptr<grpc::ChannelCredentials> credentials)
      : credentials_(std::move(credentials)) {}

  /// Returns the address's channel; never null. Makes it if the cache has none, but does not
  /// connect. If the cache is full then, it drops the channel that Get has not returned for
  /// longest. REQUIRES: IsUsable accepts the address (leader_address.h); not checked.
  std::shared_ptr<grpc::Channel> Get(std::string_view address, TimePoint now);
  /// Drops channels that Get did not return for kChannelUnused, also if calls on them still run.
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
