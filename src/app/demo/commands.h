// Adds batonctl's verbs `demo` and `demo-node`. They are not in ctl/commands.h, because they need
// the node library and a private etcd.
#pragma once

#include <CLI/CLI.hpp>

#include "app/ctl/commands.h"

namespace baton::app {

/// Adds the two verbs. REQUIRES (not checked): AddCommands was called before; both arguments
/// outlive the parsing and the run.
void AddDemoCommands(CLI::App& app, Commands& commands);

}  // namespace baton::app
