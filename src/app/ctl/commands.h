// batonctl's command line: the tree of verbs and flags, and the function that a parsed line runs.
// One thread.
#pragma once

#include <functional>

#include <CLI/CLI.hpp>

#include "app/ctl/ctl.h"

namespace baton::app {

struct Commands {
  CtlOptions options;
  /// Runs the verb with `options`. The parsing sets this function. Before the parsing, and if the
  /// parsing throws, the function may be empty.
  std::function<ExitCode()> run;
};

/// Adds the global flags, and all verbs except `recover` (recover_command.h), `demo` and
/// `demo-node` (app/demo/commands.h). If a verb or flag is unknown, something required is missing,
/// or a value is invalid, `app.parse` throws a CLI::ParseError, also for --help (get_exit_code() is
/// 0). Misuse that parsing can't see, such as a file that can't be read or a missing --confirm,
/// makes `run` return kUsage. REQUIRES (not checked): called once; `app` and
/// `commands` outlive the parsing and the run.
void AddCommands(CLI::App& app, Commands& commands);

}  // namespace baton::app
