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

Error SystemError() { return {ErrorCode::kUnavailable, std::strerror(errno)}; }

// Into a new file: the name can be guessed, and a link of somebody else must not be followed.
Status WriteWhole(const std::string& path, const std::string& text) {
  std::remove(path.c_str());
  const int file = open(path.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0644);
  if (file < 0) return SystemError();
  const ssize_t written = write(file, text.data(), text.size());
  Status status = written < 0 ? SystemError() : Ok();
  if (status.ok() && written != static_cast<ssize_t>(text.size())) {
    status =
        Error{ErrorCode::kUnavailable, "only a part of it could be written; is the disk full?"};
  }
  if (close(file) != 0 && status.ok()) status = SystemError();
  return status;
}

}  // namespace

ReadyFile::ReadyFile(std::string path) : path_(std::move(path)) {
  if (!path_.empty()) std::remove(path_.c_str());
}

ReadyFile::~ReadyFile() { Remove(); }

Status ReadyFile::Write(const ReadyContent& content) {
  if (path_.empty()) return Ok();
  const std::string temporary = fmt::format("{}.{}", path_, content.pid);
  Status status = WriteWhole(temporary, Json(content));
  if (status.ok() && std::rename(temporary.c_str(), path_.c_str()) != 0) status = SystemError();
  if (status.ok()) {
    written_ = true;  // and stays so if a later write fails: the earlier one is still there
    return Ok();
  }
  std::remove(temporary.c_str());
  return Error{ErrorCode::kUnavailable,
               fmt::format("can't write the ready file {}: {}", path_, status.error().message)};
}

void ReadyFile::Remove() {
  if (std::exchange(written_, false)) std::remove(path_.c_str());
}

}  // namespace baton::app
