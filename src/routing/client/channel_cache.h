// ChannelCache: keeps one gRPC channel for each leader address, at most kMaxChannels. Sweep drops
// channels that Get did not return for kChannelUnused. The owner calls Sweep now and then.
//
// A connection may be dead without anybody noticing: the leader's host lost power, a link was cut,
// a NAT forgot the connection. The kernel would go on sending there for up to 15 minutes, also once
// the leader is back. So an attempt that gets no answer drops its channel, unless another attempt
// on this channel was answered meanwhile. The next Get makes a new channel. But a young channel
// stays: a channel is young for kChannelYoung. If a dropped channel had a connection, the next
// channel to that address is young for twice as long, up to kLongestYoung. An answer sets this time
// back to kChannelYoung. So a leader that is only slow, or whose calls all end by their deadlines
// (long polls), rarely gets a new connection.
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
/// For this long after it was made, a channel is not dropped for lack of answers.
inline constexpr Duration kChannelYoung = std::chrono::seconds(1);
/// The longest time to which kChannelYoung can double.
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

  /// Returns the address's channel; never null. If the cache has no channel for the address, makes
  /// one, but does not connect it. If the cache knows kMaxChannels other addresses then, it forgets
  /// the address for which Get was called least recently, and drops its channel. REQUIRES: IsUsable
  /// accepts the address (leader_address.h); not checked.
  std::shared_ptr<grpc::Channel> Get(std::string_view address, TimePoint now);
  /// The server answered an attempt over this channel. Ignored if the cache has dropped the
  /// channel.
  void Answered(std::string_view address, const grpc::Channel* channel, TimePoint now);
  enum class Lack { kAnswer, kConnection };
  /// An attempt over this channel, which began at `begun`, got no answer (kAnswer), or found no
  /// connection (kConnection). Drops the channel, unless it is young or an answer came after
  /// `begun`. Ignored if the cache has dropped the channel already.
  void Unanswered(std::string_view address, const grpc::Channel* channel, TimePoint begun,
                  TimePoint now, Lack lack);
  /// Drops channels that Get did not return for kChannelUnused, also if calls on them still run.
  void Sweep(TimePoint now);
  /// Drops all channels and forgets their addresses. Get makes new channels with these credentials.
  /// REQUIRES: not null.
  void SetCredentials(std::shared_ptr<grpc::ChannelCredentials> credentials);
  /// How many addresses the cache knows, also those whose channels Unanswered has dropped.
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
