// Log: writes each record as one line to stderr, as text for people or JSON for collectors.
//
// Thread-safe. Write does not wait for a slow reader of stderr, because the node's loop also calls
// Write. Records wait in a queue of kLogQueue. If the queue is full, the oldest record is dropped.
// If stderr does not take a record within a second, the log's thread drops this record. A later
// record says how many records were dropped.
//
// Before ConfigureLog there is no queue: records from kInfo upwards are written to stderr as text
// on the caller's thread. If stderr does not take a record at once, the record is dropped. The
// caller waits if stderr is a file (WriteStderrNow has some rarer cases).
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <initializer_list>
#include <string>
#include <string_view>
#include <type_traits>
#include <variant>

#include "baton/log.h"
#include "baton/result.h"

namespace baton::log {

inline constexpr std::size_t kLogQueue = 8192;  ///< records waiting for stderr

using Level = LogLevel;
/// Reads "trace", "debug", "info", "warn" or "error". kInvalidArgument: `word` is another word; the
/// message lists the five levels.
Result<Level> ParseLevel(std::string_view word);

enum class Format : std::uint8_t { kText, kJson };
/// Reads "text" or "json". kInvalidArgument: `word` is another word.
Result<Format> ParseFormat(std::string_view word);

/// A key and its value, in addition to the message. REQUIRES (not checked): the key is a snake_case
/// word, because Format::kText does not escape keys. Key and value live until the call with this
/// field returns.
class Field {
 public:
  using Value = std::variant<std::string_view, std::int64_t, std::uint64_t, double, bool>;

  Field(std::string_view name, std::string_view text) : key(name), value(text) {}
  Field(std::string_view name, const char* text) : key(name), value(std::string_view(text)) {}
  Field(std::string_view name, const std::string& text)
      : key(name), value(std::string_view(text)) {}
  template <typename T>
  requires std::is_arithmetic_v<T> Field(std::string_view name, T number)
      : key(name), value(Widen(number)) {}

  std::string_view key;
  Value value;

 private:
  template <typename T>
  static Value Widen(T number) {
    if constexpr (std::is_same_v<T, bool>) {
      return number;
    } else if constexpr (std::is_floating_point_v<T>) {
      return static_cast<double>(number);
    } else if constexpr (std::is_signed_v<T>) {
      return static_cast<std::int64_t>(number);
    } else {
      return static_cast<std::uint64_t>(number);
    }
  }
};
using Fields = std::initializer_list<Field>;

struct LogOptions {
  Level level = Level::kInfo;
  Format format = Format::kText;
};

/// Sets level and format, and starts the log's thread. REQUIRES (not checked): called at most once
/// in a process.
void ConfigureLog(const LogOptions& options);
/// Writes the queued records, and ends the log's thread. Waits for stderr for at most about a
/// second in all, and then drops the rest. A Write on another thread may wait as long meanwhile.
/// Later records are written as before ConfigureLog, but with the configured level and format. Does
/// nothing before ConfigureLog, or when called again.
void ShutDownLog();

/// Whether records go to a queue: from ConfigureLog until ShutDownLog.
bool Queued();

/// How many records were dropped so far, because stderr was read too slowly or could not be
/// written. Records below the configured level don't count.
std::size_t Dropped();

/// Writes a record. Does nothing if `level` is below the configured level (before ConfigureLog:
/// below kInfo). `message`: any text.
void Write(Level level, std::string_view message, Fields fields = {});
inline void Debug(std::string_view message, Fields fields = {}) {
  Write(Level::kDebug, message, fields);
}
inline void Info(std::string_view message, Fields fields = {}) {
  Write(Level::kInfo, message, fields);
}
inline void Warn(std::string_view message, Fields fields = {}) {
  Write(Level::kWarn, message, fields);
}
inline void Error(std::string_view message, Fields fields = {}) {
  Write(Level::kError, message, fields);
}

/// Writes time, level and `text` as one line in the form of FormatText. Ignores the configured
/// level and format. REQUIRES (not checked): FormatMessage made `text`, so `text` is one line.
void WriteText(std::chrono::system_clock::time_point time, Level level, std::string_view text);

/// Returns the message and the fields on one line, such as `message key="two words"`. A message
/// with '=' is quoted, so that no part of it looks like a field: `"a=b" key=1`. Texts are escaped
/// by AppendEscaped (escape.h). A number that is infinite or not a number becomes null.
std::string FormatMessage(std::string_view message, Fields fields);
/// Returns a line without a line end, such as
/// `2026-01-02T03:04:05.678Z info  message key=value key="two words"`.
std::string FormatText(std::chrono::system_clock::time_point time, Level level,
                       std::string_view message, Fields fields);
/// Returns one JSON object on one line, without a line end. Its members are "time" (RFC 3339, UTC),
/// "level", "message", and then the fields. Bytes that are not UTF-8 become U+FFFD. A number that
/// is infinite or not a number becomes null.
std::string FormatJson(std::chrono::system_clock::time_point time, Level level,
                       std::string_view message, Fields fields);

}  // namespace baton::log
