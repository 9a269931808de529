// FinishCallbacks: waits for the end of a node's callbacks, for Node::Stop. Any thread.
#pragma once

#include "runtime/dispatcher.h"
#include "runtime/node_log.h"

namespace baton::runtime {

/// Waits without a bound until every queued callback has run and returned. From the start of this
/// call on, the dispatcher drops new callbacks. If the wait takes longer than `patience`, logs one
/// warning. The warning has the number of shards that still have callbacks, and the lowest of these
/// shards. REQUIRES: not called from a callback.
void FinishCallbacks(ThreadPoolDispatcher& dispatcher, NodeLog& log,
                     std::chrono::milliseconds patience = std::chrono::seconds(5));

}  // namespace baton::runtime
