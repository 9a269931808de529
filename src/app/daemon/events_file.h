// EventsFile: writes a history to a file, one JSON object a line.
//
// A thread of its own reads the history and writes. So a full or slow disk stops nothing else. It
// is logged once, and the events are written later, unless the history has dropped them by then;
// the log says how many were dropped. Lines of an earlier process stay; the numbers of the next
// process begin at 1 again. If a write stands still, the end of the process waits for it with a
// bound. Nothing is synced to the disk.
//
// One thread.
#pragma once

#include <chrono>
#include <memory>
#include <string>
#include <thread>

#include "baton/result.h"
#include "runtime/history.h"

namespace baton::app {

class EventsFile {
 public:
  /// How long the destructor waits for the last events.
  static constexpr std::chrono::seconds kWaitAtEnd{2};

  /// Opens the file to append. kUnavailable: it can't be opened, or another process writes it; the
  /// message says why.
  static Result<std::unique_ptr<EventsFile>> Open(std::string path);
  /// Tries once more to write the events that have come so far, and ends. If a write stands still,
  /// the thread does so later, as far as the process lives, and it is logged that it was not waited
  /// for.
  ~EventsFile();
  EventsFile(const EventsFile&) = delete;
  EventsFile& operator=(const EventsFile&) = delete;

  /// Begins to write: the events that the history holds, then each new one. REQUIRES: called at
  /// most once; not null.
  void Follow(std::shared_ptr<const runtime::History> history);

 private:
  struct Shared;

  explicit EventsFile(std::string path);

  const std::shared_ptr<Shared> shared_;
  std::thread thread_;
};

}  // namespace baton::app
