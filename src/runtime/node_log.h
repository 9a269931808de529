// NodeLog: one node's log. It delivers records to the program's sink, or to stderr if there is no
// sink.
//
// Thread-safe. Write never waits for the sink or for stderr: records wait in a bounded queue
// (kMaxWaiting). A thread of this object takes them from there, one after another in order, and
// calls the sink or writes to stderr. A full queue drops its oldest record; a later record says how
// many were dropped.
//
// There is one exception. Suppose that there is no sink, and that the process's log has a queue
// when this object is made, as in batond. Then records go straight to the process's log
// (log::Write), and this object has no thread. Before ConfigureLog and after ShutDownLog the
// process's log has no queue. Write then writes to stderr on the caller's thread, and may wait, for
// example if stderr is a file (base/log.h).
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

/// The node that writes a log, as its lines on stderr name it.
struct LogOwner {
  std::string group = {};
  NodeId node = {};
};

class NodeLog {
 public:
  static constexpr std::size_t kMaxWaiting = log::kLogQueue;

  /// If `sink` is empty, records go to stderr. Exceptions of the sink are ignored. Records below
  /// `level` are dropped and not counted. This object's thread writes to stderr as text, whatever
  /// the level and format of the process's log are. Its lines of transitions end with `owner`,
  /// because several nodes may write there. Records that go to the process's log have that log's
  /// format, are dropped if they are below `level` or below that log's level, and lack `owner`,
  /// because a process that configures its log has one node. Throws std::system_error if the host
  /// lacks threads.
  NodeLog(LogSink sink, LogLevel level, const LogOwner& owner = {});
  /// Calls Finish.
  ~NodeLog();
  NodeLog(const NodeLog&) = delete;
  NodeLog& operator=(const NodeLog&) = delete;

  /// The NodeLog that writes to the process's log (base/log.h), for records that belong to no node.
  /// Its Write may wait (see above). It has no thread, and is never destroyed.
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
  /// sink gets a copy of it. All arguments need to live only until Write returns.
  void Write(LogLevel level, std::string_view message, log::Fields fields = {},
             const Transition* transition = nullptr);

  /// How many records were dropped so far because the sink, or stderr, is too slow. Without a sink,
  /// this includes all records of the process that stderr did not take, also those of other nodes
  /// and from before this object was made.
  std::size_t Dropped();

  /// Delivers the waiting records, without a bound, and ends the thread. Later records are lost and
  /// not counted, unless they go to the process's queue. Idempotent. REQUIRES: only one thread
  /// calls it. The sink must not call it, because it would wait for itself: then the process ends.
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
