#include "app/daemon/connection_shares.h"

#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sys/socket.h>

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstring>
#include <optional>

#include "base/log.h"

namespace baton::app {
namespace {

// To look at all descriptors takes a relay some milliseconds, so a flood must not cause it each
// time.
constexpr std::chrono::milliseconds kLookEvery{200};
constexpr std::chrono::minutes kWarnAgain{1};

/// nullopt: the descriptor is closed.
std::optional<struct stat> FileOf(int descriptor) {
  struct stat file {};
  if (fstat(descriptor, &file) != 0) return std::nullopt;
  return file;
}

// The place of tcpi_bytes_received in what the kernel answers (linux/tcp.h). netinet/tcp.h does not
// have it, and the two can't be included together.
constexpr std::size_t kBytesReceived = 128;

/// All bytes that the other side of a TCP connection has sent; 0 if the kernel does not say.
std::int64_t ReceivedBy(int connection) {
  std::array<char, 256> info{};
  socklen_t size = info.size();
  std::int64_t received = 0;
  const bool told = getsockopt(connection, IPPROTO_TCP, TCP_INFO, info.data(), &size) == 0 &&
                    size >= kBytesReceived + sizeof received;
  if (told) std::memcpy(&received, info.data() + kBytesReceived, sizeof received);
  return received;
}

}  // namespace

ConnectionListener::Served ConnectionShares::Admit(const Newcomer& newcomer,
                                                   const access::Caller& caller, TimePoint now) {
  using Served = ConnectionListener::Served;
  // Its number was given out again, so the connection that had it is over.
  if (const auto earlier = held_.find(newcomer.connection); earlier != held_.end()) Forget(earlier);
  if (caller.user && !access_->Refusal(caller, access::Role::kOperate)) return Served::kTaken;
  if (newcomer.free <= 0) return Served::kNoPlace;
  const std::string name = access::LimitedAs(caller);
  if (now >= look_at_) {
    look_at_ = now + kLookEvery;
    Look(newcomer);
  }
  if (IsBarred(name, now)) return Served::kShare;
  if (HasShare(newcomer, name)) {
    if (now < quiet_until_) return Served::kShare;
    quiet_until_ = now + kWarnAgain;
    log::Warn("gRPC connections are refused: this caller has its share of them",
              {{"by", name}, {"connections", of_caller_[name]}});
    return Served::kShare;
  }
  const auto file = FileOf(newcomer.connection);
  if (!file) return Served::kNoPlace;
  held_[newcomer.connection] = {
      .caller = name, .device = file->st_dev, .file = file->st_ino, .received = 0};
  ++of_caller_[name];
  return Served::kTaken;
}

// The number of a new connection tells at least how many descriptors are in use. More are, if one
// that ended has left a low number.
bool ConnectionShares::HasShare(const Newcomer& newcomer, const std::string& caller) const {
  const auto known = of_caller_.find(caller);
  if (known == of_caller_.end()) return false;
  const auto used = std::max(newcomer.connection, static_cast<int>(held_.size()) + others_);
  const int free = newcomer.connection + newcomer.free - used;
  return static_cast<int>(known->second) >= kTimesFree * free;
}

bool ConnectionShares::IsBarred(const std::string& caller, TimePoint now) const {
  const auto barred = barred_until_.find(caller);
  return barred != barred_until_.end() && now < barred->second;
}

int ConnectionShares::Weigh(TimePoint now) {
  std::vector<Sender> senders = Senders();
  std::int64_t sent = 0;
  for (const Sender& sender : senders) sent += sender.sent;
  const auto passed = std::min<Duration>(now - weighed_at_, std::chrono::hours(1));
  const std::int64_t more = budget_.a_second * (passed / std::chrono::milliseconds(1)) / 1000;
  left_ = std::min(budget_.at_once, left_ + more);
  weighed_at_ = now;
  std::sort(senders.begin(), senders.end(), [](const Sender& one, const Sender& other) {
    return std::pair(-one.sent, one.descriptor) < std::pair(-other.sent, other.descriptor);
  });
  int ended = 0;
  for (; sent > left_; ++ended) {
    const Sender& most = senders[static_cast<std::size_t>(ended)];
    End(most, now);
    sent -= most.sent;
  }
  left_ -= sent;
  return ended;
}

std::vector<ConnectionShares::Sender> ConnectionShares::Senders() {
  std::vector<Sender> senders;
  for (auto held = held_.cbegin(); held != held_.cend();) {
    const auto each = held++;
    const auto file = FileOf(each->first);
    if (!file || file->st_dev != each->second.device || file->st_ino != each->second.file) {
      Forget(each);
      continue;
    }
    const std::int64_t received = ReceivedBy(each->first);
    Held& known = held_.at(each->first);
    senders.push_back({each->first, received - std::exchange(known.received, received)});
  }
  return senders;
}

void ConnectionShares::End(const Sender& sender, TimePoint now) {
  const std::string& caller = held_.at(sender.descriptor).caller;
  std::erase_if(barred_until_, [now](const auto& barred) { return barred.second <= now; });
  barred_until_[caller] = now + kBarred;
  shutdown(sender.descriptor, SHUT_RDWR);
  if (now < quiet_about_ends_until_) return;
  quiet_about_ends_until_ = now + kWarnAgain;
  log::Warn("gRPC connections are ended: callers sent too much, this one most",
            {{"by", caller}, {"bytes", sender.sent}});
}

void ConnectionShares::Forget(HeldByDescriptor::const_iterator held) {
  const auto count = of_caller_.find(held->second.caller);
  if (--count->second == 0) of_caller_.erase(count);
  held_.erase(held);
}

void ConnectionShares::Look(const Newcomer& newcomer) {
  others_ = 0;
  const int places = newcomer.connection + newcomer.free;
  for (int descriptor = 0; descriptor < places; ++descriptor) {
    const auto file = FileOf(descriptor);
    const auto held = held_.find(descriptor);
    const bool same = file && held != held_.end() && file->st_dev == held->second.device &&
                      file->st_ino == held->second.file;
    if (held != held_.end() && !same) Forget(held);
    if (file && !same && descriptor != newcomer.connection) ++others_;
  }
}

}  // namespace baton::app
