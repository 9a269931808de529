#include "base/small_file.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstddef>
#include <cstdio>
#include <cstring>
#include <memory>

namespace baton {
namespace {

using File = std::unique_ptr<std::FILE, int (*)(std::FILE*)>;

Error Failed(const std::string& name, const std::string& why) {
  return {ErrorCode::kInvalidArgument, "can't read " + name + ": " + why};
}

Result<File> Open(const std::string& path, int more_flags) {
  const int descriptor = open(path.c_str(), O_RDONLY | O_CLOEXEC | more_flags);
  if (descriptor < 0) return Failed(path, std::strerror(errno));
  File file(fdopen(descriptor, "r"), std::fclose);
  if (file != nullptr) return file;
  const Error error = Failed(path, std::strerror(errno));
  close(descriptor);
  return error;
}

}  // namespace

Result<std::string> ReadStream(std::FILE* stream, const std::string& name, std::size_t most) {
  std::string content;
  std::array<char, 16384> part;
  while (content.size() <= most) {
    const std::size_t room = std::min(part.size(), most + 1 - content.size());
    const std::size_t got = std::fread(part.data(), 1, room, stream);
    if (got == 0) break;
    content.append(part.data(), got);
  }
  if (std::ferror(stream) != 0) return Failed(name, std::strerror(errno));
  if (content.size() <= most) return content;
  return Failed(name, "it is larger than " + std::to_string(most >> 20) + " MiB");
}

Result<std::string> ReadSmallFile(const std::string& path, std::size_t most) {
  const Result<File> file = Open(path, 0);
  if (!file) return file.error();
  return ReadStream(file->get(), path, most);
}

Result<std::string> ReadSmallFile(const std::string& path, const SmallFileCheck& check) {
  // To open a pipe waits for its writer. The check may refuse pipes, so it must come first.
  const Result<File> file = Open(path, O_NONBLOCK);
  if (!file) return file.error();
  struct stat found {};
  if (fstat(fileno(file->get()), &found) != 0) return Failed(path, std::strerror(errno));
  if (const Status allowed = check(found); !allowed) return allowed.error();
  return ReadStream(file->get(), path, kMaxSmallFile);
}

std::string WithoutLineEnds(std::string content) {
  while (content.ends_with('\n') || content.ends_with('\r')) content.pop_back();
  return content;
}

}  // namespace baton
