// batonctl's verb `recover`, for etcd restored from a backup. It talks to etcd itself, because no
// node of the group may run meanwhile. Blocking; one thread.
#pragma once

#include <CLI/CLI.hpp>

#include "app/ctl/commands.h"

namespace baton::app {

/// Adds the verb, with its own flags (for example --dry-run, which changes nothing). Its exit
/// codes, besides those of Fail (output.h):
///  - kUsage: a setting or a state directory's file can't be used.
///  - kNotFound: etcd has no config of the group, or a state directory has no file.
///  - kPrecondition: the group has members, a node runs in a state directory, or the group's state
///    forbids a recovery.
///  - kPartly: the revision was raised by 1,000,000, which is the most for one run. The message
///    says how to go on.
///  - kInterrupted: Ctrl-C or SIGTERM came first.
/// If the revision must be raised, the command first closes the group (Recovery::Close). From then
/// on no node can start, until the command returns kDone: that opens the group. If the command
/// returns any other code, it must be run again.
/// REQUIRES: AddCommands was called before; both arguments outlive the parsing and the run.
void AddRecoverCommand(CLI::App& app, Commands& commands);

}  // namespace baton::app
