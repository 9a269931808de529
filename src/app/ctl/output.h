// batonctl's output: data to stdout, messages and progress to stderr. All functions print control
// characters as escapes. No function reports a failed write. If a write to stdout has failed, main
// says at its end that the output is not complete, and returns kFailed instead of kDone. Nothing
// reports a failed write to stderr. One thread.
#pragma once

#include <string>
#include <vector>

#include "app/ctl/ctl.h"
#include "app/ctl/table.h"
#include "base/clock.h"
#include "baton/result.h"

namespace baton::app {

/// Prints a JSON document: as YAML if options.format is kYaml, otherwise as one line of JSON.
/// REQUIRES: `json` is one line of JSON. (Checked only with kYaml, which throws an exception.)
void PrintStructured(const CtlOptions& options, const std::string& json);
void PrintTable(const CtlOptions& options, const Table& table);
/// Prints one line of data. Use PrintCells for coloured text, because PrintLine would print the
/// terminal codes of colours as escapes.
void PrintLine(const std::string& line);
/// Prints the cells' texts on one line, without blanks between them.
void PrintCells(const CtlOptions& options, const std::vector<Cell>& cells);

/// Prints one message line, which begins "batonctl: ".
void Say(const std::string& line);
/// Prints the error as a message line, and returns its exit code. If Interrupt has happened, prints
/// only "interrupted" and returns kInterrupted for every error. Otherwise:
///  - kInvalidArgument gives kUsage, and kUnavailable gives kUnreachable.
///  - kFailedPrecondition and kStaleTerm give kPrecondition.
///  - kNotFound and kTimedOut give the exit codes of the same names. All others give kFailed.
ExitCode Fail(const Error& error);

/// Shows the progress of a long operation on stderr. On a terminal, each change rewrites one line
/// in place. Otherwise each change is a new line, and at most one line a second is printed. Changes
/// that come earlier are left out, even the last one. (A later Show with the same text prints it.)
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
