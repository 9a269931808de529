// StateWriter: writes a StateRecord on a thread of its own. A disk that stands still holds up this
// thread, but not the node's loop, which has a lease to renew.
//
// So the record may be late. That is safe: the record names only sessions of this process or of
// dead processes, and a session that the record does not name ends with its lease. At most one
// session (the newest) and one revision (the highest) wait to be written.
//
// Not thread-safe: the loop calls it, and the node's end destroys it.
#pragma once

#include <chrono>
#include <memory>
#include <thread>

#include "base/clock.h"
#include "baton/result.h"
#include "runtime/state_record.h"

namespace baton::runtime {

class StateWriter final : public StateRecord {
 public:
  /// How long RecordSession waits for its write. Usually the write takes microseconds, so a guard
  /// knows the session before the session's member key is put.
  static constexpr std::chrono::milliseconds kWaitForSession{50};
  /// If a write takes longer than this, each call returns an error until the write is done.
  static constexpr std::chrono::seconds kStandsStill{5};
  /// How long the destructor waits for the last writes.
  static constexpr std::chrono::seconds kWaitAtEnd{2};

  /// From now on only this object's thread uses the record. Throws std::system_error if the host
  /// lacks threads. REQUIRES: the clock outlives this object's thread, which may outlive this
  /// object.
  StateWriter(std::unique_ptr<StateRecord> record, const Clock& clock);
  /// Waits up to kWaitAtEnd until the thread has written what waits and has destroyed the record.
  /// If this takes longer, the thread goes on after the destructor. Until the record is destroyed,
  /// this process keeps the record's lock.
  ~StateWriter() override;
  StateWriter(const StateWriter&) = delete;
  StateWriter& operator=(const StateWriter&) = delete;

  /// Waits for the write, up to kWaitForSession. OK: no failure is known, but the write may still
  /// be to come. kUnavailable: this or an earlier write failed, or a write has taken longer than
  /// kStandsStill. A failure is reported once. If several writes failed since the last call, only
  /// the last failure is reported.
  Status RecordSession(const RecordedSession& session) override;
  /// Does the same for the revision, but does not wait.
  Status RecordHighest(Revision revision) override;

 private:
  struct Shared;
  static void Write(Shared& shared);
  Status Trouble();

  const std::shared_ptr<Shared> shared_;
  std::thread thread_;
};

}  // namespace baton::runtime
