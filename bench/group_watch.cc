#include "bench/group_watch.h"

#include <algorithm>
#include <stdexcept>
#include <variant>

namespace baton::bench {

GroupWatch::GroupWatch(const lab::PrivateEtcd& etcd, const std::string& group, std::uint32_t shards)
    : keyspace_(etcd::kDefaultPrefix, group), leaders_(shards) {
  etcd::GrpcTransportOptions options;
  options.endpoints = etcd.endpoints();
  auto transport = etcd::GrpcTransport::Create(std::move(options));
  if (!transport) throw std::runtime_error(transport.error().message);
  transport_ = std::move(transport).value();
  etcdserverpb::WatchCreateRequest request;
  request.set_key(keyspace_.begin());
  request.set_range_end(keyspace_.end());
  request.set_start_revision(1);
  etcd::WatchHandler handler;
  handler.response = [this](const etcdserverpb::WatchResponse& response) { Take(response); };
  handler.ended = [](const etcd::CallStatus&) {};  // then the awaited events do not come
  stream_ = transport_->OpenWatch(request, "", std::move(handler));
}

GroupWatch::~GroupWatch() { stream_.reset(); }

std::optional<TimePoint> GroupWatch::Joined(const NodeId& node) const {
  const std::lock_guard lock(mutex_);
  const auto found = joined_.find(node);
  return found != joined_.end() ? std::optional(found->second) : std::nullopt;
}

std::optional<TimePoint> GroupWatch::Left(const NodeId& node) const {
  const std::lock_guard lock(mutex_);
  const auto found = left_.find(node);
  return found != left_.end() ? std::optional(found->second) : std::nullopt;
}

TimePoint GroupWatch::Revoke(const NodeId& node) {
  etcdserverpb::LeaseRevokeRequest request;
  {
    const std::lock_guard lock(mutex_);
    request.set_id(sessions_.at(node).value);
  }
  const TimePoint begun = BootClock::now();
  // If the revoke fails, the key stays until its lease runs out, which the figure shows.
  transport_->LeaseRevoke(request, std::chrono::seconds(5),
                          [](const etcd::Reply<etcdserverpb::LeaseRevokeResponse>&) {});
  return begun;
}

std::map<NodeId, std::uint32_t> GroupWatch::Leaders() const {
  const std::lock_guard lock(mutex_);
  return counts_;
}

std::vector<ShardId> GroupWatch::LedBy(const NodeId& node) const {
  const std::lock_guard lock(mutex_);
  std::vector<ShardId> led;
  for (std::uint32_t shard = 0; shard < shards(); ++shard) {
    if (leaders_[shard] == node) led.push_back(ShardId{shard});
  }
  return led;
}

std::size_t GroupWatch::ReadyStandbys() const {
  const std::lock_guard lock(mutex_);
  std::size_t ready = 0;
  for (const auto& [node, count] : ready_) ready += count;
  return ready;
}

TimePoint GroupWatch::LastClaim() const {
  const std::lock_guard lock(mutex_);
  return last_claim_;
}

void GroupWatch::Take(const etcdserverpb::WatchResponse& response) {
  const TimePoint at = BootClock::now();
  const std::lock_guard lock(mutex_);
  for (const etcdserverpb::Event& event : response.events()) {
    const bool deleted = event.type() == etcdserverpb::Event::DELETE;
    const etcd::Decoded decoded =
        deleted ? keyspace_.DecodeAbsent(event.kv().key(), Revision{event.kv().mod_revision()})
                : keyspace_.Decode(event.kv());
    if (!decoded.fact) continue;
    if (const auto* member = std::get_if<MemberFact>(&*decoded.fact)) Take(*member, at);
    if (const auto* record = std::get_if<ShardRecordFact>(&*decoded.fact)) Take(*record, at);
  }
}

void GroupWatch::Take(const MemberFact& member, TimePoint at) {
  if (!member.present) left_[member.node] = at;
  ready_[member.node] = member.present ? member.ready.size() : 0;
  if (member.present) sessions_[member.node] = member.session;
  if (member.present && member.create_revision == member.revision) joined_[member.node] = at;
}

void GroupWatch::Take(const ShardRecordFact& record, TimePoint at) {
  NodeId& leader = leaders_.at(record.shard.value);
  if (!leader.empty()) --counts_[leader];
  leader = record.record.leader;
  if (!leader.empty()) ++counts_[leader];
  last_claim_ = at;
}

bool Balanced(const GroupWatch& watch, std::size_t nodes) {
  std::uint32_t led = 0;
  std::size_t leaders = 0;
  std::uint32_t least = watch.shards();
  std::uint32_t greatest = 0;
  for (const auto& [node, count] : watch.Leaders()) {
    if (count == 0) continue;
    ++leaders;
    led += count;
    least = std::min(least, count);
    greatest = std::max(greatest, count);
  }
  return led == watch.shards() && leaders == nodes && greatest - least <= 1;
}

}  // namespace baton::bench
