#include "base/log.h"

#include <spdlog/async.h>
#include <spdlog/sinks/base_sink.h>
#include <spdlog/spdlog.h>

#include <poll.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <cerrno>
#include <charconv>
#include <chrono>
#include <cmath>
#include <functional>
#include <memory>
#include <mutex>
#include <system_error>
#include <utility>
#include <vector>

#include "base/escape.h"
#include "base/stderr_now.h"
#include "base/timestamp.h"

namespace baton {

const char* ToString(LogLevel level) {
  switch (level) {
    case LogLevel::kTrace: return "trace";
    case LogLevel::kDebug: return "debug";
    case LogLevel::kInfo: return "info";
    case LogLevel::kWarn: return "warn";
    case LogLevel::kError: return "error";
  }
  return "unknown";
}

}  // namespace baton

namespace baton::log {
namespace {

constexpr std::array<std::pair<std::string_view, Level>, 5> kLevels = {{
    {"trace", Level::kTrace},
    {"debug", Level::kDebug},
    {"info", Level::kInfo},
    {"warn", Level::kWarn},
    {"error", Level::kError},
}};

void AppendQuoted(std::string& out, std::string_view text) {
  out += '"';
  AppendEscaped(out, text, true);
  out += '"';
}

template <typename T>
void AppendNumber(std::string& out, T number) {
  std::array<char, 40> text{};
  const auto end = std::to_chars(text.data(), text.data() + text.size(), number).ptr;
  out.append(text.data(), end);
}

void AppendNumber(std::string& out, bool value) { out += value ? "true" : "false"; }

void AppendNumber(std::string& out, double number) {
  if (!std::isfinite(number)) {
    out += "null";
    return;
  }
  AppendNumber<double>(out, number);
}

bool NeedsQuotes(std::string_view text) {
  return text.empty() || text.find_first_of(" =\"\\\n\r\t") != std::string_view::npos;
}

void AppendText(std::string& out, std::string_view text) {
  if (NeedsQuotes(text)) return AppendQuoted(out, text);
  AppendEscaped(out, text, false);
}

/// Appends a field's value; strings through `append_string`.
template <typename AppendString>
void AppendValue(std::string& out, const Field::Value& value, AppendString append_string) {
  std::visit(
      [&](const auto& held) {
        if constexpr (std::is_same_v<std::decay_t<decltype(held)>, std::string_view>) {
          append_string(out, held);
        } else {
          AppendNumber(out, held);
        }
      },
      value);
}

std::string LineHead(std::chrono::system_clock::time_point time, Level level) {
  std::string word = ToString(level);
  word.resize(5, ' ');
  return Timestamp(time) + ' ' + word + ' ';
}

// Only the queue's own thread waits this long; a caller that logs without a queue never waits.
constexpr std::chrono::milliseconds kPatience{1000};
constexpr int kPauseMs = 10;  // before stderr is tried again within that time
using Clock = std::chrono::steady_clock;

/// Writes whole lines to stderr. If it can't (a full disk, a reader that is gone), it counts the
/// record as lost. Before the next record that gets through, it writes a line that says how many
/// were lost, and why.
class StderrSink : public spdlog::sinks::base_sink<std::mutex> {
 public:
  /// Makes that line.
  using Tell = std::function<std::string(std::size_t lost, const std::string& why)>;
  explicit StderrSink(Tell tell) : tell_(std::move(tell)) {}

  std::size_t lost() const { return lost_; }
  /// How long to wait for the reader of a full stderr, for each record.
  void SetPatience(std::chrono::milliseconds patience) { patience_ = patience; }
  /// After this time it does not wait at all.
  void EndPatience(Clock::time_point when) { end_ = when; }

 protected:
  void sink_it_(const spdlog::details::log_msg& message) override {
    std::string line(message.payload.data(), message.payload.size());
    line += '\n';
    if (lost_ > said_) {
      const std::size_t lost = lost_;
      if (!WriteLine(tell_(lost - said_, why_) + "\n")) return;
      said_ = lost;
    }
    WriteLine(std::move(line));
  }
  void flush_() override {}

