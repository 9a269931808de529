// StateRecord: what the engine stores for a later process of the same node, and for a guard.
//
// Production uses StateLock, a locked file in the state directory, which a StateWriter writes. The
// simulator keeps the record in memory. Not thread-safe.
#pragma once

#include "baton/result.h"
#include "baton/types.h"

namespace baton::runtime {

struct RecordedSession {
  SessionId session{};    ///< 0: the node has left in order, and nothing is to be ended
  SessionId replaces{};   ///< a dead session that may still hold the member key; 0: not known
  bool external = false;  ///< another process acts on what the session leads
};

class StateRecord {
 public:
  virtual ~StateRecord() = default;
  /// Stores the session. The engine calls it before it puts the session's member key. kUnavailable:
  /// this or an earlier record can't be written. That is safe, because a later process then has no
  /// proof, and waits for the lease.
  virtual Status RecordSession(const RecordedSession& session) = 0;
  /// Stores the highest revision that a commit of this node had. Does nothing if the stored one is
  /// as high. kUnavailable: as above.
  virtual Status RecordHighest(Revision revision) = 0;
};

}  // namespace baton::runtime
