// FinishCallbacks: the end of a node's callbacks.
//
// Node::Stop waits for them without a bound. If the application hangs in one, the log says so.
#pragma once

#include "runtime/dispatcher.h"
#include "runtime/node_log.h"

namespace baton::runtime {

/// Waits until every callback has returned; none runs afterwards. If that takes longer than
/// `patience`, logs once how many shards still have callbacks, and the first of these shards.
/// REQUIRES: not called from a callback.
void FinishCallbacks(ThreadPoolDispatcher& dispatcher, NodeLog& log,
                     std::chrono::milliseconds patience = std::chrono::seconds(5));

}  // namespace baton::runtime
