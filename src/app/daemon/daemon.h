// Daemon: runs one node, or a relay, with its gRPC and HTTP servers, from the start to an orderly
// end.
//
// The order matters. The ports are bound first, because the node tells other nodes its real
// addresses. The servers begin to serve after the node has started. At the end the node hands its
// shards over while the servers still serve. Then the program of `batond run` gets the signal that
// ended batond (SIGTERM if there was none), and the daemon waits for the program's end without a
// bound. Finally, the node and the servers stop.
#pragma once

#include "app/daemon/daemon_options.h"

namespace baton::app {

/// Runs until SIGTERM or SIGINT, the end of the program of `batond run`, or a halt of the node or
/// relay. Returns the process's exit code:
///  - 0: the node drained, or its drain timeout ran out. For a relay: a signal ended it.
///  - 1: the start failed, the node or relay halted, or the node could not drain, for example
///    because etcd was away.
///  - 2: the start failed because settings are refused.
///  - If a program was started and the node did not halt: the program's code, or 128 plus the
///    number of the signal that killed the program. This holds even if the node could not drain.
/// Two things end the process without a return. A second SIGTERM or SIGINT ends it at once with
/// code 1; see signals.h. If the servers take longer than 10 s to end, it ends with the code that
/// this function would have returned; see last_resort.h. REQUIRES (not checked): called once, from
/// main, before the process has other threads.
int RunDaemon(const DaemonOptions& options);

}  // namespace baton::app
