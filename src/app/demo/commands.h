// batonctl's verbs `demo` and `demo-node`. They are apart from the others because they need the
// node library and a private etcd.
#pragma once

#include <CLI/CLI.hpp>

#include "app/ctl/commands.h"

namespace baton::app {

/// Adds the two verbs. REQUIRES: AddCommands was called before. Both arguments must outlive the
/// parsing and the run.
void AddDemoCommands(CLI::App& app, Commands& commands);

}  // namespace baton::app
