// History: the latest events of the whole group that a node saw. An event is a transition of a
// shard, or a change that an operator ordered. Readers can wait for the next event.
//
// For a transition that this node counted, the core measured the phases of the gap, as far as they
// are known. For a transition that another node counted, there are only the phases that this node's
// view showed. Each process starts an empty history and numbers its events from 1.
//
// Thread-safe. Read holds the lock for at most kChunk events at a time, so it hardly delays the
// writer, the node's loop.
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <vector>

#include "base/facts.h"
#include "baton/types.h"

namespace baton::runtime {

/// How long nobody led the shard, by phase (see Transition). An unset phase is not known here. Each
/// phase is measured by one host's clock.
struct GapPhases {
  /// An upper bound of the time that a death went unnoticed (Transition::detect_at_most).
  std::optional<std::chrono::nanoseconds> detect_at_most;
  /// How long a guard had known of a death when it told etcd (Transition::detect). At most one of
  /// `detect_at_most` and `detect` is set.
  std::optional<std::chrono::nanoseconds> detect{};
  /// From when a node knew that nobody led the shard until it saw the new leader.
  std::optional<std::chrono::nanoseconds> elect;
  /// From when that node saw the new leader until `acquired` returned.
  std::optional<std::chrono::nanoseconds> activate;
  /// The sum of `detect`, `elect` and `activate`, as far as they are set; unset: none is set.
  std::optional<std::chrono::nanoseconds> Measured() const;
  friend bool operator==(const GapPhases&, const GapPhases&) = default;
};

/// The phases that a transition of another node shows: an `elect` or `activate` of 0 counts as not
/// known.
GapPhases GapOf(const Transition& transition);
/// Whether the transition ends a gap after a death, and this node knows neither how long the death
/// went unnoticed nor a bound for that. Then the real gap may be much longer than its measured
/// phases.
bool DetectionUnknown(const Transition& transition, const GapPhases& gap);
/// An upper bound of the whole gap, as far as this node saw the gap: the sum of the phases that are
/// set. Unset: DetectionUnknown, or no phase is set.
std::optional<std::chrono::nanoseconds> GapAtMost(const Transition& transition,
                                                  const GapPhases& gap);

struct HistoryEvent {
  std::uint64_t seq = 0;                     ///< from 1, without gaps
  std::chrono::system_clock::time_point at;  ///< when this node saw it, by its wall clock
  /// The transition. If `change` is set, only the actor in it is meaningful. To show how long the
  /// shard had no leader, use `gap`, not the durations in the transition.
  Transition transition;
  std::string change = {};  ///< the order of an operator, "drain n3"; empty: this is a transition
  /// The etcd revision of the new leadership, or of the write that made the change. For a
  /// transition without a new leadership (also kResumed), and for a change of this node's own
  /// settings: the view's revision when the event came.
  Revision revision;
  GapPhases gap;
};

/// A part of the history, and the numbers that are needed to read on.
struct HistoryPage {
  std::string group;
  std::string node;  ///< the node that saw the events
  /// When that node's process began to number events, by its wall clock. If this differs from the
  /// last page's `started`, another process answers. Its numbers have nothing to do with the
  /// numbers of the earlier process.
  std::chrono::system_clock::time_point started;
  /// The number of the oldest event that was kept when this page was read; last + 1 if there was no
  /// event.
  std::uint64_t first = 1;
  std::uint64_t last = 0;  ///< the number of the newest event then; 0: there was no event
  std::vector<std::shared_ptr<const HistoryEvent>> events{};  ///< oldest first
  /// The number of the last event that was examined, whether or not the event is on the page. If no
  /// event was examined: the number before the first event that the question asks for. Pass `upto`
  /// as the next question's `after`.
  std::uint64_t upto = 0;
  /// True if the first events after the question's `after` are not kept any more, or if this
  /// process has not used the number `after` yet. Always false if `after` is 0, which asks for the
  /// events that are kept. An earlier process may have used the same numbers, and History::Read
  /// does not notice if `after` is of that process. So compare `started` as well.
  bool reset = false;
};

/// The most events that a node returns at once, by gRPC and by HTTP.
inline constexpr std::size_t kMaxEvents = 10'000;

struct HistoryQuestion {
  /// Asks only for events with a greater number. 0, or a number that was not used yet: asks from
  /// the oldest event on.
  std::uint64_t after = 0;
  std::size_t limit = SIZE_MAX;       ///< the most events on the page; 0: only the numbers
  std::size_t examine = SIZE_MAX;     ///< the most events to examine; see HistoryPage::upto
  std::optional<ShardId> shard = {};  ///< only transitions of this shard; unset: all events
};

class History {
 public:
  using WaitId = std::uint64_t;
  static constexpr std::size_t kChunk = 256;

