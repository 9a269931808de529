// DemoReport: what a demo tells its reader, line by line, on a terminal or in a log.
//
// One thread.
#pragma once

#include <string>

#include "app/table.h"
#include "base/clock.h"

namespace baton::app {

/// One thing that the demo shows.
struct DemoClaim {
  bool holds = false;
  std::string claim;
  std::string measured;
  std::string next;  ///< what to try where it does not hold
};

class DemoReport {
 public:
  explicit DemoReport(bool color) : color_(color), started_(BootClock::now()) {}

  /// A numbered part begins.
  void Part(const std::string& title);
  void Line(const std::string& text);
  /// A remark: neither passed nor failed.
  void Note(const std::string& text);
  void Show(const Table& table);
  void Claim(const DemoClaim& claim);
  /// The last line: counts and the time it all took.
  void End();

  int failed() const { return failed_; }

 private:
  const bool color_;
  const TimePoint started_;
  int parts_ = 0;
  int passed_ = 0;
  int failed_ = 0;
};

/// In the unit that suits it, with three digits: "0.42 ms", "118 ms", "5.31 s".
std::string TimeWord(Duration duration);
/// With separators: "1,024".
std::string Grouped(std::uint64_t number);

}  // namespace baton::app
