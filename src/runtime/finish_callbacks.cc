#include "runtime/finish_callbacks.h"

#include <vector>

namespace baton::runtime {

void FinishCallbacks(ThreadPoolDispatcher& dispatcher, NodeLog& log,
                     std::chrono::milliseconds patience) {
  const std::vector<ShardId> left = dispatcher.FinishWithin(patience);
  if (!left.empty()) {
    log.Warn(
        "the node stops, and waits until the callbacks of its listener return; a callback that "
        "calls Node::Stop waits for itself",
        {{"shards", left.size()}, {"first_shard", left.front().value}});
  }
  dispatcher.Finish();
}

}  // namespace baton::runtime