  /// Keeps the newest `most` events. REQUIRES: most > 0 (checked).
  History(std::string group, std::string node, std::size_t most);
  History(const History&) = delete;
  History& operator=(const History&) = delete;

  /// Numbers and keeps a transition, and wakes waiting readers. If `most` events are kept already,
  /// drops the oldest one.
  void Add(Transition transition, Revision revision, GapPhases gap);
  /// Adds a change that an operator ordered, in the same way: see HistoryEvent::change. REQUIRES:
  /// `change` is not empty (checked).
  void AddChange(std::string change, std::string actor, Revision revision);
  /// Says that no event follows, and wakes all waiting readers. Read still works afterwards.
  /// Idempotent. Events that are added later are kept all the same.
  void Close();

  /// Returns the oldest events that match the question. Stops at HistoryQuestion::limit and
  /// HistoryQuestion::examine. Between the first and the last event of the page, no event that
  /// matches is missing: if events are dropped during the read, the page begins after the dropped
  /// events. Does not wait for events. Leaves events that come during the read for the next read.
  HistoryPage Read(const HistoryQuestion& question) const;
  /// The newest `most` transitions that are kept, oldest first. Leaves out changes. Holds the lock
  /// all the time.
  std::vector<Transition> Recent(std::size_t most) const;
  bool closed() const;

  /// Calls `ready` once, as soon as there is an event with a number above `after`, or Close was
  /// called. Pass HistoryPage::upto of this object. A number from an earlier process may be greater
  /// than all numbers here. Then the wait would last until the numbers here exceed it, or until
  /// Close.
  ///
  /// `ready` is called on this thread before Await returns, or later on a thread that calls Add,
  /// AddChange or Close. The lock is held during the call, so `ready` must be quick and must not
  /// call this object. A wait takes memory until the call, so Cancel it if nobody waits any more.
  /// If this object is destroyed, `ready` is never called.
  WaitId Await(std::uint64_t after, std::function<void()> ready) const;
  /// Ends a wait. After Cancel has returned, the `ready` of this wait neither runs nor will be
  /// called. Does nothing if the wait is over. REQUIRES: not called from inside a `ready`.
  void Cancel(WaitId id) const;

 private:
  struct Waiter {
    std::uint64_t after;
    std::function<void()> ready;
  };

  std::uint64_t First() const { return last_ + 1 - events_.size(); }
  void Keep(std::shared_ptr<HistoryEvent> event);
  void TellWaiters();
  bool Due(std::uint64_t after) const { return closed_ || last_ > after; }

  const std::string group_;
  const std::string node_;
  const std::chrono::system_clock::time_point started_;
  const std::size_t most_;

  mutable std::mutex mutex_;  // guards what follows
  std::deque<std::shared_ptr<const HistoryEvent>> events_;
  std::uint64_t last_ = 0;
  bool closed_ = false;
  mutable std::map<WaitId, Waiter> waiters_;
  mutable WaitId last_wait_ = 0;
};

}  // namespace baton::runtime
