#include "base/not_forked.h"

#include "base/fork_wiped_words.h"

namespace baton {

Status CheckNotForked() {
  static const ForkMark first_call;
  if (!first_call.InForkedChild()) return Ok();
  return Error{ErrorCode::kFailedPrecondition,
               "this process was forked from one that uses gRPC: nothing that uses gRPC can start "
               "here without harm to the parent; call exec first, or fork before the parent starts "
               "a node or a router"};
}

}  // namespace baton
