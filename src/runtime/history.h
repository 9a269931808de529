// History: the latest events of the whole group that a node saw. An event is a transition of a
// shard, or a change that an operator ordered. Readers can wait for the next event.
//
// Each transition comes with the phases of its gap (GapPhases). If another node counted the
// transition (NodeCounters), some phases are not known here. Each process starts an empty history
// and numbers its events from 1.
//
// Thread-safe. Read holds the lock for at most kChunk events at a time, so the node's loop can add
// events meanwhile.
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

/// How long nobody led the shard, by phase (see Transition). Unset: the phase is not known here.
/// Each phase was measured by the clock of one host.
struct GapPhases {
  /// An upper bound of the time for which a death went unnoticed (Transition::detect_at_most).
  std::optional<std::chrono::nanoseconds> detect_at_most;
  /// From when a guard knew of a death until the guard told etcd (Transition::detect). At most one
  /// of `detect_at_most` and `detect` is set.
  std::optional<std::chrono::nanoseconds> detect{};
  /// From when a node knew that nobody led the shard until the node saw the new leader.
  std::optional<std::chrono::nanoseconds> elect;
  /// From when that node saw the new leader until the leader's `acquired` returned.
  std::optional<std::chrono::nanoseconds> activate;
  /// The sum of those of `detect`, `elect` and `activate` that are set. Unset: none of them is set.
  std::optional<std::chrono::nanoseconds> Measured() const;
  friend bool operator==(const GapPhases&, const GapPhases&) = default;
};

/// Returns the phases of a transition that another node counted. If its `elect` or `activate` is 0,
/// the phase counts as not known.
GapPhases GapOf(const Transition& transition);
/// Whether the transition ends a gap after a death, and `gap` has neither `detect` nor
/// `detect_at_most`. Then the real gap may be much longer than the measured phases.
bool DetectionUnknown(const Transition& transition, const GapPhases& gap);
/// The sum of all phases that are set: an upper bound of the gap, as far as this node saw the gap.
/// Unset: DetectionUnknown is true, or no phase is set.
std::optional<std::chrono::nanoseconds> GapAtMost(const Transition& transition,
                                                  const GapPhases& gap);

struct HistoryEvent {
  std::uint64_t seq = 0;                     ///< from 1, without gaps
  std::chrono::system_clock::time_point at;  ///< when this node saw the event, by the wall clock
  /// If `change` is set, only the transition's actor has a meaning. To show how long the shard had
  /// no leader, use `gap`, not the durations in the transition.
  Transition transition;
  std::string change = {};  ///< an operator's order, such as "drain n3"; empty: a transition
  /// The etcd revision of the new leadership, or of the write that made the change. Some events
  /// have neither: kResumed, transitions without a new leadership, and changes of this node's own
  /// settings. For these events: the view's revision when the event came.
  Revision revision;
  GapPhases gap;
};

/// A part of the history, and the numbers that the next question needs.
struct HistoryPage {
  std::string group;
  std::string node;  ///< the node that saw the events
  /// When that node's process began to number events, by its wall clock. If the next page has
  /// another `started`, another process answers, and the numbers begin from 1 again.
  std::chrono::system_clock::time_point started;
  /// The number of the oldest event that was kept when this page was read. No event: last + 1.
  std::uint64_t first = 1;
  std::uint64_t last = 0;  ///< the number of the newest event then; 0: there were no events
  std::vector<std::shared_ptr<const HistoryEvent>> events{};  ///< oldest first
  /// The number of the last event that was examined, even if the event is not on the page. If no
  /// event was examined: the number before the first event that the question asks for. Pass `upto`
  /// as the next question's `after`.
  std::uint64_t upto = 0;
  /// True if the first events after the question's `after` are not kept any more, or if no event
  /// has the number `after` yet. Always false if `after` is 0. False does not prove that `after` is
  /// a number of this process: an earlier process may have used the same number. So also compare
  /// `started`.
  bool reset = false;
};

/// The most events in one answer of a node, by gRPC and by HTTP.
inline constexpr std::size_t kMaxEvents = 10'000;

struct HistoryQuestion {
  /// Asks for events with a greater number. If `after` is 0, or greater than the newest number:
  /// asks for all events that are kept.
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
  /// Says that the history is complete, and wakes all waiting readers. Idempotent. Read still works
  /// afterwards, and events that are added later are still kept.
  void Close();

  /// Returns the oldest events that match the question, within its `limit` and `examine`. Does not
  /// wait for events. Leaves events that come during the read for the next read. If events are
  /// dropped during the read, the page begins after them. So between its first and its last event,
  /// the page has all events that match.
  HistoryPage Read(const HistoryQuestion& question) const;
  /// Returns the newest `most` transitions that are kept, oldest first. Leaves out changes. Holds
  /// the lock all the time.
  std::vector<Transition> Recent(std::size_t most) const;
  bool closed() const;

  /// Calls `ready` once, as soon as there is an event with a number above `after`, or Close was
  /// called. REQUIRES (not checked): `after` is the HistoryPage::upto of a page of this object.
  /// With a greater number of an earlier process, the wait could last until Close.
  ///
  /// `ready` is called on the caller's thread before Await returns, or later on a thread that calls
  /// Add, AddChange or Close. The lock is held during the call, so `ready` must be quick and must
  /// not call this object. A wait takes memory until its `ready` is called, so Cancel a wait that
  /// nobody needs. If this object is destroyed, `ready` is never called.
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
