// batonctl's output: data to stdout, messages and progress to stderr. All functions print control
// characters as escapes. No function reports a write that fails. If a write to stdout has failed,
// main says at the end that the output is not complete, and returns kFailed instead of kDone. A
// failed write to stderr is never reported. One thread.
#pragma once

#include <string>
#include <vector>

#include "app/ctl/ctl.h"
#include "app/ctl/table.h"
#include "base/clock.h"
#include "baton/result.h"

namespace baton::app {

/// Prints a JSON document: as YAML if options.format is kYaml, otherwise as one line of JSON.
/// REQUIRES: `json` is one line of JSON. (If it is not JSON, an exception is thrown with kYaml.)
void PrintStructured(const CtlOptions& options, const std::string& json);
void PrintTable(const CtlOptions& options, const Table& table);
/// Prints one line of data. Use PrintCells for coloured text, because PrintLine would print the
/// terminal codes of colours as escapes.
void PrintLine(const std::string& line);
/// Prints the cells' texts on one line, without blanks between them.
void PrintCells(const CtlOptions& options, const std::vector<Cell>& cells);

/// Prints one message line, which begins "batonctl: ".
void Say(const std::string& line);
/// Prints the error as a message line and returns its exit code: kInvalidArgument gives kUsage,
/// kFailedPrecondition and kStaleTerm give kPrecondition, kUnavailable gives kUnreachable,
/// kNotFound and kTimedOut give the exit codes of the same names, and all others give kFailed. If
/// Interrupt has happened, prints only "interrupted" and returns kInterrupted, for every error.
ExitCode Fail(const Error& error);

/// Shows the progress of a long operation on stderr. On a terminal, each change rewrites one line
/// in place. Otherwise each change is a new line. Then a change within a second after the last
/// printed line is not printed, even if it is the last change, unless Show gets it again later.
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
