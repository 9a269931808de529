#include "app/common/service_manager.h"

#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <charconv>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <system_error>
#include <utility>

namespace baton::app {
namespace {

std::string TakeFromEnvironment(const char* name) {
  const char* const value = std::getenv(name);
  std::string taken = value == nullptr ? "" : value;
  unsetenv(name);
  return taken;
}

/// 0: that is no number, or there is none.
std::int64_t NumberIn(const std::string& text) {
  std::int64_t number = 0;
  const auto read = std::from_chars(text.data(), text.data() + text.size(), number);
  return read.ec == std::errc() && read.ptr == text.data() + text.size() ? number : 0;
}

/// A path, or "@" and an abstract name. Empty: it is neither, or too long.
std::string SocketAddress(std::string name) {
  const bool known = name.starts_with('/') || (name.starts_with('@') && name.size() > 1);
  if (!known || name.size() >= sizeof(sockaddr_un::sun_path)) return "";
  if (name.front() == '@') name.front() = '\0';
  return name;
}

}  // namespace

ServiceManager ServiceManager::OfEnvironment() {
  std::string address = SocketAddress(TakeFromEnvironment("NOTIFY_SOCKET"));
  const std::int64_t microseconds = NumberIn(TakeFromEnvironment("WATCHDOG_USEC"));
  const std::string process = TakeFromEnvironment("WATCHDOG_PID");
  const bool asked = process.empty() || NumberIn(process) == getpid();
  constexpr std::int64_t kMaxMicroseconds =
      std::chrono::microseconds(std::chrono::hours(24)).count();
  const std::chrono::microseconds within(
      std::clamp<std::int64_t>(microseconds, 0, kMaxMicroseconds));
  return {std::move(address), asked ? Duration(within) / 2 : Duration::zero()};
}

ServiceManager::ServiceManager(std::string address, Duration sign_of_life)
    : address_(std::move(address)),
      sign_of_life_(sign_of_life),
      socket_(address_.empty() ? -1 : socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0)) {}

bool ServiceManager::Say(std::string_view assignments) const {
  if (socket_.get() < 0) return true;
  sockaddr_un to{};
  to.sun_family = AF_UNIX;
  std::copy(address_.begin(), address_.end(), to.sun_path);
  const auto size = static_cast<socklen_t>(offsetof(sockaddr_un, sun_path) + address_.size());
  ssize_t sent = 0;
  do {
    sent = sendto(socket_.get(), assignments.data(), assignments.size(),
                  MSG_DONTWAIT | MSG_NOSIGNAL, reinterpret_cast<const sockaddr*>(&to), size);
  } while (sent < 0 && errno == EINTR);
  return sent >= 0 || (errno != EAGAIN && errno != ENOBUFS);
}

void ServiceManager::Alive(TimePoint now) {
  if (sign_of_life_ == Duration::zero()) return;
  if (last_sign_ && now - *last_sign_ < sign_of_life_) return;
  if (Say("WATCHDOG=1")) last_sign_ = now;
}

}  // namespace baton::app
