#include "app/daemon/events_file.h"

#include <condition_variable>
#include <cstddef>
#include <cstdint>
#include <mutex>
#include <utility>

#include "app/daemon/line_file.h"
#include "base/check.h"
#include "base/log.h"
#include "http/history_json.h"

namespace baton::app {
namespace {

constexpr std::size_t kBatch = 256;           // most events in one write
constexpr std::chrono::seconds kTryAgain{5};  // after a failure

}  // namespace

/// The state that the thread uses. The thread owns it, too, because a write may stand still and
/// outlive the object.
struct EventsFile::Shared {
  explicit Shared(std::string path) : file("--events-file", std::move(path), 0640) {}

  // The thread:
  void Run();
  /// Writes one page. False: there was nothing to write, or it failed.
  bool WriteSome();
  void Told(const Status& written);
  /// Waits until there are more events or it is time to try again. False: the object ends.
  bool WaitForMore();

  LineFile file;
  std::shared_ptr<const runtime::History> history;
  std::uint64_t after = 0;
  std::uint64_t lost = 0;  ///< dropped by the history before they could be written
  bool failing = false;

  std::mutex mutex;  // guards what follows
  std::condition_variable changed;
  bool more = false;
  bool ending = false;
  bool ended = false;
};

EventsFile::EventsFile(std::string path) : shared_(std::make_shared<Shared>(std::move(path))) {}

Result<std::unique_ptr<EventsFile>> EventsFile::Open(std::string path) {
  std::unique_ptr<EventsFile> file(new EventsFile(std::move(path)));
  if (const Status opened = file->shared_->file.Open(); !opened) return opened.error();
  return file;
}

EventsFile::~EventsFile() {
  if (!thread_.joinable()) return;
  std::unique_lock lock(shared_->mutex);
  shared_->ending = true;
  shared_->changed.notify_all();
  const bool ended = shared_->changed.wait_for(lock, kWaitAtEnd, [this] { return shared_->ended; });
  lock.unlock();
  if (ended) {
    thread_.join();
    return;
  }
  thread_.detach();
  log::Warn("events are missing in --events-file, because its disk stands still");
}

void EventsFile::Follow(std::shared_ptr<const runtime::History> history) {
  BATON_CHECK(history != nullptr && !thread_.joinable());
  shared_->history = std::move(history);
  thread_ = std::thread([shared = shared_] { shared->Run(); });
}

void EventsFile::Shared::Run() {
  do {
    while (WriteSome()) {
    }
  } while (WaitForMore());
  while (WriteSome()) {
  }
  const std::lock_guard lock(mutex);
  ended = true;
  changed.notify_all();
}

bool EventsFile::Shared::WriteSome() {
  const runtime::HistoryPage page = history->Read({.after = after, .limit = kBatch});
  if (page.events.empty()) return false;
  if (page.first > after + 1) {
    lost += page.first - 1 - after;
    after = page.first - 1;
  }
  std::string lines;
  for (const auto& event : page.events) lines += http::EventJson(*event, page.node) + "\n";
  const Status written = file.Append(lines);
  if (written) after = page.events.back()->seq;
  Told(written);
  return written.ok();
}

void EventsFile::Shared::Told(const Status& written) {
  const bool failed = !written.ok();
  if (failed && !std::exchange(failing, true)) {
    log::Error(written.error().message +
               "; trying again, and events that the history drops until then are lost");
  }
  if (failed || (!failing && lost == 0)) return;
  failing = false;
  log::Warn("--events-file is written again", {{"lost", std::exchange(lost, 0)}});
}

bool EventsFile::Shared::WaitForMore() {
  {
    const std::lock_guard lock(mutex);
    if (ending) return false;
    more = false;
  }
  runtime::History::WaitId waiting = 0;
  const bool waits = !failing && !history->closed();
  if (waits) {
    waiting = history->Await(after, [this] {
      const std::lock_guard lock(mutex);
      more = true;
      changed.notify_all();
    });
  }
  {
    std::unique_lock lock(mutex);
    const auto done = [this] { return more || ending; };
    if (waits) changed.wait(lock, done);
    if (!waits) changed.wait_for(lock, kTryAgain, done);
  }
  history->Cancel(waiting);
  return true;
}

}  // namespace baton::app
