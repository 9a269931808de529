#include "runtime/state_writer.h"

#include <algorithm>
#include <condition_variable>
#include <mutex>
#include <optional>
#include <utility>

namespace baton::runtime {
namespace {

/// Returns what remains to be written if `earlier` was not, as if it had been.
RecordedSession Joined(const RecordedSession& earlier, RecordedSession later) {
  if (later.session.value != 0 && later.replaces.value == 0) {
    later.replaces = earlier.external ? earlier.replaces : earlier.session;
  }
  return later;
}

}  // namespace

struct StateWriter::Shared {
  Shared(std::unique_ptr<StateRecord> written, const Clock& clock_of_writes)
      : record(std::move(written)), clock(clock_of_writes) {}
  bool Waits() const { return session || highest; }

  std::unique_ptr<StateRecord> record;  // the thread's
  const Clock& clock;
  std::mutex mutex;  // guards what follows
  std::condition_variable changed;
  std::optional<RecordedSession> session;
  std::optional<Revision> highest;
  std::optional<TimePoint> began;  ///< the write that is under way
  Status failure = Ok();           ///< of the last write, until a caller has it
  bool closing = false;
  bool ended = false;
};

StateWriter::StateWriter(std::unique_ptr<StateRecord> record, const Clock& clock)
    : shared_(std::make_shared<Shared>(std::move(record), clock)),
      thread_([shared = shared_] { Write(*shared); }) {}

StateWriter::~StateWriter() {
  std::unique_lock lock(shared_->mutex);
  shared_->closing = true;
  shared_->changed.notify_all();
  const bool ended = shared_->changed.wait_for(lock, kWaitAtEnd, [this] { return shared_->ended; });
  lock.unlock();
  if (ended) {
    thread_.join();
  } else {
    thread_.detach();
  }
}

Status StateWriter::RecordSession(const RecordedSession& session) {
  std::unique_lock lock(shared_->mutex);
  shared_->session = shared_->session ? Joined(*shared_->session, session) : session;
  shared_->changed.notify_all();
  const auto written = [this] { return !shared_->session && !shared_->began; };
  shared_->changed.wait_for(lock, kWaitForSession, written);
  return Trouble();
}

Status StateWriter::RecordHighest(Revision revision) {
  const std::lock_guard lock(shared_->mutex);
  shared_->highest = std::max(shared_->highest.value_or(revision), revision);
  shared_->changed.notify_all();
  return Trouble();
}

// REQUIRES: the mutex is held.
Status StateWriter::Trouble() {
  if (shared_->began && shared_->clock.Now() - *shared_->began > kStandsStill) {
    return Error{ErrorCode::kUnavailable,
                 "the state directory takes no writes at the moment: its disk stands still, or its "
                 "file system is frozen; a restart of this node will have to wait for its lease"};
  }
  return std::exchange(shared_->failure, Ok());
}

// The thread.
void StateWriter::Write(Shared& shared) {
  std::unique_lock lock(shared.mutex);
  while (true) {
    shared.changed.wait(lock, [&] { return shared.closing || shared.Waits(); });
    if (!shared.Waits()) break;
    const auto session = std::exchange(shared.session, std::nullopt);
    const auto highest = std::exchange(shared.highest, std::nullopt);
    shared.began = shared.clock.Now();
    lock.unlock();
    Status written = session ? shared.record->RecordSession(*session) : Ok();
    if (highest) {
      const Status second = shared.record->RecordHighest(*highest);
      if (written.ok()) written = second;
    }
    lock.lock();
    shared.began.reset();
    if (!written.ok()) shared.failure = written;
    shared.changed.notify_all();
  }
  lock.unlock();
  shared.record.reset();
  lock.lock();
  shared.ended = true;
  shared.changed.notify_all();
}

}  // namespace baton::runtime
