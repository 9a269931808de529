#include "runtime/node_log.h"

#include <chrono>
#include <utility>

#include "base/check.h"

namespace baton::runtime {
namespace {

void ToStderr(const LogRecord& record) { log::WriteText(record.time, record.level, record.text); }

LogRecord MakeRecord(LogLevel level, std::string_view message, log::Fields fields) {
  return {.time = std::chrono::system_clock::now(),
          .level = level,
          .text = log::FormatMessage(message, fields)};
}

}  // namespace

NodeLog::NodeLog() : level_(LogLevel::kTrace), to_process_(true) {}

NodeLog::NodeLog(LogSink sink, LogLevel level, const LogOwner& owner)
    : sink_(std::move(sink)),
      level_(level),
      to_process_(sink_ == nullptr && log::Queued()),
      owner_(sink_ == nullptr
                 ? log::FormatMessage("", {{"group", owner.group}, {"node", owner.node}})
                 : "") {
  if (!to_process_) thread_ = std::thread([this] { Run(); });
}

NodeLog::~NodeLog() { Finish(); }

NodeLog& NodeLog::OfProcess() {
  static NodeLog* const process = new NodeLog;  // never destroyed, as the process's log
  return *process;
}

void NodeLog::Write(LogLevel level, std::string_view message, log::Fields fields,
                    const Transition* transition) {
  if (level < level_) return;
  if (to_process_) return log::Write(level, message, fields);
  LogRecord record = MakeRecord(level, message, fields);
  if (transition != nullptr) {
    record.transition = *transition;
    record.text += owner_;
  }
  const std::lock_guard lock(mutex_);
  if (ending_) return;
  if (waiting_.empty()) changed_.notify_one();
  if (waiting_.size() >= kMaxWaiting) {
    waiting_.pop_front();
    ++dropped_;
  }
  waiting_.push_back(std::move(record));
}

std::size_t NodeLog::Dropped() {
  const std::size_t stderrs = sink_ == nullptr ? log::Dropped() : 0;
  const std::lock_guard lock(mutex_);
  return dropped_ + stderrs;
}

void NodeLog::Finish() {
  BATON_CHECK(std::this_thread::get_id() != thread_.get_id());
  {
    const std::lock_guard lock(mutex_);
    ending_ = true;
    changed_.notify_one();
  }
  if (thread_.joinable()) thread_.join();
}

void NodeLog::Run() {
  std::unique_lock lock(mutex_);
  for (;;) {
    changed_.wait(lock, [this] { return ending_ || !waiting_.empty(); });
    if (waiting_.empty()) return;
    const LogRecord record = std::move(waiting_.front());
    waiting_.pop_front();
    const std::size_t dropped = dropped_ - std::exchange(told_, dropped_);
    lock.unlock();
    if (dropped > 0) {
      Deliver(MakeRecord(LogLevel::kWarn, "log records were dropped: the log is read too slowly",
                         {{"dropped", dropped}}));
    }
    Deliver(record);
    lock.lock();
  }
}

void NodeLog::Deliver(const LogRecord& record) {
  if (sink_ == nullptr) return ToStderr(record);
  try {
    sink_(record);
  } catch (...) {  // there is no log to tell it to
  }
}

}  // namespace baton::runtime
