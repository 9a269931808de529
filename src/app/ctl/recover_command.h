// batonctl's verb `recover`, for an etcd that was restored from a backup. The verb calls etcd
// itself, because no node of the group may run meanwhile. Each call may take 5 s. Blocking; one
// thread.
#pragma once

#include <CLI/CLI.hpp>

#include "app/ctl/commands.h"

namespace baton::app {

/// Adds the verb, with its own flags. With --dry-run, the verb changes nothing. If neither
/// --state-dir nor --above is given, the parsing throws a CLI::ParseError. The verb returns kDone,
/// the codes of Fail (output.h), and these codes:
///  - kUsage: a setting or a state directory's file can't be used.
///  - kNotFound: a state directory has no file; or etcd has no config of the group, and --lost is
///    not given.
///  - kPrecondition: the group has members; a node runs in a state directory; --lost is given, but
///    etcd has the group's config; or the config can't be read, or has changed during the run.
///  - kPartly: the verb raised the revision by 1,000,000, the limit of one run. The message says
///    how to go on.
///  - kInterrupted: Ctrl-C, SIGTERM or SIGPIPE came while the verb raised the revision.
/// If the revision must be raised, the verb first closes the group (Recovery::Close). From then on,
/// no node can start. At the end, before it returns kDone, the verb opens the group. After any
/// other code, a closed group stays closed: run the same command again. REQUIRES (not checked):
/// AddCommands was called before; both arguments outlive the parsing and the run.
void AddRecoverCommand(CLI::App& app, Commands& commands);

}  // namespace baton::app
