// RouteTable: an immutable snapshot of a group's routes. TablePublisher: gives readers the newest
// one.
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

/// A leader's names. The strings live longer than every table.
struct Leader {
  std::string_view node;
  std::string_view address;
};

inline constexpr std::uint32_t kNobodyLeads = UINT32_MAX;

struct RouteEntry {
  std::int64_t term = 0;
  std::uint32_t leader = kNobodyLeads;  ///< index into the leaders' names
  ShardState state = ShardState::kLeaderless;
  friend bool operator==(const RouteEntry&, const RouteEntry&) = default;
};
/// Immutable; any thread.
///
/// A route takes 8 bytes, so that 100,000 routes fit into a processor's cache together with the
/// program's data: 40 bits for the term minus the table's least term, 21 bits for the leader, 3
/// bits for the state. If a table doesn't fit (terms 10^12 revisions apart, or two million
/// leaders), a route takes 16 bytes.
///
/// Look-ups mostly wait for memory, and a processor overlaps more of them if each has fewer
/// instructions. So the usual case (a packed route with a leader, by murmur2) has its own inline
/// path of a few loads.
class RouteTable {
 public:
  RouteTable(KeyMapping mapping, const std::vector<RouteEntry>& entries,
             std::shared_ptr<const std::vector<Leader>> leaders);

  const KeyMapping& mapping() const { return mapping_; }
  bool packed() const { return wide_.empty(); }

  /// A packed route with a leader. If it is empty, use Find.
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
  /// REQUIRES: `packed` is from this table, and not empty.
  Route Unpack(Packed packed) const noexcept {
    const Leader& leader = leader_names_[packed.word_ >> kStateBits & kLeaderMask];
    const auto term = static_cast<std::int64_t>(packed.word_ >> (kStateBits + kLeaderBits));
    return {packed.shard_, static_cast<ShardState>((packed.word_ & kStateMask) - 1),
            Term{least_term_ + term}, leader.node, leader.address};
  }

  /// Whether keys are mapped by murmur2, so that ShardByMurmur2 may be used.
  bool by_murmur2() const noexcept { return mapping_.hash == HashFunction::kMurmur2; }
  /// The same result as baton::ShardFor. REQUIRES: by_murmur2(), and at least one shard.
  ShardId ShardByMurmur2(std::string_view key) const noexcept {
    return ShardId{modulo_shards_.Of(PositiveMurmur2(key))};
  }

  /// Returns a leaderless route for a shard out of range.
  Route Find(ShardId shard) const noexcept;

 private:
  static constexpr int kStateBits = 3;
  static constexpr int kLeaderBits = 21;
  static constexpr std::uint64_t kStateMask = (1u << kStateBits) - 1;
  static constexpr std::uint64_t kLeaderMask = (1u << kLeaderBits) - 1;
  static constexpr std::int64_t kMaxTerms = std::int64_t{1} << (64 - kStateBits - kLeaderBits);

  const KeyMapping mapping_;
  std::int64_t least_term_ = 0;
  std::vector<std::uint64_t> packed_;  // 0: leaderless; the state is stored plus 1
  std::vector<RouteEntry> wide_;       // used instead, if a route does not fit
  const std::shared_ptr<const std::vector<Leader>> leaders_;
  // Copies of what a look-up needs, to save it one load.
  const Remainder modulo_shards_;
  const std::uint64_t* packed_routes_ = nullptr;
  std::size_t packed_count_ = 0;
  const Leader* leader_names_ = nullptr;
};

/// Gives readers the newest table. Each thread keeps the table that it read last, and checks with
/// one acquire load whether there is a newer table. So, as long as no new table is published,
/// readers share only a word that no thread writes.
///
/// A thread's first read waits for a lock. If there is a newer table, a later read only tries the
/// lock: if the lock is taken, the read returns the table that the thread has.
///
/// A thread that stops reading from a publisher keeps that publisher's table in memory (8 or 16
/// bytes a shard) until the thread reads from that publisher again, the thread ends, or the
/// publisher is destroyed.
class TablePublisher {
 public:
  TablePublisher();
  /// REQUIRES: nobody reads any more. Releases the tables that threads still keep.
  ~TablePublisher();
  TablePublisher(const TablePublisher&) = delete;
  TablePublisher& operator=(const TablePublisher&) = delete;

  /// Publishes a table. Any thread may call it, but only one at a time.
  void Publish(std::shared_ptr<const RouteTable> table);

  /// Returns the newest table; null before the first Publish. Valid until this thread's next call
  /// of Read, of any publisher. Any thread.
  const RouteTable* Read() const noexcept {
    const Cached& cached = cache_[id_ % kCached];
    if (cached.version == version_.load(std::memory_order_acquire)) return cached.table;
    return ReadAnew();
  }
  /// Returns the newest table if this thread has it already. If it returns null, call Read. It is
  /// inline, so that a caller's usual path needs no function call.
  const RouteTable* ReadKept() const noexcept {
    const Cached& cached = cache_[id_ % kCached];
    if (cached.version != version_.load(std::memory_order_acquire)) return nullptr;
    return cached.table;
  }

 private:
  // How many publishers a thread can alternate between without a look-up in its map.
  static constexpr std::uint64_t kCached = 8;
  struct Cached {
    std::uint64_t version = 0;  ///< 0: unused
    const RouteTable* table = nullptr;
  };
  /// The table that one thread keeps of one publisher. Only that thread reads and writes it, except
  /// for the publisher's destructor, which runs when nobody reads any more.
  struct Kept {
    std::shared_ptr<const RouteTable> table;
    std::uint64_t version = 0;
    std::atomic<bool> over{false};  ///< the publisher was destroyed
  };
  class ThreadTables;

  const RouteTable* ReadAnew() const noexcept;
  std::shared_ptr<Kept> NewKept() const;
  void Reload(Kept& kept) const noexcept;

  // initial-exec: the thread-local is found by one load. A shared library's default model would
  // make a function call for each look-up. This takes 128 bytes of the space that glibc reserves
  // for libraries loaded at run time.
  [[gnu::tls_model("initial-exec")]] static thread_local constinit Cached cache_[kCached];

  const std::uint64_t id_;
  std::atomic<std::uint64_t> version_;             // each version of each publisher is unique
  mutable std::mutex mutex_;                       // guards what follows
  std::shared_ptr<const RouteTable> table_;        // of version_
  mutable std::vector<std::weak_ptr<Kept>> kept_;  // one for each thread that has read
};

}  // namespace baton::routing
