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
  /// One line of UTF-8, without time and level: a message, then key=value fields. Malformed bytes
  /// become U+FFFD. Line ends, control characters and marks of writing direction are escaped.
  std::string text{};
  /// Set if the record reports a transition that the node has counted (see Transition). Then
  /// `level` is kInfo.
  std::optional<Transition> transition{};
};

/// Takes a node's records. A thread of the node calls the sink, with one record at a time and in
/// order. (`time` may go back from one record to the next.) Most records don't name their node. If
/// two nodes have the same sink, both may call it at once. Calls may begin before Node::Start has
/// returned.
///
/// Node::Stop, the node's destructor and a failed Start deliver all waiting records before they
/// return. No call of the sink comes afterwards. The sink must call neither Stop nor the
/// destructor, but may call any other method of the node. The sink may block: only these three wait
/// for it. At most 8,192 records wait for the sink. If there are more, the oldest records are
/// dropped. Then the sink gets a record that says how many were dropped. This record has kWarn,
/// whatever NodeOptions::log_level is. The metric baton_log_records_dropped_total counts dropped
/// records. The node ignores an exception of the sink.
using LogSink = std::function<void(const LogRecord& record)>;

}  // namespace baton
