// NodeLog: where one node's log goes: to the program's sink, else to stderr.
//
// Thread-safe. Write never waits for the sink or for stderr: records wait in a bounded queue
// (kMostWaiting), which drops its oldest, for a thread of this object. Where the process's log has
// such a queue already (batond's has), and there is no sink, records go straight to that one.
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

/// Whose log it is.
struct LogOwner {
  std::string group = {};
  NodeId node = {};
};

class NodeLog {
 public:
  static constexpr std::size_t kMostWaiting = log::kLogQueue;

  /// `sink` empty: stderr. Records below `level` are not made. `owner`: what the transitions' lines
  /// on stderr end with, since several nodes may write there. Lines in the process's queue end
  /// without it: a process with such a queue has one node.
  NodeLog(LogSink sink, LogLevel level, const LogOwner& owner = {});
  /// As Finish.
  ~NodeLog();
  NodeLog(const NodeLog&) = delete;
  NodeLog& operator=(const NodeLog&) = delete;

  /// The process's log, for what belongs to no node. It has no thread.
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
  /// `transition`: what the record is about; null: something else.
  void Write(LogLevel level, std::string_view message, log::Fields fields = {},
             const Transition* transition = nullptr);

  /// Records dropped so far because the sink, or stderr, is too slow. Without a sink, those that
  /// the process's stderr did not take are in it, also those of other nodes.
  std::size_t Dropped();

  /// Delivers what waits, and ends the thread; later records are lost. Idempotent. REQUIRES: not
  /// called from the sink, which would wait for itself.
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
  std::size_t told_ = 0;  // of them, by a record
  bool ending_ = false;
  std::thread thread_;
};

}  // namespace baton::runtime
