// CheckNotForked: refuses to start gRPC in a forked child whose parent may use gRPC.
//
// Programs don't call this function. A process must have only one copy of the function, because
// each copy would know only its own calls. So libbaton exports the function, and libbaton_grpc
// calls libbaton's copy. For the same reason the function has a source file of its own, which
// nothing else brings into libbaton_grpc.
#pragma once

#include "baton/export.h"
#include "baton/result.h"

namespace baton {

/// Returns OK if this process may use gRPC. kFailedPrecondition: this process was forked, directly
/// or in several steps, from a process that had called this function before the fork. Reason: gRPC
/// in such a child would change the epoll instance that child and parent share, and so crash the
/// parent. On a kernel that can't wipe words (fork_wiped_words.h), SIGSEGV ends such a child
/// instead. The first call in a process may throw std::bad_alloc or abort, like the constructor of
/// ForkWipedWords. Any thread.
BATON_EXPORT Status CheckNotForked();

}  // namespace baton
