// DemoReport: prints a demo's output to stdout, line by line. It escapes only tables.
//
// One thread at a time.
#pragma once

#include <string>

#include "app/ctl/table.h"
#include "base/clock.h"

namespace baton::app {

/// A statement that the demo checks.
struct DemoClaim {
  bool holds = false;    ///< PASS or FAIL
  std::string claim;     ///< the statement
  std::string measured;  ///< the measurement
  /// Advice, printed only if the statement is false. DemoStage::Claim replaces an empty advice;
  /// DemoReport does not.
  std::string next = {};
};

class DemoReport {
 public:
  explicit DemoReport(bool color) : color_(color), started_(BootClock::now()) {}

  /// Prints the title of a part, after the part's number.
  void Part(const std::string& title);
  void Line(const std::string& text);
  /// Prints a remark, which neither passes nor fails.
  void Note(const std::string& text);
  void Show(const Table& table);
  void Claim(const DemoClaim& claim);
  /// Prints the last line: how many statements passed and failed, and how long the demo took.
  void End();

  /// How many statements failed.
  int failed() const { return failed_; }

 private:
  const bool color_;
  const TimePoint started_;
  int parts_ = 0;
  int passed_ = 0;
  int failed_ = 0;
};

/// Returns a duration with about three digits, in milliseconds below 1 s and otherwise in seconds:
/// "0.42 ms", "118 ms", "5.31 s".
std::string TimeWord(Duration duration);
/// Returns a number with separators: "1,024".
std::string Grouped(std::uint64_t number);

}  // namespace baton::app
