// Protects etcd's password and key, which this process has in memory: from core dumps, from other
// processes of the same user, and from gRPC's traces.
//
// GuardProcess changes this process's limit on core dumps and its environment. With
// GuardedEnvironment and RestoreCoreLimit, batond gives the earlier variables and limit to a
// program that it starts. These two functions can be called from any thread after GuardProcess.
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

/// Returns "NAME=value" of each variable that GuardProcess removed; nothing before GuardProcess.
std::vector<std::string> GuardedEnvironment();
/// Gives `program`, which this process has started, the limit on core dumps that this process had
/// before GuardProcess. Does nothing if GuardProcess did not change the limit; ignores errors.
void RestoreCoreLimit(pid_t program);

}  // namespace baton::app
