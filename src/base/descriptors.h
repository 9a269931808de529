// IsReserved keeps a process's last file descriptors for its own needs: etcd's connections and its
// own files.
//
// Any thread.
#pragma once

namespace baton {

/// How many are kept; a quarter of the limit if the limit is small.
inline constexpr int kReservedDescriptors = 64;

/// Whether `descriptor`, just opened, is one of the last ones. The kernel gives the lowest free
/// number, so all numbers below it are in use. If it is, the caller should close that client's
/// connection. `more`: keeps so many in addition, for clients that matter more; in all at most half
/// of a low limit.
bool IsReserved(int descriptor, int more = 0);

}  // namespace baton
