#include "base/receive_budget.h"

#include <fcntl.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstring>
#include <fstream>
#include <optional>
#include <utility>

#include "base/log.h"

namespace baton {
namespace {

constexpr std::chrono::minutes kWarnAgain{1};
constexpr std::chrono::seconds kKept{4};  // what callers sent before a callback waited counts, too
constexpr const char* kBytes = "callers sent too much";
constexpr const char* kOne = "one of them sent more than is expected of it";
constexpr const char* kMemory = "this process grew too fast";
constexpr const char* kTime = "this process had no time for others";

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

bool ReceiveBudget::Add(int connection, const std::string& caller, int below, std::int64_t most) {
  const std::lock_guard lock(mutex_);
  // Its number was given out again, so the connection that had it is over, and leaves its second
  // descriptor to this one.
  if (const auto earlier = held_.find(connection); earlier != held_.end()) Forget(earlier);
  OwnedDescriptor second(fcntl(connection, F_DUPFD_CLOEXEC, 0));
  const auto file = FileOf(second.get());
  if (!file || second.get() >= below) return false;
  held_.emplace(connection, Held{.caller = caller,
                                 .second = std::move(second),
                                 .device = file->st_dev,
                                 .file = file->st_ino,
                                 .most = most});
  return true;
}

bool ReceiveBudget::IsBarred(const std::string& caller, TimePoint now) const {
  const std::lock_guard lock(mutex_);
  const auto barred = barred_until_.find(caller);
  return barred != barred_until_.end() && now < barred->second;
}

void ReceiveBudget::Weigh(TimePoint now, Duration waited) {
  const std::lock_guard lock(mutex_);
  Senders senders = Count();
  std::erase_if(barred_until_, [now](const auto& barred) { return barred.second <= now; });
  if (senders.empty()) return looks_.clear();
  const std::int64_t resident = resident_();  // 0: not known
  const auto passed = std::min<Duration>(now - weighed_at_, std::chrono::hours(1));
  const std::int64_t more = bounds_.a_second * (passed / std::chrono::milliseconds(1)) / 1000;
  left_ = std::min(bounds_.at_once, left_ + more);
  weighed_at_ = now;
  std::int64_t sent = 0;
  Look look{.at = now, .resident = resident, .sent = {}};
  for (const auto& [caller, sender] : senders) {
    sent += sender.sent;
    if (sender.sent > 0) look.sent[caller] = sender.sent;
  }
  looks_.push_back(std::move(look));
  for (auto sender = senders.begin(); sender != senders.end();) {
    const auto each = sender++;
    if (!each->second.too_much) continue;
    sent -= each->second.sent;
    EndForBytes(senders, each, kOne, now);
  }
  while (sent > left_ && !senders.empty()) {
    const auto most = std::max_element(
        senders.begin(), senders.end(),
        [](const auto& one, const auto& other) { return one.second.sent < other.second.sent; });
    sent -= most->second.sent;
    EndForBytes(senders, most, kBytes, now);
  }
  left_ = std::max<std::int64_t>(0, left_ - sent);
  const bool grown = Growth(now, resident) > bounds_.growth;
  if (!grown && waited <= bounds_.wait) return;
  const Duration since = grown ? Duration(kWindow) : kWindow + waited;
  for (const auto& [caller, bytes] : Suspects(now - since)) {
    End(caller, senders[caller].sockets, {grown ? kMemory : kTime, bytes}, now);
    ++(grown ? ended_.for_memory : ended_.for_time);
  }
  looks_.clear();
}

ReceiveBudget::Senders ReceiveBudget::Count() {
  Senders senders;
  for (auto held = held_.begin(); held != held_.end();) {
    const auto each = held++;
    Held& known = each->second;
    const auto file = FileOf(each->first);
    if (!file || file->st_dev != known.device || file->st_ino != known.file) {
      Forget(each);
    } else if (!known.caller.empty()) {
      Record(known, senders).sockets.push_back(known.second.get());
    }
  }
  for (const auto& [caller, before] : std::exchange(ended_before_, {})) {
    Sender& sender = senders[caller];
    sender.sent += before.sent;
    sender.too_much = sender.too_much || before.too_much;
  }
  return senders;
}

ReceiveBudget::Sender& ReceiveBudget::Record(Held& connection, Senders& senders) {
  const std::int64_t received = ReceivedBy(connection.second.get());
  Sender& sender = senders[connection.caller];
  sender.sent += std::max<std::int64_t>(0, received - connection.received);
  const bool over = connection.received <= connection.most && connection.most < received;
  sender.too_much = sender.too_much || over;  // once for each connection
  connection.received = received;
  return sender;
}

void ReceiveBudget::Forget(HeldByDescriptor::iterator held) {
  if (!held->second.caller.empty()) Record(held->second, ended_before_);
  held_.erase(held);
}

std::int64_t ReceiveBudget::Growth(TimePoint now, std::int64_t resident) {
  while (now - looks_.front().at > kKept) looks_.pop_front();
  std::int64_t least = resident;
  for (const Look& look : looks_) {
    if (look.resident > 0 && now - look.at <= kWindow) least = std::min(least, look.resident);
  }
  return resident - least;
}

std::unordered_map<std::string, std::int64_t> ReceiveBudget::Suspects(TimePoint since) const {
  std::unordered_map<std::string, std::int64_t> sent;
  std::int64_t together = 0;
  for (const Look& look : looks_) {
    if (look.at < since) continue;
    for (const auto& [caller, bytes] : look.sent) {
      sent[caller] += bytes;
      together += bytes;
    }
  }
  const bool many = together > bounds_.harmless_together;
  const std::int64_t harmless = many ? bounds_.harmless_of_many : bounds_.harmless;
  std::erase_if(sent, [harmless](const auto& each) { return each.second <= harmless; });
  return sent;
}

void ReceiveBudget::EndForBytes(Senders& senders, Senders::iterator sender, const char* why,
                                TimePoint now) {
  const auto& [caller, what] = *sender;
  End(caller, what.sockets, {why, what.sent}, now);
  ++ended_.for_bytes;
  for (Look& each : looks_) each.sent.erase(caller);
  senders.erase(sender);
}

void ReceiveBudget::End(const std::string& caller, const std::vector<int>& connections,
                        const Trouble& trouble, TimePoint now) {
  if (barred_until_.size() >= kMaxBarred && !barred_until_.contains(caller)) {
    barred_until_.erase(std::min_element(
        barred_until_.begin(), barred_until_.end(),
        [](const auto& one, const auto& other) { return one.second < other.second; }));
  }
  barred_until_[caller] = now + kBarred;
  for (const int connection : connections) shutdown(connection, SHUT_RDWR);
  if (now < quiet_until_) return;
  quiet_until_ = now + kWarnAgain;
  log::Warn("gRPC connections of a caller are ended, and it gets none for 10 s",
            {{"by", caller}, {"why", trouble.why}, {"bytes", trouble.sent}});
}

std::int64_t ReceiveBudget::ResidentBytes() {
  std::ifstream file("/proc/self/statm");
  std::int64_t all = 0, resident = 0;
  return file >> all >> resident ? resident * sysconf(_SC_PAGESIZE) : 0;
}

}  // namespace baton
