// What a node logs, for the program that embeds it: see NodeOptions::log.
#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <optional>
#include <string>

#include "baton/export.h"
#include "baton/types.h"

namespace baton {

enum class LogLevel : std::uint8_t { kTrace, kDebug, kInfo, kWarn, kError };
/// "trace", "debug", "info", "warn" or "error".
BATON_EXPORT const char* ToString(LogLevel level);

/// One record of a node's log.
struct LogRecord {
  std::chrono::system_clock::time_point time{};
  LogLevel level = LogLevel::kInfo;
  /// One line without time and level: a message, then key=value fields. UTF-8; line ends and
  /// control characters are escaped.
  std::string text{};
  /// The change of leadership that the text tells; unset in all other records.
  std::optional<Transition> transition{};
};

/// Takes a node's records. The node calls it on a thread of its own, one record at a time and in
/// order: from within Node::Start until Node::Stop or the destructor returns. These deliver all
/// records that wait, so the sink must not call them. It may call anything else, and may block: the
/// node does not wait for it. At most 8,192 records wait for it. If there are more, the oldest are
/// dropped; the next record tells how many, and baton_log_records_dropped_total counts them. The
/// node ignores what the sink throws.
using LogSink = std::function<void(const LogRecord& record)>;

}  // namespace baton
