// IsReserved: keeps the last file descriptors of a process for etcd's connections and the process's
// own files, so that clients can't use them up.
//
// Any thread.
#pragma once

namespace baton {

/// How many descriptors are kept, but at most a quarter of the process's limit.
inline constexpr int kReservedDescriptors = 64;

/// Whether `descriptor`, which was just opened for a client, is one of the kept ones. The caller
/// should then close it. The kernel gives out the lowest free number, so all lower numbers are in
/// use. `more`: how many descriptors are kept in addition; kReservedDescriptors and `more` are
/// together at most half of the process's limit. False if the process has no limit.
bool IsReserved(int descriptor, int more = 0);

}  // namespace baton
