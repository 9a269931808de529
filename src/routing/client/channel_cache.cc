#include "routing/client/channel_cache.h"

#include <algorithm>
#include <utility>

#include <grpcpp/create_channel.h>

#include "routing/leader_address.h"

namespace baton::routing {

grpc::ChannelArguments ChannelArguments() {
  grpc::ChannelArguments arguments;
  // A restarted leader must be found soon; gRPC's default backoff grows to 2 minutes.
  arguments.SetInt(GRPC_ARG_INITIAL_RECONNECT_BACKOFF_MS, 20);
  arguments.SetInt(GRPC_ARG_MAX_RECONNECT_BACKOFF_MS, 500);
  arguments.SetInt(GRPC_ARG_MIN_RECONNECT_BACKOFF_MS, 2000);  // in fact: bounds one connect
  // A leader that is back may have another address (Kubernetes); gRPC's default is 30 s.
  arguments.SetInt(GRPC_ARG_DNS_MIN_TIME_BETWEEN_RESOLUTIONS_MS, 500);
  // Otherwise a new channel would share the dead connection of the one that was dropped.
  arguments.SetInt(GRPC_ARG_USE_LOCAL_SUBCHANNEL_POOL, 1);
  // Proxies and service configurations are meant for connections to outside the cluster.
  arguments.SetInt(GRPC_ARG_ENABLE_HTTP_PROXY, 0);
  arguments.SetInt(GRPC_ARG_SERVICE_CONFIG_DISABLE_RESOLUTION, 1);
  return arguments;
}

std::shared_ptr<grpc::Channel> OpenChannel(
    const std::string& target, const std::shared_ptr<grpc::ChannelCredentials>& credentials,
    grpc::ChannelArguments arguments) {
  const NamedTarget to = NamedTargetOf(target);
  // gRPC compares this name with the server's certificate, and sends it with each call.
  if (!to.authority.empty()) arguments.SetString(GRPC_ARG_DEFAULT_AUTHORITY, to.authority);
  return grpc::CreateCustomChannel(to.target, credentials, arguments);
}

gpr_timespec MonotonicDeadline(Duration left) {
  return gpr_time_add(gpr_now(GPR_CLOCK_MONOTONIC),
                      gpr_time_from_nanos(left.count(), GPR_TIMESPAN));
}

// No LimitChannel: the messages are the application's, which may compress them.
std::shared_ptr<grpc::Channel> ChannelCache::Make(const std::string& address) const {
  return OpenChannel(TargetOf(address), credentials_, ChannelArguments());
}

std::shared_ptr<grpc::Channel> ChannelCache::Get(std::string_view address, TimePoint now) {
  std::shared_ptr<grpc::Channel> old;  // destroyed after the lock is released
  const std::lock_guard lock(mutex_);
  const std::string key(address);
  const auto found = channels_.find(key);
  if (found != channels_.end()) {
    Used& used = found->second;
    used.at = now;
    if (used.channel == nullptr) {
      used.channel = Make(key);
      used.made = used.answered = now;
    }
    return used.channel;
  }
  if (channels_.size() >= kMaxChannels) {
    const auto oldest =
        std::min_element(channels_.begin(), channels_.end(),
                         [](const auto& a, const auto& b) { return a.second.at < b.second.at; });
    old = std::move(oldest->second.channel);
    channels_.erase(oldest);
  }
  auto channel = Make(key);
  channels_.emplace(key, Used{.channel = channel, .at = now, .made = now, .answered = now});
  return channel;
}

ChannelCache::Used* ChannelCache::Find(std::string_view address, const grpc::Channel* channel) {
  const auto found = channels_.find(std::string(address));
  return found != channels_.end() && found->second.channel.get() == channel ? &found->second
                                                                            : nullptr;
}

void ChannelCache::Answered(std::string_view address, const grpc::Channel* channel, TimePoint now) {
  const std::lock_guard lock(mutex_);
  Used* const used = Find(address, channel);
  if (used == nullptr) return;
  used->answered = std::max(used->answered, now);
  used->young = kChannelYoung;
}

void ChannelCache::Unanswered(std::string_view address, const grpc::Channel* channel,
                              TimePoint begun, TimePoint now, Lack lack) {
  std::shared_ptr<grpc::Channel> old;  // destroyed after the lock is released
  const std::lock_guard lock(mutex_);
  Used* const used = Find(address, channel);
  if (used == nullptr || used->answered > begun || now < used->made + used->young) return;
  old = std::move(used->channel);
  if (lack == Lack::kAnswer) used->young = std::min(2 * used->young, kLongestYoung);
}

void ChannelCache::Sweep(TimePoint now) {
  std::unordered_map<std::string, Used> unused;  // destroyed after the lock is released
  const std::lock_guard lock(mutex_);
  for (auto at = channels_.begin(); at != channels_.end();) {
    const auto next = std::next(at);
    if (now - at->second.at >= kChannelUnused) unused.insert(channels_.extract(at));
    at = next;
  }
}

void ChannelCache::SetCredentials(std::shared_ptr<grpc::ChannelCredentials> credentials) {
  std::unordered_map<std::string, Used> old;  // destroyed after the lock is released
  const std::lock_guard lock(mutex_);
  credentials_ = std::move(credentials);
  old.swap(channels_);
}

std::size_t ChannelCache::size() const {
  const std::lock_guard lock(mutex_);
  return channels_.size();
}

}  // namespace baton::routing
