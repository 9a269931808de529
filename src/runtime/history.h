// History: the last transitions that a node saw, of its whole group, and who waits for the next.
//
// What a node counts itself comes with the length of its gap; what others count comes as this
// node's view showed it. A restart begins anew: events are numbered from 1 by each process, and
// nothing of an earlier one is kept.
//
// Thread-safe. Reading never holds the writer (the node's loop) up for longer than kChunk events
// take to be picked.
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

#include "baton/types.h"

namespace baton::runtime {

/// How long nobody led, by phase, each as far as the observer knows it. Each phase is taken on one
/// host's clock.
struct GapPhases {
  /// An upper bound: until a death was noticed (Transition::detect_at_most).
  std::optional<std::chrono::nanoseconds> detect_at_most;
  std::optional<std::chrono::nanoseconds> elect;     ///< from there to a leadership
  std::optional<std::chrono::nanoseconds> activate;  ///< from there to the return of `acquired`
  friend bool operator==(const GapPhases&, const GapPhases&) = default;
};

struct HistoryEvent {
  std::uint64_t seq = 0;                     ///< from 1, growing by one
  std::chrono::system_clock::time_point at;  ///< when this node saw it, by its wall clock
  Transition transition;                     ///< its durations are in `gap`
  /// etcd's: the new leadership's; where none began, how far the node's view had got.
  Revision revision;
  GapPhases gap;
};

/// Events, and what it takes to ask for the next.
struct HistoryPage {
  std::string group;
  std::string node;                               ///< who saw them
  std::chrono::system_clock::time_point started;  ///< the process whose numbers these are
  /// The oldest that was kept when these were read; last + 1 where none was.
  std::uint64_t first = 1;
  std::uint64_t last = 0;                                     ///< the newest; 0: there was none
  std::vector<std::shared_ptr<const HistoryEvent>> events{};  ///< oldest first
  std::uint64_t upto = 0;  ///< all up to here were looked at: `after` of who goes on
  /// Events are missing before these: the question's `after` is of an earlier process, or what
  /// followed it is not kept any more.
  bool reset = false;
};

struct HistoryQuestion {
  /// Events with a greater number; 0: from the oldest. So is one that was never given.
  std::uint64_t after = 0;
  std::size_t limit = SIZE_MAX;
  std::optional<ShardId> shard = {};  ///< of this one alone
};

class History {
 public:
  using WaitId = std::uint64_t;
  static constexpr std::size_t kChunk = 256;

  /// Keeps the last `most`. REQUIRES: most > 0.
  History(std::string group, std::string node, std::size_t most);
  History(const History&) = delete;
  History& operator=(const History&) = delete;

  /// Numbers and keeps an event, and tells who waits.
  void Add(Transition transition, Revision revision, GapPhases gap);
  /// No event follows: who waits is told, also in future. Idempotent.
  void Close();

  /// The oldest that fit the question. Events are never left out in the middle: what is dropped
  /// while they are read takes the ones before it along.
  HistoryPage Read(const HistoryQuestion& question) const;
  /// The last `most` transitions, oldest first.
  std::vector<Transition> Recent(std::size_t most) const;
  bool closed() const;

  /// Calls `ready` once, as soon as there is an event after `after`, or none will be: now, on this
  /// thread, or later, on another. It must be quick and must not call back. Until then it costs a
  /// place: Cancel what is not waited for any more.
  WaitId Await(std::uint64_t after, std::function<void()> ready) const;
  /// Once this returns `ready` is not called, nor running. Ids that are not waiting are ignored.
  void Cancel(WaitId id) const;

 private:
  struct Waiter {
    std::uint64_t after;
    std::function<void()> ready;
  };

  std::uint64_t First() const { return last_ + 1 - events_.size(); }
  void TellWaiters();
  bool Due(std::uint64_t after) const { return closed_ || last_ > after; }

  const std::string group_;
  const std::string node_;
  const std::chrono::system_clock::time_point started_;
  const std::size_t most_;

  mutable std::mutex mutex_;  // below
  std::deque<std::shared_ptr<const HistoryEvent>> events_;
  std::uint64_t last_ = 0;
  bool closed_ = false;
  mutable std::map<WaitId, Waiter> waiters_;
  mutable WaitId last_wait_ = 0;
};

}  // namespace baton::runtime
