// batonctl's verbs `demo` and `demo-node`, apart from the others because they need the node and a
// private etcd.
#pragma once

#include <CLI/CLI.hpp>

#include "app/ctl_commands.h"

namespace baton::app {

/// REQUIRES: after AddCommands. Both must outlive the parsing and the run.
void AddDemoCommands(CLI::App& app, Commands& commands);

}  // namespace baton::app
