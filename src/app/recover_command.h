// batonctl's verb `recover`: the one that talks to etcd itself, as no node can run when it is
// needed.
#pragma once

#include <CLI/CLI.hpp>

#include "app/ctl_commands.h"

namespace baton::app {

/// REQUIRES: after AddCommands. Both must outlive the parsing and the run.
void AddRecoverCommand(CLI::App& app, Commands& commands);

}  // namespace baton::app
