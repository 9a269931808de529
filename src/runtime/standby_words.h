// StandbyWords: the application's words about the shards that it stands by for, on their way to the
// loop.
//
// Each word is about one standby, which is named by the operation of the callback that began it. So
// a word that comes late is never taken for one about the shard's next standby.
//
// A program may say such words in a tight loop, and must not fill the loop's queue. So at most one
// word for each shard waits, the newest, and at most one step to take them is on its way.
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
  /// Call it right before the Listener's callback runs. From now on, Say is about the standby that
  /// the callback begins. If the callback ends the standby, Say is ignored from now on.
  void Note(const core::RunCallback& callback);
  /// Records a word about the shard's present standby. Ignored if there is none. True: the caller
  /// must make sure that Take is called. False: an earlier caller has done so already.
  [[nodiscard]] bool Say(ShardId shard, bool ready);
  /// The same for an application in another process, which names the standby itself. Ignored if a
  /// word about a later standby of the shard waits.
  [[nodiscard]] bool Say(const core::StandbyReadySaid& word);
  /// Takes up to `most` words, those of the shards that have waited longest. If it returns any, the
  /// caller must make sure that Take is called again. REQUIRES: most > 0.
  std::vector<core::StandbyReadySaid> Take(std::size_t most);

 private:
  /// Whether the caller must make sure that Take is called. REQUIRES: the mutex is held.
  bool Add(const core::StandbyReadySaid& word);

  std::mutex mutex_;  // guards what follows
  std::unordered_map<ShardId, core::OperationId> standbys_;
  std::unordered_map<ShardId, core::StandbyReadySaid> waiting_;
  std::deque<ShardId> order_;  ///< the keys of waiting_
  bool on_its_way_ = false;
};

}  // namespace baton::runtime
