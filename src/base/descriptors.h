// LeastReserved, IsReserved: say which file descriptors of a process are kept for etcd's
// connections and the process's own files. These are the highest ones, so clients can't use them
// up.
//
// "The limit" is the process's soft limit of open files (RLIMIT_NOFILE) at the time of the call.
//
// Any thread.
#pragma once

namespace baton {

/// How many descriptors are kept. If a quarter of the limit is less, only that many are kept.
inline constexpr int kReservedDescriptors = 64;

/// Returns the lowest descriptor that is kept; all greater ones are kept, too. INT_MAX if there is
/// no limit, or if the result would be greater. `more`: how many descriptors are kept in addition.
/// If `more` is above 0, at most half of the limit is kept in all. REQUIRES (not checked): `more`
/// is not below 0.
int LeastReserved(int more = 0);
/// Whether `descriptor`, which was just opened for a client, is LeastReserved() or above. The
/// caller should then close it: the kernel gives out the lowest free number, so all descriptors
/// below LeastReserved() are in use.
bool IsReserved(int descriptor);

}  // namespace baton
