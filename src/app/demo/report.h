// DemoReport: prints a demo's output to stdout, line by line, for a terminal or a log.
//
// One thread.
#pragma once

#include <string>

#include "app/ctl/table.h"
#include "base/clock.h"

namespace baton::app {

/// One thing that the demo shows.
struct DemoClaim {
  bool holds = false;
  std::string claim;
  std::string measured;
  /// What to try if it does not hold. DemoReport prints it as it is, also if it is empty;
  /// DemoStage::Claim replaces an empty one by advice.
  std::string next = {};
};

class DemoReport {
 public:
  explicit DemoReport(bool color) : color_(color), started_(BootClock::now()) {}

  /// Begins a numbered part.
  void Part(const std::string& title);
  void Line(const std::string& text);
  /// Prints a remark, which neither passes nor fails.
  void Note(const std::string& text);
  void Show(const Table& table);
  void Claim(const DemoClaim& claim);
  /// Prints the last line: the counts and how long everything took.
  void End();

  int failed() const { return failed_; }

 private:
  const bool color_;
  const TimePoint started_;
  int parts_ = 0;
  int passed_ = 0;
  int failed_ = 0;
};

/// A duration with three digits in a fitting unit: "0.42 ms", "118 ms", "5.31 s".
std::string TimeWord(Duration duration);
/// A number with separators: "1,024".
std::string Grouped(std::uint64_t number);

}  // namespace baton::app
