// Protects etcd's password and key in this process's memory from core dumps, from other processes
// of the same user, and from gRPC's traces.
//
// GuardProcess and RaiseDescriptorLimit change the limits and the environment of this process. A
// program that batond starts should have the earlier limits and variables. GuardedEnvironment and
// RestoreLimits are for this. They may be called from any thread, but only after GuardProcess and
// RaiseDescriptorLimit have returned.
#pragma once

#include <sys/types.h>

#include <string>
#include <vector>

namespace baton::app {

enum class CoreDumps { kNone, kAllowed };  ///< kAllowed: also debuggers of the same user
enum class GrpcTraces { kNone, kAllowed };

/// CoreDumps::kNone: forbids core dumps and debuggers; ignores errors of the kernel.
/// GrpcTraces::kNone: removes GRPC_TRACE and GRPC_VERBOSITY from the environment. A parameter that
/// is kAllowed changes nothing. REQUIRES (not checked): called at most once, before other threads
/// start.
void GuardProcess(CoreDumps dumps, GrpcTraces traces);

/// Raises the soft limit of open files to 32,768, or to the hard limit if that is lower. Reason:
/// containers and shells often have a soft limit of 1,024, which is too low for a port's callers.
/// Never lowers the limit; ignores errors. REQUIRES (not checked): called at most once, before
/// other threads start.
void RaiseDescriptorLimit();

/// Returns "NAME=value" of each variable that GuardProcess removed. Empty if GuardProcess removed
/// none, or was not called.
std::vector<std::string> GuardedEnvironment();
/// Gives `program`, which this process has started, the limits on core dumps and open files that
/// this process had before GuardProcess and RaiseDescriptorLimit. If these did not change a limit,
/// leaves that limit of `program` alone. Ignores errors.
void RestoreLimits(pid_t program);

}  // namespace baton::app
