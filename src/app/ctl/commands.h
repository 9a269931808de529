// batonctl's command line: the tree of verbs and flags, and the function that a parsed line runs.
// One thread.
#pragma once

#include <functional>

#include <CLI/CLI.hpp>

#include "app/ctl/ctl.h"

namespace baton::app {

struct Commands {
  CtlOptions options;
  /// Runs the verb with `options`. Parsing sets it; if parsing throws, it may be empty.
  std::function<ExitCode()> run;
};

/// Adds the global flags and all verbs except `recover` (recover_command.h). An invalid value of a
/// flag makes `app.parse` throw a CLI::ParseError, as an unknown verb does. REQUIRES: `app` and
/// `commands` outlive the parsing and the run.
void AddCommands(CLI::App& app, Commands& commands);

}  // namespace baton::app
