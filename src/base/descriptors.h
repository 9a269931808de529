// LeastReserved, IsReserved: keep the highest file descriptors of a process for etcd's connections
// and the process's own files, so that clients can't use them up.
//
// "The limit" is the process's soft limit of open files (RLIMIT_NOFILE) at the time of the call.
//
// Any thread.
#pragma once

namespace baton {

/// How many descriptors are kept, but at most a quarter of the limit.
inline constexpr int kReservedDescriptors = 64;

/// Returns the lowest descriptor that is kept; all greater ones are kept, too. INT_MAX if there is
/// no limit. `more`: how many are kept in addition; with `more`, at most half of the limit is kept.
/// REQUIRES: more >= 0.
int LeastReserved(int more = 0);
/// Whether `descriptor`, which was just opened for a client, is LeastReserved() or above. The
/// caller should then close it: the kernel gives out the lowest free number, so all descriptors
/// below LeastReserved() are in use.
bool IsReserved(int descriptor);

}  // namespace baton
