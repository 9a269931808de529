// Timestamp formats wall-clock time for people and JSON.
//
// Pure; any thread.
#pragma once

#include <chrono>
#include <string>

namespace baton {

/// RFC 3339 in UTC, truncated to milliseconds: 2026-01-02T03:04:05.678Z.
std::string Timestamp(std::chrono::system_clock::time_point time);

}  // namespace baton
