// The last descriptors of a process are kept for what it lives by: etcd's connections, its own
// files.
//
// Any thread.
#pragma once

namespace baton {

/// How many are kept where the limit is not tiny; a quarter of it where it is.
inline constexpr int kReservedDescriptors = 64;

/// Whether `descriptor`, just opened, is among the last ones: the kernel gives the lowest number
/// that is free, so all below it are taken. A client's connection is closed then. `more`: as many
/// are kept besides, for clients that matter more; of a low limit no more than half in all.
bool IsReserved(int descriptor, int more = 0);

}  // namespace baton
