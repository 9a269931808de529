#include "app/daemon/events_file.h"

#include <chrono>
#include <utility>

#include "base/check.h"
#include "base/log.h"
#include "http/history_json.h"

namespace baton::app {
namespace {

constexpr std::size_t kBatch = 256;           // most events in one write
constexpr std::chrono::seconds kTryAgain{5};  // after a failure

}  // namespace

Result<std::unique_ptr<EventsFile>> EventsFile::Open(std::string path) {
  std::unique_ptr<EventsFile> file(new EventsFile(std::move(path)));
  if (const Status opened = file->file_.Open(); !opened) return opened.error();
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
}

void EventsFile::Follow(std::shared_ptr<const runtime::History> history) {
  BATON_CHECK(history != nullptr && !thread_.joinable());
  history_ = std::move(history);
  thread_ = std::thread([this] { Run(); });
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
  const Status written = file_.Append(lines);
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
