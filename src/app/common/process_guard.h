// Protects etcd's password and key in this process's memory from core dumps, from other processes
// of the same user, and from gRPC's traces.
//
// Also raises the limit of open files. GuardProcess and RaiseDescriptorLimit change this process's
// limits and environment. With GuardedEnvironment and RestoreLimits, batond gives the earlier ones
// to a program that it starts. These two can be called from any thread after the first two.
#pragma once

#include <sys/types.h>

#include <string>
#include <vector>

namespace baton::app {

enum class CoreDumps { kNone, kAllowed };  ///< kAllowed allows debuggers of the same user, too
enum class GrpcTraces { kNone, kAllowed };

/// CoreDumps::kNone: forbids core dumps and debuggers, if the kernel allows it. GrpcTraces::kNone:
/// removes GRPC_TRACE and GRPC_VERBOSITY from the environment. REQUIRES: called at most once,
/// before other threads start.
void GuardProcess(CoreDumps dumps, GrpcTraces traces);

/// Raises the soft limit of open files to 32,768, or to the hard limit if that is lower. Containers
/// and shells often have a soft limit of 1,024, too few for a port's callers. Does nothing if the
/// soft limit is higher already; ignores errors. REQUIRES: called at most once, before other
/// threads start.
void RaiseDescriptorLimit();

/// Returns "NAME=value" of each variable that GuardProcess removed; nothing before GuardProcess.
std::vector<std::string> GuardedEnvironment();
/// Gives `program`, which this process has started, the limits on core dumps and open files that
/// this process had at first. Leaves alone what was not changed; ignores errors.
void RestoreLimits(pid_t program);

}  // namespace baton::app
