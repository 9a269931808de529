#include "base/small_file.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <cstddef>
#include <cstdio>
#include <cstring>
#include <memory>

namespace baton {
namespace {

constexpr std::size_t kMaxFile = 1024 * 1024;

}  // namespace

Result<std::string> ReadSmallFile(const std::string& path) { return ReadSmallFile(path, {}); }

Result<std::string> ReadSmallFile(const std::string& path, const SmallFileCheck& check) {
  const auto failed = [&](const std::string& why) {
    return Error{ErrorCode::kInvalidArgument, "can't read " + path + ": " + why};
  };
  // To open a pipe waits for its writer. A check may refuse pipes, so it must come first.
  const int descriptor = open(path.c_str(), O_RDONLY | O_CLOEXEC | (check ? O_NONBLOCK : 0));
  if (descriptor < 0) return failed(std::strerror(errno));
  const std::unique_ptr<std::FILE, int (*)(std::FILE*)> file(fdopen(descriptor, "r"), std::fclose);
  if (file == nullptr) {
    close(descriptor);
    return failed(std::strerror(errno));
  }
  if (check) {
    struct stat found {};
    if (fstat(fileno(file.get()), &found) != 0) return failed(std::strerror(errno));
    if (const Status allowed = check(found); !allowed) return allowed.error();
  }
  std::string content;
  std::array<char, 16384> part;
  while (content.size() <= kMaxFile) {
    const std::size_t got = std::fread(part.data(), 1, part.size(), file.get());
    if (got == 0) break;
    content.append(part.data(), got);
  }
  if (std::ferror(file.get()) != 0) return failed(std::strerror(errno));
  if (content.size() > kMaxFile) return failed("it is larger than 1 MiB");
  return content;
}

std::string WithoutLineEnds(std::string content) {
  while (content.ends_with('\n') || content.ends_with('\r')) content.pop_back();
  return content;
}

}  // namespace baton
