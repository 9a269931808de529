// batonctl's output: data to stdout, messages and progress to stderr.
//
// One thread.
#pragma once

#include <string>
#include <vector>

#include "app/ctl/ctl.h"
#include "app/ctl/table.h"
#include "base/clock.h"
#include "baton/result.h"

namespace baton::app {

/// Prints a JSON document as JSON or YAML, as the format says. REQUIRES: options.structured().
void PrintStructured(const CtlOptions& options, const std::string& json);
void PrintTable(const CtlOptions& options, const Table& table);
/// Prints one line of data. This and all functions below show control characters as escapes.
void PrintLine(const std::string& line);
/// Prints one line of data, the cells' texts joined.
void PrintCells(const CtlOptions& options, const std::vector<Cell>& cells);

/// Prints one message, "batonctl: …".
void Say(const std::string& line);
/// Prints the error and returns its exit code. But if Interrupt has happened, it prints only
/// "interrupted" and returns kInterrupted, whatever the error is.
ExitCode Fail(const Error& error);

/// Progress of a long operation. On a terminal one line is rewritten in place; else each change is
/// a new line, at most one a second, and changes in between are not shown.
class Progress {
 public:
  Progress();
  /// Calls End.
  ~Progress();
  void Show(const std::string& line);
  /// Ends the line, so that other output can follow.
  void End();

 private:
  const bool terminal_;
  bool open_ = false;
  std::string last_;
  TimePoint last_at_{};
};

}  // namespace baton::app
