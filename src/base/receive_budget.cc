#include "base/receive_budget.h"

#include <arpa/inet.h>
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
// If a callback waits for so many times Bounds::wait, what callers sent within 10 s counts, and
// within 100 s.
constexpr int kFew = 3, kMany = 10;
constexpr std::chrono::hours kLongest{1};  // between two looks, as far as it counts
constexpr const char* kBytes = "callers sent too much";
constexpr const char* kOne = "a connection sent much more than its calls need";
constexpr const char* kCalls = "a connection has too many open calls";
constexpr const char* kMemory = "this process grew too fast";
constexpr const char* kTime = "this process had no time for others";

/// nullopt: the descriptor is closed.
std::optional<struct stat> FileOf(int descriptor) {
  struct stat file {};
  if (fstat(descriptor, &file) != 0) return std::nullopt;
  return file;
}

// Places in what the kernel answers (linux/tcp.h). netinet/tcp.h does not have them, and the two
// can't be included together.
constexpr std::size_t kBytesAcked = 120;
constexpr std::size_t kBytesReceived = 128;
constexpr std::size_t kDataSegmentsOut = 156;

struct Bytes {
  std::int64_t received = 0;   // all that the other side has sent
  std::int64_t taken = 0;      // all that it has taken
  std::uint32_t segments = 0;  // in which it was sent
};
/// Of a TCP connection; 0 if the kernel does not say.
Bytes BytesOf(int connection) {
  std::array<char, 256> info{};
  socklen_t size = info.size();
  Bytes bytes;
  const bool told = getsockopt(connection, IPPROTO_TCP, TCP_INFO, info.data(), &size) == 0 &&
                    size >= kDataSegmentsOut + sizeof bytes.segments;
  if (!told) return bytes;
  std::memcpy(&bytes.received, info.data() + kBytesReceived, sizeof bytes.received);
  std::memcpy(&bytes.taken, info.data() + kBytesAcked, sizeof bytes.taken);
  std::memcpy(&bytes.segments, info.data() + kDataSegmentsOut, sizeof bytes.segments);
  return bytes;
}

/// Whether neither end of a TCP connection has ended it, so that more calls may come.
bool IsEstablished(int connection) {
  std::array<char, 256> info{};  // it begins with the state
  socklen_t size = info.size();
  return getsockopt(connection, IPPROTO_TCP, TCP_INFO, info.data(), &size) == 0 && size > 0 &&
         info.front() == TCP_ESTABLISHED;
}

/// How many bytes calls account for (ReceiveBudget::kOfCall) that were served within `periods`.
std::int64_t OfCalls(std::int64_t calls, double periods) {
  using Budget = ReceiveBudget;
  const auto times = [periods = std::min(periods, Budget::kMaxPeriods)](std::int64_t most) {
    return static_cast<std::int64_t>(periods * static_cast<double>(most));
  };
  const std::int64_t usual = std::min(calls, times(Budget::kMaxUsualCalls));
  const std::int64_t quick = std::min(calls - usual, times(Budget::kMaxQuickCalls));
  return std::min(calls * Budget::kOfCall, times(Budget::kOfCall)) + usual * Budget::kOfUsualCall +
         quick * Budget::kOfQuickCall;
}

/// gRPC would go on to read what the kernel has of a connection that was shut down, so that is
/// dropped. Nothing more comes then.
void EndConnection(int connection) {
  shutdown(connection, SHUT_RDWR);
  while (recv(connection, nullptr, 1 << 20, MSG_TRUNC | MSG_DONTWAIT) > 0) {
  }
}

