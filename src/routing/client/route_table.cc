#include "routing/client/route_table.h"

#include <algorithm>
#include <unordered_map>

namespace baton::routing {
namespace {

std::uint64_t NextId() {
  static std::atomic<std::uint64_t> last{0};
  return last.fetch_add(1, std::memory_order_relaxed) + 1;
}

std::uint64_t NextVersion() {
  static std::atomic<std::uint64_t> last{0};
  return last.fetch_add(1, std::memory_order_relaxed) + 1;
}

}  // namespace

RouteTable::RouteTable(KeyMapping mapping, const std::vector<RouteEntry>& entries,
                       std::shared_ptr<const std::vector<Leader>> leaders)
    : mapping_(mapping), leaders_(std::move(leaders)), modulo_shards_(mapping.shards) {
  std::int64_t least = INT64_MAX;
  std::int64_t greatest = 0;
  for (const RouteEntry& entry : entries) {
    if (entry.leader == kNobodyLeads) continue;
    least = std::min(least, entry.term);
    greatest = std::max(greatest, entry.term);
  }
  if (greatest >= least && (greatest - least >= kMaxTerms || leaders_->size() > kLeaderMask)) {
    wide_ = entries;
    return;
  }
  least_term_ = least;
  packed_.resize(entries.size(), 0);
  for (std::size_t shard = 0; shard < entries.size(); ++shard) {
    const RouteEntry& entry = entries[shard];
    if (entry.leader == kNobodyLeads) continue;
    packed_[shard] = static_cast<std::uint64_t>(entry.term - least) << (kStateBits + kLeaderBits) |
                     std::uint64_t{entry.leader} << kStateBits |
                     (static_cast<std::uint64_t>(entry.state) + 1);
  }
  packed_routes_ = packed_.data();
  packed_count_ = packed_.size();
  leader_names_ = leaders_->data();
}

Route RouteTable::Find(ShardId shard) const noexcept {
  if (const Packed packed = FindPacked(shard)) return Unpack(packed);
  if (shard.value >= wide_.size()) return {.shard = shard};
  const RouteEntry& entry = wide_[shard.value];
  if (entry.leader == kNobodyLeads) return {.shard = shard};
  const Leader& leader = (*leaders_)[entry.leader];
  return {shard, entry.state, Term{entry.term}, leader.node, leader.address};
}

/// The tables that one thread keeps, of all publishers.
class TablePublisher::ThreadTables {
 public:
  static ThreadTables& Mine() {
    thread_local ThreadTables mine;
    return mine;
  }

  Kept& Of(const TablePublisher& publisher) {
    std::shared_ptr<Kept>& kept = kept_[publisher.id_];
    if (kept == nullptr) {
      kept = publisher.NewKept();
      // `over`: the publisher was destroyed, and has already released this thread's table.
      std::erase_if(kept_, [](const auto& each) { return each.second->over.load(); });
    }
    return *kept;
  }

 private:
  std::unordered_map<std::uint64_t, std::shared_ptr<Kept>> kept_;
};

thread_local constinit TablePublisher::Cached TablePublisher::cache_[TablePublisher::kCached];

TablePublisher::TablePublisher() : id_(NextId()), version_(NextVersion()) {}

TablePublisher::~TablePublisher() {
  const std::lock_guard lock(mutex_);
  for (const std::weak_ptr<Kept>& each : kept_) {
    const std::shared_ptr<Kept> kept = each.lock();
    if (kept == nullptr) continue;
    kept->table.reset();
    kept->over.store(true);
  }
}

void TablePublisher::Publish(std::shared_ptr<const RouteTable> table) {
  const std::lock_guard lock(mutex_);
  table_.swap(table);  // the old table is destroyed, if at all, after the lock is released
  version_.store(NextVersion(), std::memory_order_release);
}

const RouteTable* TablePublisher::ReadAnew() const noexcept {
  Kept& kept = ThreadTables::Mine().Of(*this);
  Reload(kept);
  cache_[id_ % kCached] = {.version = kept.version, .table = kept.table.get()};
  return kept.table.get();
}

std::shared_ptr<TablePublisher::Kept> TablePublisher::NewKept() const {
  auto kept = std::make_shared<Kept>();
  const std::lock_guard lock(mutex_);
  std::erase_if(kept_, [](const auto& each) { return each.expired(); });
  kept_.push_back(kept);
  return kept;
}

void TablePublisher::Reload(Kept& kept) const noexcept {
  std::shared_ptr<const RouteTable> old;  // destroyed after the lock is released
  std::unique_lock lock(mutex_, std::defer_lock);
  if (kept.table == nullptr) {
    lock.lock();
  } else if (!lock.try_lock()) {
    return;
  }
  old = std::exchange(kept.table, table_);
  kept.version = version_.load(std::memory_order_relaxed);
}

}  // namespace baton::routing
