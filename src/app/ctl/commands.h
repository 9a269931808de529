// batonctl's command line: the tree of verbs and flags, and the function that a parsed line runs.
// One thread.
#pragma once

#include <functional>

#include <CLI/CLI.hpp>

#include "app/ctl/ctl.h"

namespace baton::app {

struct Commands {
  CtlOptions options;
  /// Runs the verb with `options`. Parsing sets this function. It is empty before the parsing, and
  /// may still be empty if the parsing throws.
  std::function<ExitCode()> run;
};

/// Adds the global flags, and all verbs except `recover` (recover_command.h), `demo` and
/// `demo-node` (app/demo/commands.h). If a verb is unknown or missing, or a flag has an invalid
/// value, `app.parse` throws a CLI::ParseError. REQUIRES: called once; `app` and `commands` outlive
/// the parsing and the run.
void AddCommands(CLI::App& app, Commands& commands);

}  // namespace baton::app