/// As gRPC names a peer, without "ipv4:" or "ipv6:", and brackets as they are; empty: not TCP.
std::string AddressOfOther(int connection) {
  sockaddr_storage name{};
  socklen_t size = sizeof name;
  if (getpeername(connection, reinterpret_cast<sockaddr*>(&name), &size) != 0) return "";
  std::array<char, INET6_ADDRSTRLEN> host{};
  if (name.ss_family == AF_INET) {
    const auto& four = reinterpret_cast<const sockaddr_in&>(name);
    inet_ntop(AF_INET, &four.sin_addr, host.data(), host.size());
    return std::string(host.data()) + ":" + std::to_string(ntohs(four.sin_port));
  }
  if (name.ss_family != AF_INET6) return "";
  const auto& six = reinterpret_cast<const sockaddr_in6&>(name);
  const std::string port = ":" + std::to_string(ntohs(six.sin6_port));
  if (IN6_IS_ADDR_V4MAPPED(&six.sin6_addr)) {
    inet_ntop(AF_INET, &six.sin6_addr.s6_addr[12], host.data(), host.size());
    return host.data() + port;
  }
  inet_ntop(AF_INET6, &six.sin6_addr, host.data(), host.size());
  return "[" + std::string(host.data()) + "]" + port;
}

}  // namespace

bool ReceiveBudget::Add(int connection, const std::string& caller, int below, Expected expected) {
  const std::lock_guard lock(mutex_);
  // Its number was given out again, so the connection that had it is over, and leaves its second
  // descriptor to this one.
  if (const auto earlier = held_.find(connection); earlier != held_.end())
    Forget(earlier, Duration(0));
  OwnedDescriptor second(fcntl(connection, F_DUPFD_CLOEXEC, 0));
  const auto file = FileOf(second.get());
  if (!file || second.get() >= below) return false;
  std::string address = expected.calls_count ? AddressOfOther(connection) : "";
  if (!address.empty() && IsTaken(address)) return false;
  Held held{.caller = caller,
            .second = std::move(second),
            .device = file->st_dev,
            .file = file->st_ino,
            .most = expected.most,
            .left = expected.most,
            .trusted = std::move(expected.trusted),
            .may_stay = std::move(expected.may_stay),
            .address = std::move(address),
            .calls = {}};
  if (!held.address.empty()) {
    held.calls = std::make_shared<Calls>();
    const std::lock_guard lock_of_calls(calls_mutex_);
    calls_[held.address] = {.calls = held.calls, .connection = connection};
  }
  held_.emplace(connection, std::move(held));
  return true;
}

// A connection that is over may be known until Weigh looks. Its client may have the port again.
bool ReceiveBudget::IsTaken(const std::string& address) const {
  const std::lock_guard lock(calls_mutex_);
  const auto counted = calls_.find(address);
  if (counted == calls_.end()) return false;
  const auto held = held_.find(counted->second.connection);
  return held != held_.end() && held->second.calls == counted->second.calls &&
         IsEstablished(held->second.second.get());
}

// gRPC percent-encodes the brackets of an IPv6 address. That of one link has a zone: fe80::1%2.
std::shared_ptr<ReceiveBudget::Calls> ReceiveBudget::Served(std::string_view peer) {
  if (!peer.starts_with("ipv4:") && !peer.starts_with("ipv6:")) return nullptr;
  std::string address(peer.substr(5));
  for (const auto& [code, bracket] : {std::pair("%5B", "["), std::pair("%5D", "]")}) {
    if (const auto at = address.find(code); at != std::string::npos)
      address.replace(at, 3, bracket);
  }
  if (const auto zone = address.find('%'); zone != std::string::npos)
    address.erase(zone, std::min(address.find(']', zone), address.size()) - zone);
  const std::lock_guard lock(calls_mutex_);
  const auto counted = calls_.find(address);
  if (counted == calls_.end()) return nullptr;
  counted->second.calls->served.fetch_add(1, std::memory_order_relaxed);
  counted->second.calls->open.fetch_add(1, std::memory_order_relaxed);
  return counted->second.calls;
}

void ReceiveBudget::Over(const std::shared_ptr<Calls>& call) {
  if (call != nullptr) call->open.fetch_sub(1, std::memory_order_relaxed);
}

bool ReceiveBudget::IsBarred(const std::string& caller, TimePoint now) const {
  const std::lock_guard lock(mutex_);
  return barred_.Has(caller, now);
}

