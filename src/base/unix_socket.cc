#include "base/unix_socket.h"

#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <optional>
#include <system_error>

#include "base/check.h"

namespace baton {
namespace {

static_assert(kLongestSocketPath == sizeof(sockaddr_un{}.sun_path) - 1);

sockaddr_un NameOf(const std::string& path) {
  BATON_CHECK(path.size() <= kLongestSocketPath);
  sockaddr_un name{};
  name.sun_family = AF_UNIX;
  std::memcpy(name.sun_path, path.c_str(), path.size() + 1);
  return name;
}

// A killed process leaves a file without a listener. Unset: no descriptor is free to find out.
std::optional<bool> IsServed(const sockaddr_un& name) {
  const int probe = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
  if (probe < 0) return std::nullopt;
  const int connected = connect(probe, reinterpret_cast<const sockaddr*>(&name), sizeof(name));
  const bool served = connected == 0 || (errno != ECONNREFUSED && errno != ENOENT);
  close(probe);
  return served;
}

bool IsSocket(const std::string& path) {
  struct stat found {};
  return lstat(path.c_str(), &found) == 0 && S_ISSOCK(found.st_mode);
}

Error Failed(const std::string& why) { return {ErrorCode::kUnavailable, why}; }

}  // namespace

Result<int> BindUnixSocket(const std::string& path) {
  const sockaddr_un name = NameOf(path);
  if (IsSocket(path)) {
    const std::optional<bool> served = IsServed(name);
    if (!served) return Failed(std::generic_category().message(errno));
    if (*served) return Failed("another process listens there; give another path");
    unlink(path.c_str());
  }
  const int bound = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
  if (bound < 0) return Failed(std::generic_category().message(errno));
  fchmod(bound, S_IRUSR | S_IWUSR);  // before bind, so that the file gets this mode
  if (bind(bound, reinterpret_cast<const sockaddr*>(&name), sizeof(name)) == 0) return bound;
  const Error failed = Failed(std::generic_category().message(errno));
  close(bound);
  return failed;
}

}  // namespace baton
