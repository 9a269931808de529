// RouteTable: an immutable snapshot of a group's routes; and how readers come to the newest one.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <mutex>
#include <string_view>
#include <utility>
#include <vector>

#include "baton/routes.h"
#include "baton/types.h"
#include "routing/murmur2.h"

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
///
/// A reader that does nothing else waits for memory, and the fewer instructions a look-up has the
/// more of them wait at once. So the usual case (a packed route, led, by murmur2) is apart: a few
/// loads without a call.
class RouteTable {
 public:
  RouteTable(KeyMapping mapping, const std::vector<RouteEntry>& entries,
             std::shared_ptr<const std::vector<Leader>> leaders);

  const KeyMapping& mapping() const { return mapping_; }
  bool packed() const { return wide_.empty(); }

  /// A packed route that somebody leads; empty: ask Find.
  class Packed {
   public:
    explicit operator bool() const { return word_ != 0; }

   private:
    friend class RouteTable;
    ShardId shard_;
    std::uint64_t word_ = 0;
  };
  Packed FindPacked(ShardId shard) const noexcept {
    Packed packed;
    packed.shard_ = shard;
    if (shard.value < packed_count_) packed.word_ = packed_routes_[shard.value];
    return packed;
  }
  /// REQUIRES: `packed` is this table's, and not empty.
  Route Unpack(Packed packed) const noexcept {
    const Leader& leader = leader_names_[packed.word_ >> kStateBits & kLeaderMask];
    const auto term = static_cast<std::int64_t>(packed.word_ >> (kStateBits + kLeaderBits));
    return {packed.shard_, static_cast<ShardState>((packed.word_ & kStateMask) - 1),
            Term{least_term_ + term}, leader.node, leader.address};
  }

  /// Keys are mapped by murmur2: ShardByMurmur2 says where.
  bool by_murmur2() const noexcept { return mapping_.hash == HashFunction::kMurmur2; }
  /// As baton::ShardFor. REQUIRES: by_murmur2(), and there are shards.
  ShardId ShardByMurmur2(std::string_view key) const noexcept {
    return ShardId{modulo_shards_.Of(PositiveMurmur2(key))};
  }

  /// Leaderless for a shard out of range.
  Route Find(ShardId shard) const noexcept;

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
  // What a look-up needs of these, without a step in between.
  const Remainder modulo_shards_;
  const std::uint64_t* packed_routes_ = nullptr;
  std::size_t packed_count_ = 0;
  const Leader* leader_names_ = nullptr;
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
    if (cached.version == version_.load(std::memory_order_acquire)) return cached.table;
    return ReadAnew();
  }
  /// The newest table where this thread has it at hand, else null: ask Read. For callers whose
  /// usual case makes no call.
  const RouteTable* ReadKept() const noexcept {
    const Cached& cached = cache_[id_ % kCached];
    if (cached.version != version_.load(std::memory_order_acquire)) return nullptr;
    return cached.table;
  }

 private:
  // How many publishers a thread reads by turns without a look-up.
  static constexpr std::uint64_t kCached = 8;
  struct Cached {
    std::uint64_t version = 0;  ///< 0: none
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

  // Found by one load, where the model of shared libraries would make a call of each look-up. It
  // takes 128 of the bytes that glibc keeps for libraries that are loaded late.
  [[gnu::tls_model("initial-exec")]] static thread_local constinit Cached cache_[kCached];

  const std::uint64_t id_;
  std::atomic<std::uint64_t> version_;             // no two of any publishers are the same
  mutable std::mutex mutex_;                       // guards what follows
  std::shared_ptr<const RouteTable> table_;        // of version_
  mutable std::vector<std::weak_ptr<Kept>> kept_;  // by threads
};

}  // namespace baton::routing
