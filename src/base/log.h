// Log: writes each record as one line to stderr, as text for people or JSON for collectors.
//
// Thread-safe. Write never blocks on a slow reader of stderr, because the node's loop logs too and
// must go on renewing its lease. Records wait in a bounded queue (kLogQueue); if it is full, the
// oldest is dropped. The next record that is written says how many were dropped.
//
// Before ConfigureLog, records from kInfo upwards go to stderr as text; those that it does not take
// at once are lost, and counted. (See WriteStderrNow, which waits if stderr is a file.)
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
/// kInvalidArgument: none of these words; the message lists them.
Result<Level> ParseLevel(std::string_view word);

enum class Format : std::uint8_t { kText, kJson };
/// kInvalidArgument: neither "text" nor "json".
Result<Format> ParseFormat(std::string_view word);

/// A key and its value, besides the message. Keys are snake_case words. Keys and string values need
/// to live only until the call returns.
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

/// Sets level and format, and moves writing to a thread of its own. Call it at most once a process.
void ConfigureLog(const LogOptions& options);
/// Writes what is queued, as far as stderr takes it within a second, and ends the log's thread.
/// Later records are written as before ConfigureLog, with its level and format. Idempotent.
void ShutDownLog();

/// Whether records wait in a queue: between ConfigureLog and ShutDownLog.
bool Queued();

/// Records dropped so far because stderr was read too slowly, or could not be written.
std::size_t Dropped();

/// Does nothing below the configured level.
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

/// Writes a line of text, also if the format is JSON, with a message that FormatMessage has made,
/// whatever its level.
void WriteText(std::chrono::system_clock::time_point time, Level level, std::string_view text);

/// `message key=value key="two words"`, escaped as in FormatText.
std::string FormatMessage(std::string_view message, Fields fields);
/// One line without its end: `2026-01-02T03:04:05.678Z info  message key=value key="two words"`.
/// Line ends and control characters are escaped.
std::string FormatText(std::chrono::system_clock::time_point time, Level level,
                       std::string_view message, Fields fields);
/// One JSON object: "time" (RFC 3339, UTC), "level", "message", then the fields. Bytes that are not
/// UTF-8 become U+FFFD; numbers that JSON does not have (infinite) become null.
std::string FormatJson(std::chrono::system_clock::time_point time, Level level,
                       std::string_view message, Fields fields);

}  // namespace baton::log
