// Figures of processes and of the machine, and what they wait for, from /proc.
#pragma once

#include <sys/types.h>

#include <string>

namespace baton::bench {

/// The text behind the colon of the first line that begins with `name`; "unknown" if there is none.
std::string LineOf(const std::string& path, const std::string& name);
/// User and system time so far.
double CpuSeconds(pid_t pid);
double ResidentMebibytes(pid_t pid);
/// Whether some process waits for a lock on the file.
bool LockIsAwaited(const std::string& path);

}  // namespace baton::bench
