// The findings of `batonctl doctor`, one for each check, with advice. Plain values; any thread.
#pragma once

#include <chrono>
#include <cstdint>
#include <string>
#include <vector>

#include "baton/types.h"

namespace baton::runtime {

enum class Severity : std::uint8_t {
  kOk,
  kNotice,   ///< worth knowing, but nothing has to be done
  kWarning,  ///< works, but less well or less safely than it could
  kProblem,  ///< does not work, or soon will not
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
  std::string check;  ///< a word for the check; the words are API (Judge)
  Severity severity = Severity::kOk;
  std::string what;    ///< what was found, as one line
  std::string advice;  ///< what to do, as one line; empty: nothing has to be done
};

struct Diagnosis {
  std::string group;
  NodeId node;                                 ///< the node or relay that was examined
  std::chrono::system_clock::time_point at{};  ///< the end of the examination, by that node's clock
  std::vector<Finding> findings;
};

}  // namespace baton::runtime
