// StateWriter: writes a StateRecord on a thread of its own. A disk that stands still then holds up
// this thread, and not the node's loop, which has a lease to renew.
//
// So the record may lag behind. That is safe: it names sessions of this process, or of dead ones,
// and a session that it does not name ends with its lease. Of what waits only the newest is kept.
//
// Not thread-safe.
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
  /// How long RecordSession waits for its write: mostly it needs microseconds, and then a guard
  /// knows the session before its member key is put.
  static constexpr std::chrono::milliseconds kWaitForSession{50};
  /// A write that takes longer than this is a trouble of its own.
  static constexpr std::chrono::seconds kStandsStill{5};
  /// How long the destructor waits for the last writes.
  static constexpr std::chrono::seconds kWaitAtEnd{2};

  /// Only the thread uses the record. The clock must outlive this object and a write that stands
  /// still.
  StateWriter(std::unique_ptr<StateRecord> record, const Clock& clock);
  /// Writes what waits, and destroys the record. If a write stands still, the thread does so later:
  /// a lock that the record holds stays with this process until then.
  ~StateWriter() override;
  StateWriter(const StateWriter&) = delete;
  StateWriter& operator=(const StateWriter&) = delete;

  /// kUnavailable: this or an earlier write failed (reported once), or one stands still.
  Status RecordSession(const RecordedSession& session) override;
  /// The same, and does not wait.
  Status RecordHighest(Revision revision) override;

 private:
  struct Shared;
  static void Write(Shared& shared);
  Status Trouble();

  const std::shared_ptr<Shared> shared_;
  std::thread thread_;
};

}  // namespace baton::runtime
