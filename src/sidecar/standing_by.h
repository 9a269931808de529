// StandingBy: the shards for which an application stands by, by the events that it was sent.
//
// A standby begins with STANDBY, and the operation of this event names the standby. It ends with
// the shard's next STANDBY, STANDBY_ENDED, ACQUIRED or LOST.
//
// An application that attaches again is sent the events that it has not answered. An earlier event
// that is sent again must not undo a newer event. So a newer event of the shard makes some earlier
// events obsolete, and these are not sent again:
//   - STANDBY_ENDED, ACQUIRED and LOST make the shard's STANDBY obsolete.
//   - STANDBY makes the shard's earlier STANDBY obsolete.
//   - STANDBY_ENDED makes the shard's earlier STANDBY_ENDED obsolete.
//   - ACQUIRED makes the shard's STANDBY_ENDED obsolete, too. Otherwise the application would drop
//     the state of a shard that it leads.
//
// If a STANDBY comes after a STANDBY_ENDED, the STANDBY_ENDED becomes obsolete only when the
// application has answered the STANDBY: see Attachment.
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
  /// that the application is sent is passed to Note, in the same order.
  std::vector<std::uint64_t> Note(const core::RunCallback& callback);
  /// Returns the shard of the standby that the STANDBY with this operation began. nullopt: this
  /// standby has ended, or there was no such STANDBY.
  std::optional<ShardId> ShardOf(std::uint64_t operation) const;
  /// Returns the operation of the STANDBY that began the shard's present standby. 0: the
  /// application does not stand by for the shard.
  std::uint64_t OperationOf(ShardId shard) const;
  /// Forgets all standbys. The next application stands by for nothing.
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
