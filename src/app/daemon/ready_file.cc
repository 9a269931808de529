#include "app/daemon/ready_file.h"

#include <fcntl.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <cstring>
#include <utility>

#include <fmt/format.h>

namespace baton::app {
namespace {

// Names and addresses need no escapes: they were checked when they were read.
std::string Json(const ReadyContent& content) {
  return fmt::format(R"({{"node":"{}","grpc":"{}","http":"{}","pid":{}}})", content.node,
                     content.grpc, content.http, content.pid) +
         "\n";
}

// Into a new file: the name can be guessed, and a link of somebody else must not be followed.
bool WriteWhole(const std::string& path, const std::string& text) {
  std::remove(path.c_str());
  const int file = open(path.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0644);
  if (file < 0) return false;
  const bool written = write(file, text.data(), text.size()) == static_cast<ssize_t>(text.size());
  return close(file) == 0 && written;
}

}  // namespace

ReadyFile::ReadyFile(std::string path) : path_(std::move(path)) {
  if (!path_.empty()) std::remove(path_.c_str());
}

ReadyFile::~ReadyFile() { Remove(); }

Status ReadyFile::Write(const ReadyContent& content) {
  if (path_.empty()) return Ok();
  const std::string temporary = fmt::format("{}.{}", path_, content.pid);
  if (WriteWhole(temporary, Json(content)) && std::rename(temporary.c_str(), path_.c_str()) == 0) {
    written_ = true;
    return Ok();
  }
  const std::string why = std::strerror(errno);
  std::remove(temporary.c_str());
  return Error{ErrorCode::kUnavailable,
               fmt::format("can't write the ready file {}: {}", path_, why)};
}

void ReadyFile::Remove() {
  if (std::exchange(written_, false)) std::remove(path_.c_str());
}

}  // namespace baton::app
