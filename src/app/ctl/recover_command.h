// batonctl's verb `recover`, for an etcd that was restored from a backup. The verb talks to etcd
// itself, because no node of the group may run meanwhile. Each call to etcd may take 5 s. Blocking;
// one thread.
#pragma once

#include <CLI/CLI.hpp>

#include "app/ctl/commands.h"

namespace baton::app {

/// Adds the verb, with its own flags. (With --dry-run, the verb changes nothing.) The verb returns
/// kDone, the codes of Fail (output.h), and these codes:
///  - kUsage: a setting or a state directory's file can't be used.
///  - kNotFound: etcd has no config of the group (without --lost), or a state directory has no
///    file.
///  - kPrecondition: the group has members, a node runs in a state directory, or --lost is given
///    although etcd has the group's config. Or this config can't be read, or has changed during the
///    run.
///  - kPartly: the revision was raised by 1,000,000, which is the limit of one run. The message
///    says how to go on.
///  - kInterrupted: Ctrl-C or SIGTERM came before the end.
/// If the revision must be raised, the verb first closes the group (Recovery::Close). From then on,
/// no node can start. At the end the verb opens the group again, and returns kDone. If the verb has
/// closed the group and returns another code, the group stays closed; run the same command again.
/// REQUIRES: AddCommands was called before; both arguments outlive the parsing and the run.
void AddRecoverCommand(CLI::App& app, Commands& commands);

}  // namespace baton::app
