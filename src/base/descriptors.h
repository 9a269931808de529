// LeastReserved, IsReserved: keep the last file descriptors of a process for etcd's connections and
// the process's own files, so that clients can't use them up.
//
// Any thread.
#pragma once

namespace baton {

/// How many descriptors are kept, but at most a quarter of the process's limit.
inline constexpr int kReservedDescriptors = 64;

/// Returns the number of the first descriptor that is kept; all greater ones are, too. `more`: how
/// many are kept in addition; kReservedDescriptors and `more` are together at most half of the
/// process's limit. INT_MAX if the process has no limit.
int LeastReserved(int more = 0);
/// Whether `descriptor`, which was just opened for a client, is one of the kept ones. The caller
/// should then close it. The kernel gives out the lowest free number, so all lower numbers are in
/// use.
bool IsReserved(int descriptor);

}  // namespace baton
