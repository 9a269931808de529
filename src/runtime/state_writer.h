// StateWriter: writes a StateRecord on a thread of its own. A disk that stands still holds up this
// thread, but not the node's loop, which has a lease to renew.
//
// So the record may be late. That is safe: it names sessions of this process, or of dead ones. A
// session that the record does not name ends with its lease. Of the values that wait to be written,
// only the newest is kept.
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
  /// knows the session before its member key is put.
  static constexpr std::chrono::milliseconds kWaitForSession{50};
  /// A write that takes longer than this is reported as an error.
  static constexpr std::chrono::seconds kStandsStill{5};
  /// How long the destructor waits for the last writes.
  static constexpr std::chrono::seconds kWaitAtEnd{2};

  /// Only the thread uses the record from now on. Throws std::system_error if the host lacks
  /// threads. REQUIRES: the clock outlives this object and a write that stands still.
  StateWriter(std::unique_ptr<StateRecord> record, const Clock& clock);
  /// Writes what waits, and destroys the record. If a write stands still for kWaitAtEnd, the thread
  /// does both later. Until then this process keeps a lock that the record holds.
  ~StateWriter() override;
  StateWriter(const StateWriter&) = delete;
  StateWriter& operator=(const StateWriter&) = delete;

  /// Waits for the write, up to kWaitForSession. OK: no failure is known, but the write may still
  /// wait. kUnavailable: this or an earlier write failed (each failure is reported once), or a
  /// write stands still.
  Status RecordSession(const RecordedSession& session) override;
  /// The same errors, but does not wait.
  Status RecordHighest(Revision revision) override;

 private:
  struct Shared;
  static void Write(Shared& shared);
  Status Trouble();

  const std::shared_ptr<Shared> shared_;
  std::thread thread_;
};

}  // namespace baton::runtime
