// StandingBy: the shards for which an application stands by, by the events that it was sent.
//
// A standby begins with STANDBY, whose operation names it. It ends with the shard's next
// STANDBY_ENDED, ACQUIRED or LOST.
//
// An application that attaches again is sent the events that it has not answered. A late event must
// not undo a newer one there, so a newer event of the shard makes some earlier ones obsolete. The
// newer event, and what it makes obsolete:
//   - the end of a standby: its STANDBY
//   - STANDBY: the shard's earlier STANDBY
//   - STANDBY_ENDED: the shard's earlier STANDBY_ENDED
//   - ACQUIRED: also STANDBY_ENDED, because the application would drop the state of a shard that it
//     leads
// Earlier events that are obsolete only once the application has answered a newer STANDBY: see
// Attachment.
//
// Not thread-safe: an Attachment uses it with its lock held.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <vector>

#include "baton/types.h"
#include "core/events.h"

namespace baton::sidecar {

class StandingBy {
 public:
  /// The application is sent the event of this callback. Returns the operations of the shard's
  /// earlier events that are obsolete now; some may have been answered. REQUIRES: each callback
  /// that the application is sent is passed here, in the same order.
  std::vector<std::uint64_t> Note(const core::RunCallback& callback);
  /// The shard of the standby that this STANDBY began; nullopt: it has ended, or there is none.
  std::optional<ShardId> ShardOf(std::uint64_t operation) const;
  /// The operation of the STANDBY by which the application stands by for the shard; 0: it does not.
  std::uint64_t OperationOf(ShardId shard) const;
  /// Another application comes next: it stands by for nothing.
  void Clear();

 private:
  struct Sent {  // operations of the shard's events; 0: none, or obsolete
    std::uint64_t standby = 0;
    std::uint64_t ended = 0;
  };
  std::map<ShardId, Sent> sent_;
  std::map<std::uint64_t, ShardId> standbys_;  // by the operation of the STANDBY
};

}  // namespace baton::sidecar
