// FinishCallbacks: the end of a node's callbacks.
//
// Node::Stop waits for the callbacks without a bound. If the application hangs in a callback, the
// log says so.
#pragma once

#include "runtime/dispatcher.h"
#include "runtime/node_log.h"

namespace baton::runtime {

/// Waits until every queued callback has run and returned. No callback runs afterwards: from the
/// start of this call on, the dispatcher drops new ones. If the wait takes longer than `patience`,
/// logs a warning once, with the number of shards that still have callbacks, and the lowest of
/// these shards. REQUIRES: not called from a callback.
void FinishCallbacks(ThreadPoolDispatcher& dispatcher, NodeLog& log,
                     std::chrono::milliseconds patience = std::chrono::seconds(5));

}  // namespace baton::runtime
