// LeastReserved, IsReserved: say which file descriptors of a process are kept for etcd's
// connections and the process's own files. The highest descriptors are kept. So clients can't use
// all of them up.
//
// "The limit" is the process's soft limit of open files (RLIMIT_NOFILE) at the time of the call.
//
// Any thread.
#pragma once

namespace baton {

/// How many descriptors are kept. Never more than a quarter of the limit is kept.
inline constexpr int kReservedDescriptors = 64;

/// Returns the lowest descriptor that is kept. All greater ones are kept, too. INT_MAX: there is no
/// limit, or the result would be greater. `more`: how many descriptors are kept in addition; if
/// this is above 0, at most half of the limit is kept in all. REQUIRES (not checked): `more` is not
/// below 0.
int LeastReserved(int more = 0);
/// Whether `descriptor` is LeastReserved() or above. If true, a caller that has just opened it for
/// a client should close it. (The kernel gives out the lowest free number. So all lower descriptors
/// are in use.)
bool IsReserved(int descriptor);

}  // namespace baton