 private:
  bool WriteLine(std::string line) {
    if (broken_) line = "\n" + line;  // ends the line of a record that was cut off
    if (!Write(line)) return false;
    broken_ = false;
    return true;
  }

  bool Write(std::string_view bytes) {
    const Clock::time_point until = std::min(Clock::now() + patience_.load(), end_.load());
    while (!bytes.empty()) {
      const ssize_t count = WriteStderrNow(bytes);
      if (count > 0) {
        broken_ = true;
        bytes.remove_prefix(static_cast<std::size_t>(count));
      } else if (count == 0 || errno == EAGAIN) {
        if (Clock::now() >= until) return Lose(EAGAIN);
        // Don't poll for room: a terminal may report room that is too little for this record.
        poll(nullptr, 0, kPauseMs);
      } else if (errno != EINTR) {
        return Lose(errno);
      }
    }
    return true;
  }

  bool Lose(int why) {
    why_ = std::generic_category().message(why);
    ++lost_;
    return false;
  }

  const Tell tell_;
  std::atomic<std::chrono::milliseconds> patience_{};
  std::atomic<Clock::time_point> end_{Clock::time_point::max()};
  std::atomic<std::size_t> lost_{0};
  std::size_t said_ = 0;  // how many of the lost ones were reported
  std::string why_;
  bool broken_ = false;
};

/// The process's one log. Never destroyed: detached threads may log while the process ends.
class Writer {
 public:
  static Writer& Instance() {
    static Writer* const writer = new Writer;
    return *writer;
  }

  void Configure(const LogOptions& options) {
    const std::lock_guard lock(mutex_);
    level_ = options.level;
    format_ = options.format;
    pool_ = std::make_shared<spdlog::details::thread_pool>(kLogQueue, 1);
    sink_->SetPatience(kPatience);
    Use(std::make_shared<spdlog::async_logger>("baton", sink_, pool_,
                                               spdlog::async_overflow_policy::overrun_oldest));
  }

  void ShutDown() {
    std::shared_ptr<spdlog::details::thread_pool> ending;
    {
      const std::lock_guard lock(mutex_);
      if (pool_ == nullptr) return;
      sink_->EndPatience(Clock::now() + kPatience);
      Use(std::make_shared<spdlog::logger>("baton", sink_));
      ending = std::move(pool_);
    }
    // The queue empties before its thread ends, with the last owner of the pool.
    ending.reset();
    sink_->SetPatience({});
  }

  bool Enabled(Level level) const { return level >= level_; }

  std::size_t Dropped() {
    const std::shared_ptr<spdlog::details::thread_pool> pool = Pool();
    return sink_->lost() + (pool == nullptr ? dropped_said_.load() : pool->overrun_counter());
  }

  bool Queued() { return Pool() != nullptr; }

  void Write(Level level, std::string_view message, Fields fields) {
    WriteLine(level, Render(level, message, fields));
  }
  void WriteLine(Level level, const std::string& line) {
    Put(level, line);
    SayDropped();
  }

 private:
  Writer() { Use(std::make_shared<spdlog::logger>("baton", sink_)); }

  void Use(std::shared_ptr<spdlog::logger> logger) {
    logger->set_pattern("%v");
    logger->set_level(spdlog::level::trace);
    loggers_.push_back(std::move(logger));
    logger_.store(loggers_.back().get());
  }

  std::string Render(Level level, std::string_view message, Fields fields) const {
    const auto now = std::chrono::system_clock::now();
    return format_ == Format::kJson ? FormatJson(now, level, message, fields)
                                    : FormatText(now, level, message, fields);
  }

  void Put(Level level, const std::string& line) {
    // The level is only for spdlog's bookkeeping; the line contains it already.
    logger_.load()->log(level >= Level::kWarn ? spdlog::level::warn : spdlog::level::info,
                        spdlog::string_view_t(line.data(), line.size()));
  }

