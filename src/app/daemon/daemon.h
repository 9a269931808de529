// Daemon: runs one node with its gRPC and HTTP servers, from the start to an orderly end.
//
// The order matters. Ports are bound first, because the node tells the others its real addresses.
// The servers serve once the node exists. At the end the node hands its shards over while they
// still serve; then they and the node stop.
#pragma once

#include "app/daemon/daemon_options.h"

namespace baton::app {

/// Runs until a signal comes, the program of `batond run` ends or the node halts, and returns the
/// process's exit code. 0: drained, maybe not everything in time. 1: failed, halted, or etcd was
/// away at the end. 2: the settings are refused. With a program, its code counts instead, unless
/// the node did not start or halted. REQUIRES: called once, from main, before the process has other
/// threads.
int RunDaemon(const DaemonOptions& options);

}  // namespace baton::app
