// StateRecord: what the engine stores for a later process of the same node, and for a guard.
//
// Production uses StateLock, a locked file in the state directory, written by a StateWriter. The
// simulator keeps it in memory. Not thread-safe.
#pragma once

#include "baton/result.h"
#include "baton/types.h"

namespace baton::runtime {

struct RecordedSession {
  SessionId session{};    ///< 0: the node has left in order, and nothing is to be ended
  SessionId replaces{};   ///< a dead session that may still hold the member key; 0: none is known
  bool external = false;  ///< another process acts on what the session leads
};

class StateRecord {
 public:
  virtual ~StateRecord() = default;
  /// Stores the session. Called before the session's member key is put. kUnavailable: this or an
  /// earlier record can't be written. That is safe: a later process then has no proof, and waits.
  virtual Status RecordSession(const RecordedSession& session) = 0;
  /// Stores the highest revision that a commit of this node had. kUnavailable: as above.
  virtual Status RecordHighest(Revision revision) = 0;
};

}  // namespace baton::runtime
