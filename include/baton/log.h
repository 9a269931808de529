// Log lines of a node, for the program that embeds it: see NodeOptions::log.
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
/// "trace", "debug", "info", "warn" or "error". Never null.
BATON_EXPORT const char* ToString(LogLevel level);

/// One record of a node's log.
struct LogRecord {
  std::chrono::system_clock::time_point time{};
  LogLevel level = LogLevel::kInfo;
  /// One line without time and level: a message, then key=value fields. It is UTF-8
  /// (malformed bytes become U+FFFD). Line ends, control characters and marks of writing direction
  /// are escaped.
  std::string text{};
  /// Set if a kInfo record is about a transition; the node has counted it (see Transition).
  std::optional<Transition> transition{};
};

/// Takes a node's records. The node calls the sink on a thread of its own, one record at a time and
/// in order, though `time` may go back. Few records name their node. Two nodes may call one sink
/// at once. Calls may begin before Node::Start returns. None comes after Stop, the destructor or a
/// failed Start has returned. These three deliver all waiting records first, so the sink must not
/// call Stop or the destructor. It may call any other method of the node. It may block; this holds
/// up only these three. At most 8,192 records wait. If there are more, the oldest are dropped. The
/// sink's next record says how many, with kWarn whatever NodeOptions::log_level is, and
/// baton_log_records_dropped_total counts them. The node ignores an exception of the sink.
using LogSink = std::function<void(const LogRecord& record)>;

}  // namespace baton
