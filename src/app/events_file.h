// EventsFile: a history as lines of a file, one JSON object each, with a bound on its size.
//
// A thread of its own reads the history and writes. A disk that is full or slow costs nothing else:
// it is logged once, and what could not be written is written later, unless the history has dropped
// it by then, which is counted. A line is written in whole or not at all. What an earlier process
// wrote stays, and is told apart by its numbers, which begin anew.
#pragma once

#include <condition_variable>
#include <cstdint>
#include <memory>
#include <mutex>
#include <string>
#include <thread>

#include "baton/result.h"
#include "runtime/history.h"

namespace baton::app {

struct EventsFileOptions {
  std::string path;
  std::uint64_t most_bytes = 0;  ///< at which it becomes path.1, and path.1 becomes path.2
  std::uint32_t keep = 1;        ///< how many before it are kept, at least 1
};

class EventsFile {
 public:
  /// Opens the file, to append. kUnavailable: it can't be, and why; also where another process
  /// writes it.
  static Result<std::unique_ptr<EventsFile>> Open(EventsFileOptions options);
  /// Writes what has come by now, where it can be written, and ends.
  ~EventsFile();
  EventsFile(const EventsFile&) = delete;
  EventsFile& operator=(const EventsFile&) = delete;

  /// Writes what the history keeps, and what comes. REQUIRES: called at most once; not null.
  void Follow(std::shared_ptr<const runtime::History> history);

 private:
  explicit EventsFile(EventsFileOptions options) : options_(std::move(options)) {}

  /// None is open where it fails.
  Status OpenFile();
  Status Prepare();
  Status Rotate();
  Status Append(const std::string& text);
  void TakeBack(std::size_t bytes);
  /// Writes a page's lines; unset as far as that failed, after_ tells how far.
  Status WritePage(const runtime::HistoryPage& page);
  void Run();
  /// False: nothing is there to write, now.
  bool WriteSome();
  void Told(const Status& written);
  /// False: the end. Returns when there is more, or it is time to try again.
  bool WaitForMore();

  const EventsFileOptions options_;
  std::shared_ptr<const runtime::History> history_;
  int file_ = -1;
  std::uint64_t size_ = 0;
  std::uint64_t after_ = 0;
  std::uint64_t lost_ = 0;  ///< dropped by the history before they could be written
  bool failing_ = false;

  std::mutex mutex_;  // below
  std::condition_variable changed_;
  bool more_ = false;
  bool ending_ = false;
  std::thread thread_;
};

}  // namespace baton::app
