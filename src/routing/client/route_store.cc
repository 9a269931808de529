#include "routing/client/route_store.h"

#include <algorithm>
#include <utility>

#include "base/check.h"

namespace baton::routing {

v1::WatchRoutesRequest RouteStore::BeginStream() {
  const std::lock_guard lock(mutex_);
  return merged_.BeginStream();
}

Result<RouteStore::Merged> RouteStore::Merge(const v1::WatchRoutesResponse& message,
                                             TimePoint now) {
  const std::lock_guard lock(mutex_);
  const bool was_complete = merged_.complete();
  const bool had_begun = merged_.begun();
  AllowNewNodes(now);
  const std::size_t nodes = merged_.nodes();
  merged_.LimitNodes(nodes + new_nodes_);
  if (Status applied = merged_.Apply(message); !applied) return applied.error();
  new_nodes_ -= merged_.nodes() - nodes;
  const bool first = !had_begun;
  // A stream's first message may change what the last server knew of itself.
  const bool changed = first || message.routes_size() > 0;
  unpublished_ |= changed;
  for (Waiter* waiter : waiters_) {
    if (merged_.changes(ShardId{static_cast<std::uint32_t>(waiter->shard)}) != waiter->changes) {
      waiter->changed.notify_one();
    }
  }
  if (merged_.complete() && (!was_complete || !published_ || now - *published_ >= kPublishEvery)) {
    Publish(now);
  }
  if (merged_.complete() && !was_complete) progress_.notify_all();
  return Merged{.begun_stream = first,
                .resumed = merged_.resumed(),
                .changed = changed,
                .doubted = merged_.doubted()};
}

void RouteStore::AllowNewNodes(TimePoint now) {
  const TimePoint since = new_nodes_at_.value_or(now);
  const Duration::rep more = std::max(Duration{0}, now - since) / kNewNodeEvery;
  new_nodes_ = std::min(kNewNodesAtOnce, new_nodes_ + static_cast<std::size_t>(more));
  new_nodes_at_ = since + more * kNewNodeEvery;
}

void RouteStore::PublishDue(TimePoint now) {
  const std::lock_guard lock(mutex_);
  if (unpublished_ && merged_.complete() && published_ && now - *published_ >= kPublishEvery) {
    Publish(now);
  }
}

std::optional<TimePoint> RouteStore::next_publish() const {
  const std::lock_guard lock(mutex_);
  if (!unpublished_ || !published_ || !merged_.complete()) return std::nullopt;
  return *published_ + kPublishEvery;
}

void RouteStore::Publish(TimePoint now) {
  if (!std::exchange(unpublished_, false)) return;
  publisher_.Publish(merged_.Table());
  published_ = now;
}

bool RouteStore::complete() const {
  const std::lock_guard lock(mutex_);
  return merged_.complete();
}

Revision RouteStore::revision() const {
  const std::lock_guard lock(mutex_);
  return merged_.revision();
}

RouteStore::Newest RouteStore::Find(ShardId shard) const {
  const std::lock_guard lock(mutex_);
  BATON_CHECK(merged_.mapped() && shard.value < merged_.mapping().shards);
  Newest newest{.route = {.shard = shard}, .changes = merged_.changes(shard)};
  const RouteEntry& entry = merged_.entry(shard);
  if (entry.leader == kNobodyLeads) return newest;
  const NodeEntry& leader = merged_.node(entry.leader);
  newest.route = {shard, entry.state, Term{entry.term}, leader.node, leader.address};
  return newest;
}

std::optional<Term> RouteStore::FindTerm(ShardId shard) const {
  const std::lock_guard lock(mutex_);
  if (!merged_.mapped()) return Term{};
  if (shard.value >= merged_.mapping().shards) return std::nullopt;
  const RouteEntry& entry = merged_.entry(shard);
  return entry.leader == kNobodyLeads ? Term{} : Term{entry.term};
}

bool RouteStore::Await(ShardId shard, std::uint64_t changes, TimePoint until) {
  std::unique_lock lock(mutex_);
  Waiter waiter{.shard = shard.value, .changes = changes, .changed = {}};
  waiters_.insert(&waiter);
  const bool changed = waiter.changed.wait_for(
      lock, until - BootClock::now(), [&] { return closed_ || merged_.changes(shard) != changes; });
  waiters_.erase(&waiter);
  return changed && !closed_;
}

void RouteStore::Nudge() {
  const std::lock_guard lock(mutex_);
  progress_.notify_all();
}

void RouteStore::Close() {
  const std::lock_guard lock(mutex_);
  closed_ = true;
  progress_.notify_all();
  for (Waiter* waiter : waiters_) waiter->changed.notify_one();
}

bool RouteStore::closed() const {
  const std::lock_guard lock(mutex_);
  return closed_;
}

}  // namespace baton::routing
