#include "app/daemon/events_file.h"

#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <chrono>
#include <cstdio>
#include <system_error>
#include <utility>

#include "base/check.h"
#include "base/log.h"
#include "http/history_json.h"

namespace baton::app {
namespace {

constexpr std::size_t kBatch = 256;           // most events in one write
constexpr std::chrono::seconds kTryAgain{5};  // after a failure

Error Failed(const std::string& what) {
  return {ErrorCode::kUnavailable, what + ": " + std::generic_category().message(errno)};
}

bool EndsInLine(int file, std::uint64_t size) {
  char last = '\n';
  return size == 0 || pread(file, &last, 1, static_cast<off_t>(size) - 1) != 1 || last == '\n';
}

}  // namespace

Result<std::unique_ptr<EventsFile>> EventsFile::Open(EventsFileOptions options) {
  BATON_CHECK(options.keep > 0);
  std::unique_ptr<EventsFile> file(new EventsFile(std::move(options)));
  if (const Status opened = file->OpenFile(); !opened) return opened.error();
  return file;
}

EventsFile::~EventsFile() {
  if (thread_.joinable()) {
    {
      const std::lock_guard lock(mutex_);
      ending_ = true;
    }
    changed_.notify_all();
    thread_.join();
  }
  if (file_ >= 0) close(file_);
}

void EventsFile::Follow(std::shared_ptr<const runtime::History> history) {
  BATON_CHECK(history != nullptr && !thread_.joinable());
  history_ = std::move(history);
  thread_ = std::thread([this] { Run(); });
}

Status EventsFile::OpenFile() {
  const std::string& path = options_.path;
  file_ = open(path.c_str(), O_RDWR | O_APPEND | O_CREAT | O_CLOEXEC, 0644);
  if (file_ < 0) return Failed("can't write --events-file " + path);
  const Status prepared = Prepare();
  if (!prepared) close(std::exchange(file_, -1));
  return prepared;
}

Status EventsFile::Prepare() {
  const std::string& path = options_.path;
  if (flock(file_, LOCK_EX | LOCK_NB) != 0) {
    return Error{ErrorCode::kUnavailable, "can't write --events-file " + path +
                                              ": another process writes it; give each its own"};
  }
  struct stat found {};
  if (fstat(file_, &found) != 0) return Failed("can't write --events-file " + path);
  size_ = S_ISREG(found.st_mode) ? static_cast<std::uint64_t>(found.st_size) : 0;
  return EndsInLine(file_, size_) ? Ok() : Append("\n");  // a process was killed within a line
}

// If the file can't be moved aside, nothing more is written: its size has a bound.
Status EventsFile::Rotate() {
  struct stat found {};
  if (fstat(file_, &found) == 0 && !S_ISREG(found.st_mode)) {
    size_ = 0;  // a device or a pipe has no size to bound
    return Ok();
  }
  const auto name = [this](std::uint32_t number) {
    return number == 0 ? options_.path : options_.path + "." + std::to_string(number);
  };
  for (std::uint32_t number = options_.keep; number > 0; --number) {
    const bool moved = rename(name(number - 1).c_str(), name(number).c_str()) == 0;
    // ENOENT: somebody else moved or deleted it, and OpenFile makes a new one.
    if (!moved && errno != ENOENT) return Failed("can't move " + name(number - 1));
  }
  close(std::exchange(file_, -1));
  return OpenFile();
}

Status EventsFile::Append(const std::string& text) {
  std::size_t written = 0;
  while (written < text.size()) {
    const ssize_t count = write(file_, text.data() + written, text.size() - written);
    if (count < 0 && errno == EINTR) continue;
    if (count < 0) {
      const Error failed = Failed("can't write --events-file " + options_.path);
      if (written > 0) TakeBack(written);
      return failed;
    }
    written += static_cast<std::size_t>(count);
  }
  size_ += written;
  return Ok();
}

// Removes the bytes that were added, so that no half line stays. If somebody else has made the file
// shorter than that, it stays as it is.
void EventsFile::TakeBack(std::size_t bytes) {
  struct stat found {};
  const auto added = static_cast<off_t>(bytes);
  if (fstat(file_, &found) != 0 || !S_ISREG(found.st_mode)) return;
  const bool taken = found.st_size >= added && ftruncate(file_, found.st_size - added) == 0;
  size_ = static_cast<std::uint64_t>(taken ? found.st_size - added : found.st_size);
}

Status EventsFile::WritePage(const runtime::HistoryPage& page) {
  std::string lines;
  std::uint64_t last = after_;
  const auto flush = [&]() -> Status {
    if (const Status written = Append(lines); !written) return written;
    lines.clear();
    after_ = last;
    return Ok();
  };
  for (const auto& event : page.events) {
    const std::string line = http::EventJson(*event, page.node) + "\n";
    const std::uint64_t size = size_ + lines.size();
    if (size > 0 && size + line.size() > options_.most_bytes) {
      if (const Status flushed = flush(); !flushed) return flushed;
      if (const Status rotated = Rotate(); !rotated) return rotated;
    }
    lines += line;
    last = event->seq;
  }
  return flush();
}

void EventsFile::Run() {
  do {
    while (WriteSome()) {
    }
  } while (WaitForMore());
  while (WriteSome()) {
  }
}

bool EventsFile::WriteSome() {
  const runtime::HistoryPage page = history_->Read({.after = after_, .limit = kBatch});
  if (page.events.empty()) return false;
  if (page.first > after_ + 1) {
    lost_ += page.first - 1 - after_;
    after_ = page.first - 1;
  }
  // After a failed rotation no file is open.
  Status written = file_ >= 0 ? Ok() : OpenFile();
  if (written) written = WritePage(page);
  Told(written);
  return written.ok();
}

void EventsFile::Told(const Status& written) {
  const bool failed = !written.ok();
  if (failed && !std::exchange(failing_, true)) {
    log::Error(written.error().message +
               "; trying again, and events that the history drops until then are lost");
  }
  if (failed || (!failing_ && lost_ == 0)) return;
  failing_ = false;
  log::Warn("--events-file is written again", {{"lost", std::exchange(lost_, 0)}});
}

bool EventsFile::WaitForMore() {
  {
    const std::lock_guard lock(mutex_);
    if (ending_) return false;
    more_ = false;
  }
  runtime::History::WaitId waiting = 0;
  const bool waits = !failing_ && !history_->closed();
  if (waits) {
    waiting = history_->Await(after_, [this] {
      const std::lock_guard lock(mutex_);
      more_ = true;
      changed_.notify_all();
    });
  }
  {
    std::unique_lock lock(mutex_);
    const auto done = [this] { return more_ || ending_; };
    if (waits) changed_.wait(lock, done);
    if (!waits) changed_.wait_for(lock, kTryAgain, done);
  }
  history_->Cancel(waiting);
  return true;
}

}  // namespace baton::app
