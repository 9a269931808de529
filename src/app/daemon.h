// Daemon: one node with its gRPC and HTTP servers, from start to orderly end.
//
// The order matters: ports are bound first, because the node tells the others its real addresses;
// the servers serve once the node exists; at the end the node gives its shards away while they
// still serve, then they stop, then the node.
#pragma once

#include "app/daemon_options.h"

namespace baton::app {

/// Runs until a signal or until the node halts, and returns the process's exit code: 0 drained, 1
/// failed, halted, or etcd was away at the end, 2 refused settings.
/// REQUIRES: called from main, before the process has other threads; once.
int RunDaemon(const DaemonOptions& options);

}  // namespace baton::app
