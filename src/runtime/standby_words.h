// StandbyWords: passes the application's words about its standbys to the loop. A word says whether
// the application is ready to lead a shard for which it stands by.
//
// A standby begins with a kStandby callback, and the operation of that callback names the standby.
// Each word names its standby. So a late word is never taken for a word about the shard's next
// standby.
//
// A program may say words again and again without a pause, and must not fill the queue of the
// node's loop. So for each shard only the newest word waits, and at most one call of Take waits in
// the queue.
//
// Thread-safe; waits only for its lock.
#pragma once

#include <cstddef>
#include <deque>
#include <mutex>
#include <unordered_map>
#include <vector>

#include "baton/types.h"
#include "core/events.h"

namespace baton::runtime {

class StandbyWords {
 public:
  /// Call Note right before each callback of the Listener runs. After a kStandby, Say(shard, ready)
  /// is about the standby that begins. After a kStandbyEnded, kAcquired or kLost, Say(shard, ready)
  /// is ignored until the shard's next kStandby. Other callbacks change nothing.
  void Note(const core::RunCallback& callback);
  /// Records a word about the shard's present standby. Ignores the word if the shard has no
  /// standby. True: the caller must make sure that Take is called. False: an earlier caller does
  /// this already, or the word is ignored.
  [[nodiscard]] bool Say(ShardId shard, bool ready);
  /// The same for an application in another process. Its words name their standbys, and nothing
  /// here checks that a standby goes on. A word is ignored only if a word about a later standby of
  /// the shard waits.
  [[nodiscard]] bool Say(const core::StandbyReadySaid& word);
  /// Takes up to `most` words, first those of the shards that have waited longest. If Take returns
  /// any word, the caller must make sure that Take is called again. If Take returns no word, the
  /// next Say that is not ignored returns true. REQUIRES (not checked): most > 0.
  std::vector<core::StandbyReadySaid> Take(std::size_t most);

 private:
  /// Returns the same as Say. REQUIRES: the mutex is held.
  bool Add(const core::StandbyReadySaid& word);

  std::mutex mutex_;  // guards what follows
  std::unordered_map<ShardId, core::OperationId> standbys_;
  std::unordered_map<ShardId, core::StandbyReadySaid> waiting_;
  std::deque<ShardId> order_;  ///< the keys of waiting_
  bool on_its_way_ = false;
};

}  // namespace baton::runtime
