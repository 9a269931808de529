// What /proc says of processes and the machine.
#pragma once

#include <sys/types.h>

#include <string>

namespace baton::bench {

/// What stands behind the colon of the first line that begins with `name`; "unknown" without one.
std::string LineOf(const std::string& path, const std::string& name);
/// User and system time so far.
double CpuSeconds(pid_t pid);
double ResidentMebibytes(pid_t pid);

}  // namespace baton::bench
