// NodeLog: one node's log. It delivers records to the program's sink. If there is no sink, it
// writes them to stderr.
//
// Thread-safe. Write never waits for the sink or for stderr: records wait in a bounded queue
// (kMaxWaiting). A thread of this object delivers the records one at a time, in order. If the queue
// is full, its oldest record is dropped. A later record says how many records were dropped.
//
// In batond this is different, because the process's log has a queue (base/log.h). If there is no
// sink, and the process's log has a queue when this object is made, records go to the process's
// log. Then this object has no thread. After ShutDownLog, and for OfProcess() also before
// ConfigureLog, that log has no queue: Write writes to stderr on the caller's thread, and may wait.
#pragma once

#include <condition_variable>
#include <cstddef>
#include <deque>
#include <mutex>
#include <string>
#include <string_view>
#include <thread>

#include "base/log.h"
#include "baton/log.h"
#include "baton/types.h"

namespace baton::runtime {

/// The node that writes a log. Its lines about transitions on stderr name the node.
struct LogOwner {
  std::string group = {};
  NodeId node = {};
};

class NodeLog {
 public:
  static constexpr std::size_t kMaxWaiting = log::kLogQueue;

  /// If `sink` is empty, records go to stderr. Exceptions of the sink are ignored. Records below
  /// `level` are dropped and not counted. Throws std::system_error if the host lacks threads.
  ///
  /// If this object's thread writes to stderr, it writes text, even if the process's log has
  /// another format. Its lines about transitions end with `owner`, because several nodes may write
  /// to stderr. Records that go to the process's log have that log's format and no `owner`. They
  /// are dropped if they are below `level` or below that log's level.
  NodeLog(LogSink sink, LogLevel level, const LogOwner& owner = {});
  /// Calls Finish.
  ~NodeLog();
  NodeLog(const NodeLog&) = delete;
  NodeLog& operator=(const NodeLog&) = delete;

  /// Returns the NodeLog that writes to the process's log (base/log.h). It is for records that
  /// belong to no node. Its Write may wait (see above). It has no thread, and is never destroyed.
  static NodeLog& OfProcess();

  void Info(std::string_view message, log::Fields fields = {}) {
    Write(LogLevel::kInfo, message, fields);
  }
  void Warn(std::string_view message, log::Fields fields = {}) {
    Write(LogLevel::kWarn, message, fields);
  }
  void Error(std::string_view message, log::Fields fields = {}) {
    Write(LogLevel::kError, message, fields);
  }
  /// `transition`: the change of leadership that the record is about; null: another record. The
  /// sink gets a copy of `transition`. All arguments need to live only until Write returns.
  void Write(LogLevel level, std::string_view message, log::Fields fields = {},
             const Transition* transition = nullptr);

  /// How many records were dropped so far, because the sink or stderr is too slow. Without a sink,
  /// all records that this process could not write to stderr are included: those of other nodes,
  /// and those from before this object was made.
  std::size_t Dropped();

  /// Delivers the waiting records, without a bound, and ends the thread. Later records are lost and
  /// not counted, except those for the process's log. Idempotent. REQUIRES: only one thread calls
  /// Finish. The sink must not call Finish, because it would wait for itself: then the process
  /// ends.
  void Finish();

 private:
  NodeLog();
  void Run();
  void Deliver(const LogRecord& record);

  const LogSink sink_;
  const LogLevel level_;
  const bool to_process_;
  const std::string owner_;  // as fields, after a space
  std::mutex mutex_;         // guards what follows
  std::condition_variable changed_;
  std::deque<LogRecord> waiting_;
  std::size_t dropped_ = 0;
  std::size_t told_ = 0;  // how many of dropped_ the log has reported
  bool ending_ = false;
  std::thread thread_;
};

}  // namespace baton::runtime
