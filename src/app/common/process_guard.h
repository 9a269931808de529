// Protects etcd's password and key in this process's memory from core dumps, from other processes
// of the same user, and from gRPC's traces.
//
// GuardProcess and RaiseDescriptorLimit change the limits and the environment of this process.
// GuardedEnvironment and RestoreLimits give the earlier variables and limits to a program that
// batond starts. Call these two on any thread, after GuardProcess and RaiseDescriptorLimit have
// returned.
#pragma once

#include <sys/types.h>

#include <string>
#include <vector>

namespace baton::app {

enum class CoreDumps { kNone, kAllowed };  ///< kAllowed also allows debuggers of the same user
enum class GrpcTraces { kNone, kAllowed };

/// CoreDumps::kNone: forbids core dumps and debuggers. Ignores errors of the kernel.
/// GrpcTraces::kNone: removes GRPC_TRACE and GRPC_VERBOSITY from the environment. kAllowed: changes
/// nothing. REQUIRES (not checked): called at most once, before other threads start.
void GuardProcess(CoreDumps dumps, GrpcTraces traces);

/// Raises the soft limit of open files to 32,768, or to the hard limit if that is lower. Never
/// lowers the limit; ignores errors. REQUIRES (not checked): called at most once, before other
/// threads start.
void RaiseDescriptorLimit();

/// Returns "NAME=value" of each variable that GuardProcess removed. Empty if GuardProcess removed
/// none, or was not called.
std::vector<std::string> GuardedEnvironment();
/// Gives `program` the limits on core dumps and open files that this process had before
/// GuardProcess and RaiseDescriptorLimit. A limit that these did not change stays as it is. Ignores
/// errors. REQUIRES (not checked): this process has started `program`.
void RestoreLimits(pid_t program);

}  // namespace baton::app