void ReceiveBudget::Weigh(TimePoint now, Duration waited) {
  const std::lock_guard lock(mutex_);
  const bool first = weighed_at_ == TimePoint{};
  const auto passed = first ? Duration(0) : std::min<Duration>(now - weighed_at_, kLongest);
  weighed_at_ = now;
  Senders senders = Count(passed);
  barred_.ForgetEnded(now);
  const std::int64_t more = bounds_.a_second * (passed / std::chrono::milliseconds(1)) / 1000;
  left_ = std::min(bounds_.at_once, left_ + more);
  std::int64_t sent = 0;
  SentLately::SentByCaller by_caller;
  for (const auto& [caller, sender] : senders) {
    sent += sender.sent;
    if (sender.sent > 0) by_caller[caller] = sender.sent;
  }
  const std::int64_t resident = resident_();  // 0: not known
  for (SentLately* lately : {&second_, &ten_seconds_, &hundred_seconds_})
    lately->Add(now, resident, by_caller);
  for (auto sender = senders.begin(); sender != senders.end();) {
    const auto each = sender++;
    if (each->second.too_much == nullptr) continue;
    sent -= each->second.sent;
    EndForBytes(senders, each, each->second.too_much, now);
  }
  if (sent > left_) {
    for (const auto each : ByMostSent(senders)) {
      if (sent <= left_) break;
      sent -= each->second.sent;
      EndForBytes(senders, each, kBytes, now);
    }
  }
  left_ = std::max<std::int64_t>(0, left_ - sent);
  EndSuspects(senders, now, waited);
}

std::vector<ReceiveBudget::Senders::iterator> ReceiveBudget::ByMostSent(Senders& senders) {
  std::vector<Senders::iterator> sorted;
  for (auto sender = senders.begin(); sender != senders.end(); ++sender) sorted.push_back(sender);
  std::ranges::sort(sorted, [](const auto& one, const auto& other) {
    return one->second.sent != other->second.sent ? one->second.sent > other->second.sent
                                                  : one->first < other->first;
  });
  return sorted;
}

void ReceiveBudget::EndSuspects(Senders& senders, TimePoint now, Duration waited) {
  constexpr std::chrono::seconds kTen{10}, kHundred{100};
  SentLately::SentByCaller sent;
  bool grown = true;
  if (second_.Growth(kWindow) > bounds_.growth) {
    sent = Suspects(second_.SentSince(now - kWindow));
  } else if (ten_seconds_.Growth(kTen) > bounds_.growth_in_10_s) {
    sent = Suspects(ten_seconds_.SentSince(now - kTen));
  } else if (hundred_seconds_.Growth(kHundred) > bounds_.growth_in_100_s) {
    sent = Suspects(hundred_seconds_.SentSince(now - kHundred));
  } else if (waited > bounds_.wait) {
    grown = false;
    sent = Suspects(second_.SentSince(now - kWindow - waited));
    // Those who send little in a second may be the reason, too, if it goes on.
    if (sent.empty() && waited > kFew * bounds_.wait)
      sent = Suspects(ten_seconds_.SentSince(now - kTen));
    if (sent.empty() && waited > kMany * bounds_.wait)
      sent = Suspects(hundred_seconds_.SentSince(now - kHundred));
  }
  if (sent.empty()) return;
  for (const auto& [caller, bytes] : sent) {
    ++(grown ? ended_.for_memory : ended_.for_time);
    End(caller, senders[caller].sockets, {grown ? kMemory : kTime, bytes}, now);
  }
  for (SentLately* lately : {&second_, &ten_seconds_, &hundred_seconds_}) {
    // Memory that has grown stays for a while. It does not count again.
    if (grown) lately->Clear();
    for (const auto& [caller, bytes] : sent) lately->Forget(caller);
  }
}

bool ReceiveBudget::IsCounted(const Held& connection) {
  const bool trusted = connection.trusted != nullptr && connection.trusted->load();
  return !trusted && !connection.caller.empty();
}

ReceiveBudget::Senders ReceiveBudget::Count(Duration passed) {
  Senders senders;
  for (auto held = held_.begin(); held != held_.end();) {
    const auto each = held++;
    Held& known = each->second;
    const auto file = FileOf(each->first);
    if (!file || file->st_dev != known.device || file->st_ino != known.file) {
      Forget(each, passed);
    } else if (known.may_stay && !known.may_stay()) {
      known.may_stay = nullptr;
      EndConnection(known.second.get());
      log::Info("a gRPC connection is ended: its user is no operator any more");
    } else if (IsCounted(known)) {
      Record(known, senders, passed).sockets.push_back(known.second.get());
    }
  }
  for (const auto& [caller, before] : std::exchange(ended_before_, {})) {
    Sender& sender = senders[caller];
    sender.sent += before.sent;
    if (before.too_much != nullptr) sender.too_much = before.too_much;
  }
  return senders;
}

