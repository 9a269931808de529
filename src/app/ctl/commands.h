// batonctl's command line: the tree of verbs and flags, and what a parsed line runs.
#pragma once

#include <functional>

#include <CLI/CLI.hpp>

#include "app/ctl/ctl.h"

namespace baton::app {

struct Commands {
  CtlOptions options;
  std::function<ExitCode()> run;  ///< runs the verb; set by parsing
};

/// Adds all verbs and global flags. Both must outlive the parsing and the run.
void AddCommands(CLI::App& app, Commands& commands);

}  // namespace baton::app
