// RouteTable: an immutable snapshot of a group's routes. TablePublisher: gives readers the newest
// RouteTable.
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

/// The id and address of a node that leads or stands by. REQUIRES: the strings outlive every table
/// that names them.
struct NodeEntry {
  std::string_view node;
  std::string_view address;  ///< empty: the node has no usable address
};

inline constexpr std::uint32_t kNobodyLeads = UINT32_MAX;

struct RouteEntry {
  std::int64_t term = 0;                ///< 0: nobody leads
  std::uint32_t leader = kNobodyLeads;  ///< index into the table's nodes
  ShardState state = ShardState::kLeaderless;
  friend bool operator==(const RouteEntry&, const RouteEntry&) = default;
};

struct StandbyEntry {
  std::uint32_t node = 0;  ///< index into the table's nodes
  bool ready = false;
  friend bool operator==(const StandbyEntry&, const StandbyEntry&) = default;
};

/// The standbys of all shards of a group. Takes 4 bytes a shard, and 8 bytes a standby.
struct StandbyLists {
  /// One index into `entries` for each shard, and one more at the end. A shard's standbys are at
  /// the indexes from begins[shard] to begins[shard + 1] - 1.
  std::vector<std::uint32_t> begins;
  std::vector<StandbyEntry> entries;
};

/// Immutable; any thread. A route takes 16 bytes. Several tables may share one StandbyLists.
class RouteTable {
 public:
  /// `entries`: by shard number. `standbys`: null if no shard has any. REQUIRES (not checked):
  /// `nodes` is not null. `entries` has mapping.shards entries. Each leader is an index into
  /// `nodes`, or kNobodyLeads. `standbys` is for the same number of shards, with indexes into
  /// `nodes`.
  RouteTable(KeyMapping mapping, std::vector<RouteEntry> entries,
             std::shared_ptr<const std::vector<NodeEntry>> nodes,
             std::shared_ptr<const StandbyLists> standbys = nullptr)
      : mapping_(mapping),
        entries_(std::move(entries)),
        nodes_(std::move(nodes)),
        standbys_(std::move(standbys)) {}

  const KeyMapping& mapping() const { return mapping_; }
  /// Returns the shard's route. Its texts are those of NodeEntry, so they may outlive the table. If
  /// the shard is out of range, the route is leaderless.
  Route Find(ShardId shard) const noexcept;
  /// Returns the nodes that stand by for the shard, in the order in which they would take over.
  /// Empty if there is no standby, or the shard is out of range.
  std::vector<RouteStandby> StandbysOf(ShardId shard) const;

 private:
  const KeyMapping mapping_;
  const std::vector<RouteEntry> entries_;
  const std::shared_ptr<const std::vector<NodeEntry>> nodes_;
  const std::shared_ptr<const StandbyLists> standbys_;
};

/// Gives readers the newest table. Each thread keeps the table that it read last. While no new
/// table is published, readers don't slow each other down.
///
/// While a thread has no table, its reads may wait for a short lock. Later reads never wait: if
/// there is a newer table and the lock is taken, the read returns the thread's present table.
///
/// A thread that stops reading from a publisher keeps its table in memory. The table is released
/// when the thread reads a newer one from that publisher, the thread ends, or the publisher is
/// destroyed.
class TablePublisher {
 public:
  TablePublisher();
  /// REQUIRES: nobody reads any more. Releases the tables that threads still keep.
  ~TablePublisher();
  TablePublisher(const TablePublisher&) = delete;
  TablePublisher& operator=(const TablePublisher&) = delete;

  /// Publishes a table. Any thread may call it, but only one thread at a time.
  void Publish(std::shared_ptr<const RouteTable> table);

  /// Returns the newest table, or the thread's present one (see above); null before the first
  /// Publish. The pointer is for this thread only. It is valid until this thread calls Read of this
  /// or another publisher again, until the thread ends, or until this publisher is destroyed. Any
  /// thread.
  const RouteTable* Read() const noexcept;

 private:
  /// The table that one thread keeps of one publisher. Only that thread reads and writes it, except
  /// for the publisher's destructor, which runs when nobody reads any more.
  struct Kept {
    std::shared_ptr<const RouteTable> table;
    std::uint64_t version = 0;      ///< 0: nothing was read yet
    std::atomic<bool> over{false};  ///< the publisher was destroyed
  };
  class ThreadTables;

  std::shared_ptr<Kept> NewKept() const;
  void Reload(Kept& kept) const noexcept;

  const std::uint64_t id_;
  std::atomic<std::uint64_t> version_{1};  // of table_
  mutable std::mutex mutex_;               // guards what follows
  std::shared_ptr<const RouteTable> table_;
  mutable std::vector<std::weak_ptr<Kept>> kept_;  // one for each thread that has read
};

}  // namespace baton::routing