  void SayDropped() {
    const std::shared_ptr<spdlog::details::thread_pool> pool = Pool();
    if (pool == nullptr) return;
    const std::size_t dropped = pool->overrun_counter();
    const std::size_t said = dropped_said_.exchange(dropped);
    if (dropped <= said) return;
    Put(Level::kWarn, Render(Level::kWarn, "log records were dropped: stderr is read too slowly",
                             {{"dropped", dropped - said}}));
  }

  std::shared_ptr<spdlog::details::thread_pool> Pool() {
    const std::lock_guard lock(mutex_);
    return pool_;
  }

  const std::shared_ptr<StderrSink> sink_ =
      std::make_shared<StderrSink>([this](std::size_t lost, const std::string& why) {
        return Render(Level::kWarn, "log records were lost: stderr could not be written",
                      {{"lost", lost}, {"why", why}});
      });
  std::mutex mutex_;  // pool_ and loggers_
  std::shared_ptr<spdlog::details::thread_pool> pool_;
  // All loggers ever made, at most three: some thread may still use a replaced one.
  std::vector<std::shared_ptr<spdlog::logger>> loggers_;
  std::atomic<spdlog::logger*> logger_{nullptr};
  std::atomic<Level> level_{Level::kInfo};
  std::atomic<Format> format_{Format::kText};
  std::atomic<std::size_t> dropped_said_{0};
};

}  // namespace

Result<Level> ParseLevel(std::string_view word) {
  for (const auto& [name, level] : kLevels) {
    if (name == word) return level;
  }
  return baton::Error{ErrorCode::kInvalidArgument,
                      "\"" + std::string(word) +
                          "\" is not a log level; expected trace, debug, info, "
                          "warn or error"};
}

Result<Format> ParseFormat(std::string_view word) {
  if (word == "text") return Format::kText;
  if (word == "json") return Format::kJson;
  return baton::Error{ErrorCode::kInvalidArgument,
                      "\"" + std::string(word) + "\" is not a log format; expected text or json"};
}

void ConfigureLog(const LogOptions& options) { Writer::Instance().Configure(options); }
std::size_t Dropped() { return Writer::Instance().Dropped(); }
void ShutDownLog() { Writer::Instance().ShutDown(); }
bool Queued() { return Writer::Instance().Queued(); }

void Write(Level level, std::string_view message, Fields fields) {
  Writer& writer = Writer::Instance();
  if (writer.Enabled(level)) writer.Write(level, message, fields);
}

void WriteText(std::chrono::system_clock::time_point time, Level level, std::string_view text) {
  std::string line = LineHead(time, level);
  line += text;
  Writer::Instance().WriteLine(level, line);
}

std::string FormatMessage(std::string_view message, Fields fields) {
  std::string text;
  // A message may repeat words of others, which must not look like fields.
  if (message.find('=') == std::string_view::npos) {
    AppendEscaped(text, message, false);
  } else {
    AppendQuoted(text, message);
  }
  for (const Field& field : fields) {
    text += ' ';
    text += field.key;
    text += '=';
    AppendValue(text, field.value, AppendText);
  }
  return text;
}

std::string FormatText(std::chrono::system_clock::time_point time, Level level,
                       std::string_view message, Fields fields) {
  return LineHead(time, level) + FormatMessage(message, fields);
}

std::string FormatJson(std::chrono::system_clock::time_point time, Level level,
                       std::string_view message, Fields fields) {
  std::string line =
      R"({"time":")" + Timestamp(time) + R"(","level":")" + ToString(level) + R"(","message":)";
  AppendQuoted(line, message);
  for (const Field& field : fields) {
    line += ',';
    AppendQuoted(line, field.key);
    line += ':';
    AppendValue(line, field.value, AppendQuoted);
  }
  line += '}';
  return line;
}

}  // namespace baton::log
