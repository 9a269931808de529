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

#include <fmt/format.h>

#include "base/check.h"
#include "base/log.h"
#include "http/history_json.h"

namespace baton::app {
namespace {

constexpr std::size_t kBatch = 256;           // most events in one write
constexpr std::chrono::seconds kTryAgain{5};  // after a failure

bool EndsInLine(int file) {
  struct stat found {};
  char last = '\n';
  const bool any = fstat(file, &found) == 0 && S_ISREG(found.st_mode) && found.st_size > 0;
  return !any || pread(file, &last, 1, found.st_size - 1) != 1 || last == '\n';
}

}  // namespace

Result<std::unique_ptr<EventsFile>> EventsFile::Open(std::string path) {
  std::unique_ptr<EventsFile> file(new EventsFile(std::move(path)));
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
  if (file_ >= 0 && AtItsPath()) return Ok();
  if (file_ >= 0) close(std::exchange(file_, -1));
  file_ = open(path_.c_str(), O_RDWR | O_APPEND | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0640);
  if (file_ < 0) return Failed();
  const Status prepared = Prepare();
  if (!prepared) close(std::exchange(file_, -1));
  return prepared;
}

bool EventsFile::AtItsPath() const {
  struct stat opened {};
  struct stat there {};
  return fstat(file_, &opened) == 0 && lstat(path_.c_str(), &there) == 0 &&
         opened.st_dev == there.st_dev && opened.st_ino == there.st_ino;
}

Status EventsFile::Prepare() {
  if (flock(file_, LOCK_EX | LOCK_NB) != 0) {
    return Error{
        ErrorCode::kUnavailable,
        fmt::format("can't write --events-file {}: another process writes it; give each its own",
                    path_)};
  }
  return EndsInLine(file_) ? Ok() : Append("\n");  // a process was killed within a line
}

Status EventsFile::Append(const std::string& text) {
  std::size_t written = 0;
  while (written < text.size()) {
    const ssize_t count = write(file_, text.data() + written, text.size() - written);
    if (count < 0 && errno == EINTR) continue;
    if (count < 0) {
      const Error failed = Failed();
      if (written > 0) TakeBack(written);
      return failed;
    }
    written += static_cast<std::size_t>(count);
  }
  return Ok();
}

// Removes the bytes that were added, so that no half line stays. If somebody else has made the file
// shorter than that, it stays as it is.
void EventsFile::TakeBack(std::size_t bytes) {
  struct stat found {};
  const auto added = static_cast<off_t>(bytes);
  if (fstat(file_, &found) != 0 || !S_ISREG(found.st_mode) || found.st_size < added) return;
  [[maybe_unused]] const int taken = ftruncate(file_, found.st_size - added);
}

Error EventsFile::Failed() const {
  return {ErrorCode::kUnavailable,
          fmt::format("can't write --events-file {}: {}", path_,
                      errno == ELOOP ? "it is a symbolic link, which is not followed"
                                     : std::generic_category().message(errno))};
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
  std::string lines;
  for (const auto& event : page.events) lines += http::EventJson(*event, page.node) + "\n";
  Status written = OpenFile();
  if (written) written = Append(lines);
  if (written) after_ = page.events.back()->seq;
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
