#include "runtime/state_folder.h"

#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <filesystem>
#include <system_error>

#include <fmt/format.h>

namespace baton::runtime {
namespace {

Error Unusable(const std::string& what, const std::string& why, const std::string& advice) {
  return {ErrorCode::kInvalidArgument, fmt::format("{} {}; {}", what, why, advice)};
}

Status CheckOwner(const struct stat& found, mode_t others, const std::string& what) {
  const uid_t self = geteuid();
  if (found.st_uid != self && found.st_uid != 0) {
    return Unusable(
        what, fmt::format("belongs to user {}, not to user {}", found.st_uid, self),
        "who writes there can make two leaders: give this node's user a state directory of "
        "its own, or chown it");
  }
  if ((found.st_mode & others) == 0) return Ok();
  return Unusable(
      what, fmt::format("is open to other users (mode {:o})", found.st_mode & 07777),
      "who writes there can make two leaders: give this node a state directory of its own, or "
      "chmod go-w this one, once you know who did that");
}

}  // namespace

Status MakeStateFolder(const std::string& directory) {
  const std::string what = fmt::format("state directory '{}'", directory);
  const auto failed = [&](const std::string& why) {
    return Unusable(what, "can't be created: " + why, "name another one");
  };
  std::error_code error;
  std::filesystem::path path(directory);
  if (!path.has_filename()) path = path.parent_path();  // it ends with a slash
  if (path.has_parent_path()) std::filesystem::create_directories(path.parent_path(), error);
  if (error) return failed(error.message());
  if (mkdir(directory.c_str(), S_IRWXU) != 0 && errno != EEXIST)
    return failed(std::strerror(errno));
  struct stat found {};
  if (stat(directory.c_str(), &found) != 0) return failed(std::strerror(errno));
  if (!S_ISDIR(found.st_mode)) return failed("it is a file");
  return CheckOwner(found, S_IWOTH, what);
}

Status CheckStateFile(int file, const std::string& path) {
  const std::string what = fmt::format("'{}'", path);
  struct stat found {};
  if (fstat(file, &found) != 0) {
    return Unusable(what, std::string("can't be examined: ") + std::strerror(errno),
                    "name another state directory");
  }
  if (!S_ISREG(found.st_mode)) {
    return Unusable(what, "is not a regular file", "remove it, or name another state directory");
  }
  Status checked = CheckOwner(found, S_IWOTH, what);
  // Kubernetes gives the group of a volume its rights to each file, whenever it mounts the volume.
  // And who can read the file can hold its flock.
  const bool shared = (found.st_mode & (S_IRWXG | S_IRWXO)) != 0;
  if (checked.ok() && shared && found.st_uid == geteuid()) fchmod(file, S_IRUSR | S_IWUSR);
  return checked;
}

}  // namespace baton::runtime
