#include "routing/client/route_table.h"

#include <unordered_map>

namespace baton::routing {
namespace {

std::uint64_t NextId() {
  static std::atomic<std::uint64_t> last{0};
  return last.fetch_add(1, std::memory_order_relaxed) + 1;
}

}  // namespace

Route RouteTable::Find(ShardId shard) const noexcept {
  if (shard.value >= entries_.size()) return {.shard = shard};
  const RouteEntry& entry = entries_[shard.value];
  if (entry.leader == kNobodyLeads) return {.shard = shard};
  const NodeEntry& leader = (*nodes_)[entry.leader];
  return {shard, entry.state, Term{entry.term}, leader.node, leader.address};
}

std::vector<RouteStandby> RouteTable::StandbysOf(ShardId shard) const {
  std::vector<RouteStandby> standbys;
  if (standbys_ == nullptr || shard.value >= entries_.size()) return standbys;
  const std::uint32_t end = standbys_->begins[shard.value + 1];
  for (std::uint32_t i = standbys_->begins[shard.value]; i < end; ++i) {
    const StandbyEntry& entry = standbys_->entries[i];
    const NodeEntry& node = (*nodes_)[entry.node];
    standbys.push_back({node.node, node.address, entry.ready});
  }
  return standbys;
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

TablePublisher::TablePublisher() : id_(NextId()) {}

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
  version_.fetch_add(1, std::memory_order_release);
}

const RouteTable* TablePublisher::Read() const noexcept {
  Kept& kept = ThreadTables::Mine().Of(*this);
  if (kept.version != version_.load(std::memory_order_acquire)) Reload(kept);
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
