// batonctl's verb `recover`. It talks to etcd itself, because no node can run when it is needed.
#pragma once

#include <CLI/CLI.hpp>

#include "app/ctl/commands.h"

namespace baton::app {

/// Adds the verb. REQUIRES: AddCommands was called before. Both arguments must outlive the parsing
/// and the run.
void AddRecoverCommand(CLI::App& app, Commands& commands);

}  // namespace baton::app
