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
  /// Set if the record is about a transition that the node has counted (see Transition). Such
  /// records have kInfo.
  std::optional<Transition> transition{};
};

/// Takes a node's records. A thread of the node calls the sink, with one record at a time and in
/// order. (`time` may go back from one record to the next.) Most records don't name their node. If
/// two nodes have the same sink, both may call it at once. Calls may begin before Node::Start
/// returns.
///
/// No call comes after Node::Stop, the node's destructor or a failed Start has returned. These
/// three deliver all waiting records first, so the sink must not call Stop or the destructor. It
/// may call any other method of the node. The sink may block; this holds up only these three. At
/// most 8,192 records wait. If there are more, the oldest records are dropped. The next record for
/// the sink says how many were dropped; it has kWarn, and comes whatever NodeOptions::log_level is.
/// baton_log_records_dropped_total counts them. The node ignores an exception of the sink.
using LogSink = std::function<void(const LogRecord& record)>;

}  // namespace baton
