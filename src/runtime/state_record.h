// StateRecord: what the engine stores for a later process of the same node, and for a guard.
//
// In production this is a StateLock (a locked file in the state directory) behind a StateWriter.
// The simulator keeps the record in memory. Not thread-safe.
#pragma once

#include "baton/result.h"
#include "baton/types.h"

namespace baton::runtime {

struct RecordedSession {
  SessionId session{};    ///< 0: the node has left in order; there is no session to end
  SessionId replaces{};   ///< a dead session that may still hold the member key; 0: not known
  bool external = false;  ///< another process acts on what the session leads
};

class StateRecord {
 public:
  virtual ~StateRecord() = default;
  /// Stores the session in place of the stored one. The engine calls RecordSession before it puts
  /// the session's member key. It calls RecordSession with session 0 when the node has left and
  /// leaves no lease. Session 0 is ignored if this process has stored no session: an earlier
  /// process's session then stays. OK: no failure is known; a StateWriter may still write later,
  /// and reports a failure once. kUnavailable: this or an earlier record is not written. Then a
  /// later process can't prove that this session is dead, and waits until its lease expires. That
  /// is safe, so the engine goes on.
  virtual Status RecordSession(const RecordedSession& session) = 0;
  /// Stores `revision`, the highest that a commit of this node had so far, if the stored revision
  /// is lower. Also writes what an earlier call could not write. kUnavailable: as for
  /// RecordSession.
  virtual Status RecordHighest(Revision revision) = 0;
};

}  // namespace baton::runtime
