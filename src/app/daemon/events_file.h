// EventsFile: writes a history (runtime/history.h) to a file, one JSON object a line.
//
// A thread of its own reads the history and writes. So a full or slow disk stops nothing else. If a
// write fails, the thread logs the error once and tries again every 5 s. If the history drops
// events before they are written, these events are lost. After the next write, the log says how
// many events were lost. Lines of an earlier process stay in the file. Each process numbers its
// events from 1. Nothing is synced to the disk.
//
// One thread at a time.
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

  /// Opens the file to append lines, and writes no event yet. A new file gets mode 640.
  /// kUnavailable: the file can't be opened, LineFile refuses it, or another process writes it; the
  /// message says why.
  static Result<std::unique_ptr<EventsFile>> Open(std::string path);
  /// Waits until the thread has tried once more to write the events so far, but at most for
  /// kWaitAtEnd. If the time is too short, the log says so, and the thread goes on while the
  /// process lives. Does not wait if Follow was not called.
  ~EventsFile();
  EventsFile(const EventsFile&) = delete;
  EventsFile& operator=(const EventsFile&) = delete;

  /// Begins to write: first the events that the history has, then each new event. Throws
  /// std::system_error if the host lacks threads. REQUIRES (checked): called at most once;
  /// `history` is not null.
  void Follow(std::shared_ptr<const runtime::History> history);

 private:
  struct Shared;

  explicit EventsFile(std::string path);

  const std::shared_ptr<Shared> shared_;
  std::thread thread_;
};

}  // namespace baton::app
