// ProcessGuard: keeps etcd's password and key, which this process has in memory, out of core dumps,
// out of reach of other processes of the same user, and out of gRPC's traces.
//
// Programs that batond starts are to have the limit and the variables that GuardProcess changed:
// the last two functions are for that.
#pragma once

#include <sys/types.h>

#include <string>
#include <vector>

namespace baton::app {

enum class CoreDumps { kNone, kAllowed };  ///< allowed: debuggers of the same user, too
enum class GrpcTraces { kNone, kAllowed };

/// Guards this process. Call it once, before other threads start.
void GuardProcess(CoreDumps dumps, GrpcTraces traces);

/// "NAME=value" of each variable that GuardProcess removed.
std::vector<std::string> GuardedEnvironment();
/// Gives `program`, which this process has started, the limit on core dumps that this process had
/// before GuardProcess.
void RestoreCoreLimit(pid_t program);

}  // namespace baton::app
