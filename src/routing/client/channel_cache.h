// ChannelCache: keeps one gRPC channel for each leader address, at most kMaxChannels. The owner
// calls Sweep now and then, to drop unused channels.
//
// A connection may be dead without anybody noticing, for example because the leader's host lost
// power. The kernel would use this connection for up to 15 minutes. So an attempt that gets no
// answer drops its channel, and the next Get makes a new one. There are two exceptions:
//  - If another attempt on the channel was answered meanwhile, the channel stays.
//  - A young channel stays. A channel is young for kChannelYoung. If a dropped channel had a
//    connection, the next channel to its address is young for twice as long, up to kLongestYoung.
//    An answer sets this time back to kChannelYoung.
// So a leader that is only slow, or whose calls all end by their deadlines (long polls), rarely
// gets a new connection.
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
/// A channel that was made less than this time ago is not dropped for lack of answers.
inline constexpr Duration kChannelYoung = std::chrono::seconds(1);
/// The longest time to which kChannelYoung can double.
inline constexpr Duration kLongestYoung = std::chrono::seconds(64);

/// The gRPC arguments of all channels of a router.
grpc::ChannelArguments ChannelArguments();
/// Returns a channel to NamedTargetOf(target), which is not connected yet. REQUIRES (not checked):
/// `credentials` is not null.
std::shared_ptr<grpc::Channel> OpenChannel(
    const std::string& target, const std::shared_ptr<grpc::ChannelCredentials>& credentials,
    grpc::ChannelArguments arguments);
/// Returns the time `left` from now, by gRPC's monotonic clock.
gpr_timespec MonotonicDeadline(Duration left);

class ChannelCache {
 public:
  /// REQUIRES: `credentials` are not null.
  explicit ChannelCache(std::shared_ptr<grpc::ChannelCredentials> credentials)
      : credentials_(std::move(credentials)) {}

  /// Returns the address's channel; never null. If the cache has no channel for the address, makes
  /// one, but does not connect it. The cache keeps at most kMaxChannels addresses. Before it adds
  /// another one, it forgets the address whose last Get is the oldest, and drops that channel.
  /// REQUIRES (not checked): IsUsable accepts the address (leader_address.h).
  std::shared_ptr<grpc::Channel> Get(std::string_view address, TimePoint now);
  /// The server answered an attempt over this channel. Ignored if the cache has dropped the
  /// channel.
  void Answered(std::string_view address, const grpc::Channel* channel, TimePoint now);
  enum class Lack { kAnswer, kConnection };
  /// An attempt over this channel, which began at `begun`, got no answer (kAnswer), or found no
  /// connection (kConnection). Drops the channel, but not if the channel is young or an answer came
  /// after `begun`. Ignored if the cache has dropped the channel already.
  void Unanswered(std::string_view address, const grpc::Channel* channel, TimePoint begun,
                  TimePoint now, Lack lack);
  /// Drops channels that Get did not return for kChannelUnused, even if calls on them still run.
  /// Forgets the addresses of these channels.
  void Sweep(TimePoint now);
  /// Drops all channels and forgets their addresses. Later channels use these credentials. REQUIRES
  /// (not checked): `credentials` is not null.
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
