// ProcessGuard: keeps etcd's password and key, which this process has in memory, out of core dumps,
// out of reach of other processes of the same user, and out of gRPC's traces.
//
// A program that batond runs gets back what this took away.
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
/// Gives a program that this process has started the limit on core dumps that this process had.
void RestoreCoreLimit(pid_t program);

}  // namespace baton::app
