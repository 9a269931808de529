// ChannelCache: keeps one gRPC channel for each leader address, at most kMaxChannels. Sweep drops
// channels that Get did not return for kChannelUnused; the owner calls it now and then.
//
// A connection may be dead without anybody noticing: the leader's host lost power, a link was cut,
// a NAT forgot the connection. The kernel would go on sending there for up to 15 minutes, also once
// the leader is back. So an attempt that gets no answer drops its channel, unless another attempt
// on it was answered meanwhile. The next Get makes a new channel. A channel that is younger than
// kChannelYoung stays. If a dropped channel had a connection, the next one to that address is young
// for twice as long, up to kLongestYoung. An answer ends that. So a leader that is only
// slow, or whose calls all end by their deadlines (long polls), rarely gets a new connection.
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
/// A channel that was made less than this long ago is not dropped for want of answers.
inline constexpr Duration kChannelYoung = std::chrono::seconds(1);
inline constexpr Duration kLongestYoung = std::chrono::seconds(64);

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
  /// The server answered an attempt over this channel. Ignored if the cache has dropped it.
  void Answered(std::string_view address, const grpc::Channel* channel, TimePoint now);
  enum class Lack { kAnswer, kConnection };
  /// An attempt over this channel, which began at `begun`, got no answer, or found no connection.
  /// Drops the channel unless it is young, or an answer came after `begun`.
  void Unanswered(std::string_view address, const grpc::Channel* channel, TimePoint begun,
                  TimePoint now, Lack lack);
  /// Drops channels that Get did not return for kChannelUnused, also if calls on them still run.
  void Sweep(TimePoint now);
  /// Drops all channels. Get makes new ones with these credentials. REQUIRES: not null.
  void SetCredentials(std::shared_ptr<grpc::ChannelCredentials> credentials);
  std::size_t size() const;

 private:
  struct Used {
    std::shared_ptr<grpc::Channel> channel;  // null: it was dropped
    TimePoint at;                            // of the last Get
    TimePoint made;
    TimePoint answered;  // last; at first `made`
    Duration young = kChannelYoung;
  };
  std::shared_ptr<grpc::Channel> Make(const std::string& address) const;
  Used* Find(std::string_view address, const grpc::Channel* channel);

  mutable std::mutex mutex_;  // guards what follows
  std::shared_ptr<grpc::ChannelCredentials> credentials_;
  std::unordered_map<std::string, Used> channels_;  // by address
};

}  // namespace baton::routing
