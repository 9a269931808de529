// EventsFile: writes a history to a file, one JSON object a line.
//
// A thread of its own reads the history and writes. So a full or slow disk stops nothing else. It
// is logged once, and the events are written later, unless the history has dropped them by then;
// dropped ones are counted. Lines of an earlier process stay; the numbers of the next process begin
// at 1 again.
#pragma once

#include <condition_variable>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <mutex>
#include <string>
#include <thread>
#include <utility>

#include "app/daemon/line_file.h"
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
  explicit EventsFile(std::string path) : file_("--events-file", std::move(path), 0640) {}

  void Run();
  /// Writes one page. False: there was nothing to write, or it failed.
  bool WriteSome();
  void Told(const Status& written);
  /// Waits until there are more events or it is time to try again. False: the object ends.
  bool WaitForMore();

  LineFile file_;
  std::shared_ptr<const runtime::History> history_;
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
