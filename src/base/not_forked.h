// CheckNotForked: refuses to start gRPC in a forked child whose parent may use it.
//
// One mark for the whole process, whichever of our libraries ask. So libbaton exports the function,
// and libbaton_grpc, which links libbaton, asks that one: a static variable in each of them would
// know only the calls in its own library. For the same reason the function has a source of its own,
// which nothing else brings into libbaton_grpc. It is not for programs.
#pragma once

#include "baton/export.h"
#include "baton/result.h"

namespace baton {

/// Whether this process may use gRPC. kFailedPrecondition: it was forked from a process that had
/// called this function before the fork. gRPC in such a child changes what gRPC in the parent waits
/// for (both have the same epoll instance), and so crashes the parent. On a kernel that can't wipe
/// words (fork_wiped_words.h), SIGSEGV ends such a child instead. Any thread.
BATON_EXPORT Status CheckNotForked();

}  // namespace baton
