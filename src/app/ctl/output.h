// batonctl's output: data to stdout, messages and progress to stderr. All functions show control
// characters in what they print as escapes. No function reports a write that fails. When the verb
// has ended, main looks at std::cout, says that the output is not complete, and returns kFailed
// instead of kDone. A write to stderr that fails is never reported. One thread.
#pragma once

#include <string>
#include <vector>

#include "app/ctl/ctl.h"
#include "app/ctl/table.h"
#include "base/clock.h"
#include "baton/result.h"

namespace baton::app {

/// Prints a JSON document, as YAML if options.format is kYaml, otherwise as one line of JSON.
/// REQUIRES: `json` is one line of JSON.
void PrintStructured(const CtlOptions& options, const std::string& json);
void PrintTable(const CtlOptions& options, const Table& table);
/// Prints one line of data. Terminal codes for colours would be shown as escapes, too: for coloured
/// text use PrintCells.
void PrintLine(const std::string& line);
/// Prints the cells' texts on one line, without blanks between them.
void PrintCells(const CtlOptions& options, const std::vector<Cell>& cells);

/// Prints one message line, which begins "batonctl: ".
void Say(const std::string& line);
/// Prints the error and returns its exit code: kInvalidArgument gives kUsage, kFailedPrecondition
/// and kStaleTerm give kPrecondition, kUnavailable gives kUnreachable, kNotFound and kTimedOut give
/// the exit codes of the same names, and all others give kFailed. If Interrupt has happened, prints
/// only "interrupted" and returns kInterrupted, for every error.
ExitCode Fail(const Error& error);

/// Shows the progress of a long operation on stderr. On a terminal, one line is rewritten in place,
/// at each change. Otherwise each change is a new line; but a change within a second after the
/// last printed line is skipped, even the last one, unless Show gets it again later.
class Progress {
 public:
  Progress();
  /// Calls End.
  ~Progress();
  void Show(const std::string& line);
  /// Ends the line, so that other output can follow. Does nothing if no line is open.
  void End();

 private:
  const bool terminal_;
  bool open_ = false;
  std::string last_;
  TimePoint last_at_{};
};

}  // namespace baton::app
