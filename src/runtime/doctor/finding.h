// What `batonctl doctor` is told: one finding for each thing that was looked at, and what to do
// about it. Plain values.
#pragma once

#include <chrono>
#include <cstdint>
#include <string>
#include <vector>

#include "baton/types.h"

namespace baton::runtime {

enum class Severity : std::uint8_t {
  kOk,
  kNotice,   ///< worth knowing; nothing has to be done
  kWarning,  ///< works, but not as well or as safely as it could
  kProblem,  ///< does not work, or soon won't
};
/// "ok", "notice", "warning", "problem".
inline const char* ToString(Severity severity) {
  switch (severity) {
    case Severity::kOk: return "ok";
    case Severity::kNotice: return "notice";
    case Severity::kWarning: return "warning";
    case Severity::kProblem: return "problem";
  }
  return "unknown";
}

struct Finding {
  std::string check;  ///< one of a fixed set of words: API
  Severity severity = Severity::kOk;
  std::string what;    ///< one line
  std::string advice;  ///< one line; empty: nothing has to be done
};

struct Diagnosis {
  std::string group;
  NodeId node;  ///< who looked
  std::chrono::system_clock::time_point at{};
  std::vector<Finding> findings;
};

}  // namespace baton::runtime