ReceiveBudget::Sender& ReceiveBudget::Record(Held& connection, Senders& senders, Duration passed) {
  const Bytes bytes = BytesOf(connection.second.get());
  const std::int64_t received = std::max<std::int64_t>(0, bytes.received - connection.received);
  // A connection whose number was given out again is recorded between two looks: that counts as a
  // period of its own.
  const double periods = std::max(1.0, std::chrono::duration<double>(passed) / kPeriod);
  const auto of_segments = static_cast<std::int64_t>(
      periods * (kOfSegmentsASecond * std::chrono::duration<double>(kPeriod).count()));
  std::int64_t accounted =
      (bytes.taken - connection.taken) / kOfSent +
      std::min(kOfSegment * std::uint32_t(bytes.segments - connection.segments), of_segments) +
      kASecond * (passed / std::chrono::milliseconds(1)) / 1000;
  if (connection.calls != nullptr) {
    const std::uint32_t served = connection.calls->served.load(std::memory_order_relaxed);
    accounted += OfCalls(std::uint32_t(served - connection.served), periods);
    connection.served = served;
  }
  const bool calls = HasTooManyCalls(connection);
  connection.left = std::min(connection.most, connection.left - received + accounted);
  connection.received = bytes.received;
  connection.taken = bytes.taken;
  connection.segments = bytes.segments;
  Sender& sender = senders[connection.caller];
  sender.sent += received;
  if (connection.left < 0) {
    sender.too_much = kOne;
    connection.left = connection.most;  // once for all that it was ahead
  }
  if (calls) sender.too_much = kCalls;
  return sender;
}

// At two looks in a row: a client that has just connected may not know gRPC's bound yet.
bool ReceiveBudget::HasTooManyCalls(Held& connection) const {
  if (connection.calls == nullptr || connection.ended_for_calls) return false;
  const bool many = connection.calls->open.load(std::memory_order_relaxed) > bounds_.open_calls;
  connection.ended_for_calls = std::exchange(connection.many_calls, many) && many;
  return connection.ended_for_calls;
}

void ReceiveBudget::Forget(HeldByDescriptor::iterator held, Duration passed) {
  if (IsCounted(held->second)) Record(held->second, ended_before_, passed);
  {
    const std::lock_guard lock(calls_mutex_);
    const auto counted = calls_.find(held->second.address);
    if (counted != calls_.end() && counted->second.calls == held->second.calls)
      calls_.erase(counted);
  }
  held_.erase(held);
}

SentLately::SentByCaller ReceiveBudget::Suspects(SentLately::SentByCaller sent) const {
  std::int64_t together = 0;
  for (const auto& [caller, bytes] : sent) together += bytes;
  const bool many = together > bounds_.harmless_together;
  const std::int64_t harmless = many ? bounds_.harmless_of_many : bounds_.harmless;
  std::erase_if(sent, [harmless](const auto& each) { return each.second <= harmless; });
  return sent;
}

void ReceiveBudget::EndForBytes(Senders& senders, Senders::iterator sender, const char* why,
                                TimePoint now) {
  const auto& [caller, what] = *sender;
  ++(why == kCalls ? ended_.for_calls : ended_.for_bytes);
  End(caller, what.sockets, {why, what.sent}, now);
  for (SentLately* lately : {&second_, &ten_seconds_, &hundred_seconds_}) lately->Forget(caller);
  senders.erase(sender);
}

void ReceiveBudget::End(const std::string& caller, const std::vector<int>& connections,
                        const Trouble& trouble, TimePoint now) {
  barred_.Bar(caller, now + kBarred);
  // It was counted before, so the metrics show it as soon as a connection ends.
  for (const int connection : connections) EndConnection(connection);
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
