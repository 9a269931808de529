// EventsFile: writes a history to a file, one JSON object a line, with a bound on the file's size.
//
// A thread of its own reads the history and writes. So a full or slow disk stops nothing else. It
// is logged once, and the events are written later, unless the history has dropped them by then;
// dropped ones are counted. A line is written whole or not at all. Lines of an earlier process
// stay; the numbers of the next process begin at 1 again.
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
  std::uint64_t most_bytes = 0;  ///< at this size path becomes path.1, path.1 becomes path.2
  std::uint32_t keep = 1;        ///< how many older files are kept, at least 1
};

class EventsFile {
 public:
  /// Opens the file to append. kUnavailable: it can't be opened, or another process writes it; the
  /// message says why.
  static Result<std::unique_ptr<EventsFile>> Open(EventsFileOptions options);
  /// Tries once more to write the events that have come so far, and ends.
  ~EventsFile();
  EventsFile(const EventsFile&) = delete;
  EventsFile& operator=(const EventsFile&) = delete;

  /// Begins to write: the events that the history holds, then each new one. REQUIRES: called at
  /// most once; not null.
  void Follow(std::shared_ptr<const runtime::History> history);

 private:
  explicit EventsFile(EventsFileOptions options) : options_(std::move(options)) {}

  /// After a failure no file is open.
  Status OpenFile();
  Status Prepare();
  Status Rotate();
  Status Append(const std::string& text);
  void TakeBack(std::size_t bytes);
  /// Writes a page's lines. If that fails, after_ is the number of the last event written.
  Status WritePage(const runtime::HistoryPage& page);
  void Run();
  /// Writes one page. False: there was nothing to write, or it failed.
  bool WriteSome();
  void Told(const Status& written);
  /// Waits until there are more events or it is time to try again. False: the object ends.
  bool WaitForMore();

  const EventsFileOptions options_;
  std::shared_ptr<const runtime::History> history_;
  int file_ = -1;
  std::uint64_t size_ = 0;
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
