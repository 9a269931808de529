// CheckNotForked: refuses to start gRPC in a forked child whose parent may use gRPC.
//
// There is one mark (ForkMark) for the whole process. If each of our libraries had a copy of this
// function, each copy would have its own mark, and know only its own calls. So libbaton exports the
// function, and libbaton_grpc, which links libbaton, calls that one. For the same reason the
// function has a source of its own, which nothing else brings into libbaton_grpc. It is not for
// programs.
#pragma once

#include "baton/export.h"
#include "baton/result.h"

namespace baton {

/// Whether this process may use gRPC. kFailedPrecondition: it was forked from a process that had
/// called this function before the fork. gRPC in such a child changes what gRPC in the parent waits
/// for (both have the same epoll instance), and so crashes the parent. On a kernel that can't wipe
/// words (fork_wiped_words.h), SIGSEGV ends such a child instead. The first call in a process
/// throws or aborts as ForkWipedWords does if it gets no memory. Any thread.
BATON_EXPORT Status CheckNotForked();

}  // namespace baton
