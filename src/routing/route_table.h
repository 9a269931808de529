// RouteTable: an immutable snapshot of a group's routes; and how readers come to the newest one.
#pragma once

#include <atomic>
#include <cstdint>
#include <memory>
#include <mutex>
#include <string_view>
#include <utility>
#include <vector>

#include "baton/routes.h"
#include "baton/types.h"

namespace baton::routing {

struct KeyMapping {
  std::uint32_t shards = 0;
  HashFunction hash = HashFunction::kMurmur2;
  friend bool operator==(const KeyMapping&, const KeyMapping&) = default;
};

/// A leader's names; what they point to outlives every table.
struct Leader {
  std::string_view node;
  std::string_view address;
};

inline constexpr std::uint32_t kNobodyLeads = UINT32_MAX;

struct RouteEntry {
  std::int64_t term = 0;
  std::uint32_t leader = kNobodyLeads;  ///< index of its names
  ShardState state = ShardState::kLeaderless;
  friend bool operator==(const RouteEntry&, const RouteEntry&) = default;
};
/// Immutable; any thread.
///
/// A route takes 8 bytes, so that 100,000 stay in a processor's cache beside what the program does:
/// the term, counted from the least one of the table, in 40 bits, its leader in 21, its state in 3.
/// Where that does not hold (terms 10^12 revisions apart, two million leaders) it takes 16.
class RouteTable {
 public:
  RouteTable(KeyMapping mapping, const std::vector<RouteEntry>& entries,
             std::shared_ptr<const std::vector<Leader>> leaders);

  const KeyMapping& mapping() const { return mapping_; }
  bool packed() const { return wide_.empty(); }
  /// Leaderless for a shard out of range.
  Route Find(ShardId shard) const noexcept {
    if (shard.value < packed_.size()) {
      const std::uint64_t word = packed_[shard.value];
      if (word == 0) return {.shard = shard};
      const Leader& leader = (*leaders_)[word >> kStateBits & kLeaderMask];
      return {shard, static_cast<ShardState>((word & kStateMask) - 1),
              Term{least_term_ + static_cast<std::int64_t>(word >> (kStateBits + kLeaderBits))},
              leader.node, leader.address};
    }
    if (shard.value >= wide_.size()) return {.shard = shard};
    const RouteEntry& entry = wide_[shard.value];
    if (entry.leader == kNobodyLeads) return {.shard = shard};
    const Leader& leader = (*leaders_)[entry.leader];
    return {shard, entry.state, Term{entry.term}, leader.node, leader.address};
  }

 private:
  static constexpr int kStateBits = 3;
  static constexpr int kLeaderBits = 21;
  static constexpr std::uint64_t kStateMask = (1u << kStateBits) - 1;
  static constexpr std::uint64_t kLeaderMask = (1u << kLeaderBits) - 1;
  static constexpr std::int64_t kMostTerms = std::int64_t{1} << (64 - kStateBits - kLeaderBits);

  const KeyMapping mapping_;
  std::int64_t least_term_ = 0;
  std::vector<std::uint64_t> packed_;  // 0: nobody leads; the state is counted from 1
  std::vector<RouteEntry> wide_;       // instead, where a route does not fit
  const std::shared_ptr<const std::vector<Leader>> leaders_;
};

/// Hands the newest table to readers. Each thread keeps the table that it read last, and asks with
/// one acquire load whether there is a newer one; so the steady path shares nothing but a word that
/// is written when a table is published. Only a thread's first read may wait (for the copy of one
/// pointer); later ones go on with the table they have where the lock is taken at that moment.
///
/// A thread that stops reading keeps its last table alive (8 bytes a shard) until it reads again,
/// ends, or this object is destroyed; so do threads whose slot another publisher took over until
/// they read again.
class TablePublisher {
 public:
  TablePublisher();
  /// REQUIRES: nobody reads any more. Tables that threads still keep are released.
  ~TablePublisher();
  TablePublisher(const TablePublisher&) = delete;
  TablePublisher& operator=(const TablePublisher&) = delete;

  /// Any thread, one at a time.
  void Publish(std::shared_ptr<const RouteTable> table);

  /// The newest table; null before the first Publish. Valid until this thread's next call of Read,
  /// of whichever publisher. Any thread.
  const RouteTable* Read() const noexcept {
    const Cached& cached = cache_[id_ % kCached];
    const std::uint64_t version = version_.load(std::memory_order_acquire);
    if (cached.publisher == id_ && cached.version == version) return cached.table;
    return ReadAnew();
  }

 private:
  // How many publishers a thread reads by turns without a look-up.
  static constexpr std::uint64_t kCached = 8;
  struct Cached {
    std::uint64_t publisher = 0;  ///< 0: none; numbers are never used again
    std::uint64_t version = 0;
    const RouteTable* table = nullptr;
  };
  /// What one thread keeps of one publisher. The thread alone reads and writes it, but for the
  /// publisher's destructor, when nobody reads any more.
  struct Kept {
    std::shared_ptr<const RouteTable> table;
    std::uint64_t version = 0;
    std::atomic<bool> over{false};  ///< the publisher was destroyed
  };
  class ThreadTables;

  const RouteTable* ReadAnew() const noexcept;
  std::shared_ptr<Kept> NewKept() const;
  void Reload(Kept& kept) const noexcept;

  static thread_local constinit Cached cache_[kCached];

  const std::uint64_t id_;
  std::atomic<std::uint64_t> version_{0};
  mutable std::mutex mutex_;                       // guards what follows
  std::shared_ptr<const RouteTable> table_;        // of version_
  mutable std::vector<std::weak_ptr<Kept>> kept_;  // by threads
};

}  // namespace baton::routing
