#include "runtime/directory_id.h"

#include <fcntl.h>
#include <unistd.h>

#include <cerrno>
#include <charconv>
#include <cstdio>
#include <random>
#include <string_view>
#include <system_error>

#include <fmt/format.h>

#include "base/owned_descriptor.h"
#include "runtime/state_file.h"
#include "runtime/state_folder.h"

namespace baton::runtime {
namespace {

constexpr std::string_view kDirectoryMagic = "baton-directory 1\n";
constexpr std::size_t kDirectoryDigits = 16;
constexpr std::size_t kMaxDirectoryBytes = 1024;
constexpr const char* kWhatFollows =
    "with failover never, this node does not take back by itself what it led, and such shards wait "
    "for `batonctl shards release`";
constexpr const char* kCountsAsEmpty = "so the state directory counts as an empty one";

std::string WhyNot(int error) {
  return error == ELOOP ? "it is a symbolic link" : std::generic_category().message(error);
}

std::uint64_t NewDirectoryId() {
  std::random_device device;
  std::uint64_t id = 0;
  while (id == 0) id = (std::uint64_t{device()} << 32) ^ device();
  return id;
}

// A renamed file's new name is on disk once its folder is. Returns 0, or errno.
int PutFolderOnDisk(const std::string& folder) {
  const OwnedDescriptor opened(open(folder.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  if (opened.get() < 0) return errno;
  // EINVAL: a file system that can't do that for a folder.
  return fsync(opened.get()) == 0 || errno == EINVAL ? 0 : errno;
}

// Puts a whole file in place of what is at `path`, if anything is. Returns 0, or errno.
int Replace(const std::string& folder, const std::string& path, const std::string& text) {
  const std::string written = path + ".new";
  unlink(written.c_str());  // of a process that died while it wrote
  {
    const OwnedDescriptor file(
        open(written.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC | O_NOFOLLOW, 0600));
    if (file.get() < 0) return errno;
    errno = ENOSPC;  // if it writes less
    if (write(file.get(), text.data(), text.size()) != static_cast<ssize_t>(text.size()) ||
        fsync(file.get()) != 0) {
      return errno;
    }
  }
  if (rename(written.c_str(), path.c_str()) != 0) return errno;
  return PutFolderOnDisk(folder);
}

// Reads the file at `path`; nullopt: there is none.
Result<std::optional<std::string>> ReadIfThere(const std::string& path) {
  // A pipe must not make it wait.
  const OwnedDescriptor file(open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK));
  if (file.get() < 0) {
    if (errno == ENOENT) return std::optional<std::string>();
    return Error{
        ErrorCode::kInvalidArgument,
        fmt::format("'{}' can't be opened: {}; name another state directory", path, WhyNot(errno))};
  }
  if (Status checked = CheckStateFile(file.get(), path); !checked) return checked.error();
  std::string text(kMaxDirectoryBytes, '\0');
  const ssize_t size = pread(file.get(), text.data(), text.size(), 0);
  if (size < 0) return Error{ErrorCode::kUnavailable, WhyNot(errno)};
  text.resize(static_cast<std::size_t>(size));
  return std::optional<std::string>(std::move(text));
}

}  // namespace

std::string DirectoryFileIn(const std::string& directory) { return directory + "/directory.id"; }

std::string FormatDirectoryId(std::uint64_t id, const std::string& identity) {
  const std::string body = fmt::format("{:016x}\n{}\n", id, identity);
  return fmt::format("{}{}{}\n", kDirectoryMagic, body, Checksum(body));
}

std::optional<std::uint64_t> ParseDirectoryId(const std::string& text,
                                              const std::string& identity) {
  if (text.size() < kDirectoryMagic.size() + kDirectoryDigits) return std::nullopt;
  const char* const first = text.data() + kDirectoryMagic.size();
  std::uint64_t id = 0;
  const auto [end, error] = std::from_chars(first, first + kDirectoryDigits, id, 16);
  const bool whole = error == std::errc{} && end == first + kDirectoryDigits;
  if (!whole || id == 0 || text != FormatDirectoryId(id, identity)) return std::nullopt;
  return id;
}

Result<DirectoryId> KeepDirectoryId(const std::string& directory, const std::string& identity,
                                    DirectoryLock lock) {
  const std::string path = DirectoryFileIn(directory);
  const auto read = ReadIfThere(path);
  if (!read && read.error().code == ErrorCode::kInvalidArgument) return read.error();
  if (!read) {
    return DirectoryId{.problem = fmt::format("'{}' can't be read: {}; {}", path,
                                              read.error().message, kWhatFollows)};
  }
  const std::optional<std::string>& text = read.value();
  if (const auto id = text ? ParseDirectoryId(*text, identity) : std::nullopt) {
    return DirectoryId{.id = *id};
  }
  if (lock == DirectoryLock::kNotHeld) {
    return DirectoryId{.problem =
                           fmt::format("'{}' can't be written without the lock beside it; {}", path,
                                       kWhatFollows)};
  }
  DirectoryId made{.id = NewDirectoryId(), .made = !text};
  if (const int failed = Replace(directory, path, FormatDirectoryId(made.id, identity))) {
    return DirectoryId{.problem = fmt::format("'{}' can't be written: {}; {}", path, WhyNot(failed),
                                              kWhatFollows)};
  }
  if (text) {
    made.problem = fmt::format("'{}' was damaged or another node's, {}; {}", path, kCountsAsEmpty,
                               kWhatFollows);
  }
  return made;
}

std::string DirectoryIdWasLost(const std::string& directory) {
  return fmt::format(
      "'{}' was missing beside the lock of an earlier process (it was deleted, or that was an "
      "older "
      "version), {}; {}",
      DirectoryFileIn(directory), kCountsAsEmpty, kWhatFollows);
}

}  // namespace baton::runtime
