// EventsFile: writes a history to a file, one JSON object a line.
//
// Somebody else bounds the file's size, for example logrotate. Before each write the object looks
// whether the path still leads to the open file, and otherwise opens the path again. A file that is
// emptied in place is fine, too.
//
// A thread of its own reads the history and writes. So a full or slow disk stops nothing else. It
// is logged once, and the events are written later, unless the history has dropped them by then;
// dropped ones are counted. A line is written whole or not at all. Lines of an earlier process
// stay; the numbers of the next process begin at 1 again.
#pragma once

#include <condition_variable>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <mutex>
#include <string>
#include <thread>
#include <utility>

#include "baton/result.h"
#include "runtime/history.h"

namespace baton::app {

class EventsFile {
 public:
  /// Opens the file to append. kUnavailable: it can't be opened, or another process writes it; the
  /// message says why.
  static Result<std::unique_ptr<EventsFile>> Open(std::string path);
  /// Tries once more to write the events that have come so far, and ends.
  ~EventsFile();
  EventsFile(const EventsFile&) = delete;
  EventsFile& operator=(const EventsFile&) = delete;

  /// Begins to write: the events that the history holds, then each new one. REQUIRES: called at
  /// most once; not null.
  void Follow(std::shared_ptr<const runtime::History> history);

 private:
  explicit EventsFile(std::string path) : path_(std::move(path)) {}

  /// Opens the file unless the open one is at its path. After a failure no file is open.
  Status OpenFile();
  Status Prepare();
  bool AtItsPath() const;
  Status Append(const std::string& text);
  void TakeBack(std::size_t bytes);
  Error Failed() const;
  void Run();
  /// Writes one page. False: there was nothing to write, or it failed.
  bool WriteSome();
  void Told(const Status& written);
  /// Waits until there are more events or it is time to try again. False: the object ends.
  bool WaitForMore();

  const std::string path_;
  std::shared_ptr<const runtime::History> history_;
  int file_ = -1;
  std::uint64_t after_ = 0;
  std::uint64_t lost_ = 0;  ///< dropped by the history before they could be written
  bool failing_ = false;

  std::mutex mutex_;  // guards what follows
  std::condition_variable changed_;
  bool more_ = false;
  bool ending_ = false;
  std::thread thread_;
};

}  // namespace baton::app
