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
  /// One line without time and level: a message, then key=value fields. It is UTF-8
  /// (malformed bytes become U+FFFD). Line ends, control characters and marks of writing direction
  /// are escaped.
  std::string text{};
  /// The change of leadership that the record is about; unset in all other records.
  std::optional<Transition> transition{};
};

/// Takes a node's records. The node calls the sink on a thread of its own, one record at a time and
/// in order. Calls may begin before Node::Start returns. No call comes after Node::Stop or the
/// destructor has returned. Both deliver all waiting records first, so the sink must call neither
/// of them. The sink may call any other method of the node. It may block, and holds up nothing else
/// except Stop and the destructor. At most 8,192 records wait for the sink. If there are more, the
/// oldest are dropped. The next record that the sink gets then says how many; its level is kWarn,
/// whatever NodeOptions::log_level is. baton_log_records_dropped_total counts the dropped records.
/// The node ignores an exception of the sink.
using LogSink = std::function<void(const LogRecord& record)>;

}  // namespace baton
