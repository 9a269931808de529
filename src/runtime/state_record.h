// StateRecord: what the engine writes for a later process of the same node to find.
//
// Production uses StateLock (a locked file in the state directory); the simulator keeps it in
// memory.
//
// One thread at a time.
#pragma once

#include "baton/result.h"
#include "baton/types.h"

namespace baton::runtime {

class StateRecord {
 public:
  virtual ~StateRecord() = default;
  /// Names the session, before its member key is put. kUnavailable: it can't be written (it then
  /// proves nothing, which is safe).
  virtual Status RecordSession(SessionId session) = 0;
  /// The highest revision that a commit of ours had.
  virtual Status RecordHighest(Revision revision) = 0;
};

}  // namespace baton::runtime
