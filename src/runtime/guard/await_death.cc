#include "runtime/guard/await_death.h"

#include <fcntl.h>
#include <sys/file.h>

#include <cerrno>
#include <optional>
#include <system_error>

#include <fmt/format.h>

#include "base/owned_descriptor.h"
#include "base/text_rules.h"
#include "runtime/state_folder.h"

namespace baton::runtime {
namespace {

Error Failure(const std::string& path, const std::string& what) {
  return {ErrorCode::kUnavailable,
          fmt::format("'{}' {}: {}", path, what, std::generic_category().message(errno))};
}

// REQUIRES: this process holds the lock.
Result<Death> ReadDeath(int file, const std::string& path, LockTrust trust) {
  const auto unproven = [&](const std::string& why) {
    return Error{ErrorCode::kFailedPrecondition, why};
  };
  if (Status checked = CheckStateFile(file, path); !checked)
    return unproven(checked.error().message);
  const std::string text = ReadStateFile(file);
  if (text.empty()) {
    return Error{ErrorCode::kNotFound, "'" + path + "' is empty: its node had no session yet"};
  }
  const std::optional<StateFile> content = ParseStateFile(text);
  if (!content) return unproven("'" + path + "' is damaged");
  const std::size_t slash = content->identity.find('/');
  Death death{.group = content->identity.substr(0, slash), .node = {}, .sessions = {}};
  if (slash != std::string::npos) death.node = content->identity.substr(slash + 1);
  if (!IsName(death.group) || !IsName(death.node)) return unproven("'" + path + "' names no node");
  if (content->session.value == 0) return death;
  if (!content->guarded) return unproven("the node in '" + path + "' wants no guard");
  if (content->external) return unproven("another process acts for the node in '" + path + "'");
  const std::string why = CheckProof(file, path, *content, trust);
  if (!why.empty()) return unproven(why);
  death.sessions = content->Sessions();
  return death;
}

}  // namespace

Result<Death> AwaitDeath(const std::string& directory, LockTrust trust) {
  const std::string path = StateFileIn(directory);
  const OwnedDescriptor file(open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK));
  if (file.get() < 0 && errno == ENOENT) {
    return Error{ErrorCode::kNotFound, "there is no '" + path + "' yet"};
  }
  if (file.get() < 0) return Failure(path, "can't be opened");
  std::optional<TimePoint> known_since;
  if (flock(file.get(), LOCK_SH | LOCK_NB) != 0) {
    while (flock(file.get(), LOCK_SH) != 0) {
      if (errno != EINTR) return Failure(path, "can't be locked");
    }
    known_since = Clock::Real().Now();
  }
  auto death = ReadDeath(file.get(), path, trust);  // closing the file lets the lock go
  if (death) death.value().known_since = known_since;
  return death;
}

}  // namespace baton::runtime
