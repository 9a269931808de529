// Runs one node, or a relay, with its gRPC and HTTP servers, from the start to an orderly end.
//
// The order is:
//  - The ports are bound. So the node can publish its real addresses.
//  - The node starts; then the servers begin to serve.
//  - At the end, the node hands its shards over while the servers still serve.
//  - Then the program of `batond run` gets the signal that ended batond, or SIGTERM if there was
//    none. The daemon waits without a bound for the program's end.
//  - Finally, the node and the servers stop.
#pragma once

#include "app/daemon/daemon_options.h"

namespace baton::app {

/// Runs until SIGTERM or SIGINT comes, the program of `batond run` ends, or the node or relay
/// halts. Returns the process's exit code, by the first of these that applies:
///  - 2: the start failed because settings are refused.
///  - 1: the start failed for another reason, or the node or relay halted.
///  - If a program was started: the program's code, or 128 plus the number of the signal that
///    killed the program. This holds even if the node could not drain.
///  - 0: the node drained, or its drain timeout ran out. For a relay: a signal ended it.
///  - 1: the node could not drain, for example because etcd was away.
/// Two things end the process without a return. A second SIGTERM or SIGINT ends it at once with
/// code 1; see signals.h. If the servers take longer than 10 s to end, the process ends with the
/// code that this function would have returned; see last_resort.h. REQUIRES (not checked): called
/// once, from main, before the process has other threads.
int RunDaemon(const DaemonOptions& options);

}  // namespace baton::app
