// Where batonctl's words go: data to stdout, talk to stderr.
//
// One thread.
#pragma once

#include <string>
#include <vector>

#include "app/ctl.h"
#include "app/table.h"
#include "base/clock.h"
#include "baton/result.h"

namespace baton::app {

/// `json` as the format wants it: JSON or YAML. REQUIRES: options.structured().
void PrintStructured(const CtlOptions& options, const std::string& json);
void PrintTable(const CtlOptions& options, const Table& table);
/// One line of data. Control characters in it are shown as escapes, here as in all that follows.
void PrintLine(const std::string& line);
/// One line of data from cells, with nothing between them.
void PrintCells(const CtlOptions& options, const std::vector<Cell>& cells);

/// One line of talk, "batonctl: …".
void Say(const std::string& line);
/// Says the error and answers its exit code (kInterrupted where Ctrl-C was the cause).
ExitCode Fail(const Error& error);

/// Progress of a long operation: rewritten in place on a terminal, else a line whenever it changes,
/// at most one a second.
class Progress {
 public:
  Progress();
  ~Progress();
  void Show(const std::string& line);
  /// Ends the line in place, so that something else can be said.
  void End();

 private:
  const bool terminal_;
  bool open_ = false;
  std::string last_;
  TimePoint last_at_{};
};

}  // namespace baton::app
