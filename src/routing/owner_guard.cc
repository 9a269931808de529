#include "baton/owner_guard.h"

#include <algorithm>
#include <atomic>
#include <memory>
#include <mutex>
#include <utility>

#include <grpcpp/server_context.h>

#include "base/clock.h"
#include "routing/lookup_key.h"
#include "routing/request_metadata.h"
#include "runtime/control.h"

namespace baton {
namespace {

using Picture = std::shared_ptr<const runtime::NodeStatus>;

// A picture of many shards takes the node's loop a while.
constexpr Duration kPictureAge = std::chrono::milliseconds(50);

grpc::Status Invalid(std::string message) {
  return {grpc::StatusCode::INVALID_ARGUMENT, std::move(message)};
}

}  // namespace

/// Shared with the node's answers, which may come after the guard's end.
class OwnerGuard::Impl : public std::enable_shared_from_this<OwnerGuard::Impl> {
 public:
  Impl(runtime::Control& control, OwnerGuardOptions options)
      : control_(control), options_(std::move(options)) {}

  grpc::Status CheckKey(const grpc::ServerContextBase& context, std::string_view key, Owned* owned);
  grpc::Status CheckShard(const grpc::ServerContextBase& context, ShardId shard, Owned* owned);
  std::uint64_t misroutes() const { return misroutes_.load(std::memory_order_relaxed); }
  /// Asks the node for a newer picture, where the last one is old; returns at once.
  void Refresh();

 private:
  /// What of a group never changes.
  struct Facts {
    std::string group;
    std::uint32_t shards = 0;
    HashFunction hash = HashFunction::kMurmur2;
  };

  const Facts* facts();
  bool read() const { return read_.load(std::memory_order_acquire); }
  void Take(Picture picture);
  grpc::Status NotRead(ShardId shard);
  grpc::Status Check(const Facts& facts, const routing::RequestMetadata& said, ShardId shard,
                     Owned* owned);
  grpc::Status CheckSaid(const Facts& facts, const routing::RequestMetadata& said, ShardId shard);
  grpc::Status Refuse(ShardId shard);
  std::optional<LeaderHint> OwnHint(ShardId shard, NodeId* self);
  grpc::Status NoLeader(ShardId shard, const char* why) const {
    return NoLeaderStatus(shard, why, options_.retry_after);
  }

  runtime::Control& control_;
  const OwnerGuardOptions options_;
  std::atomic<std::uint64_t> misroutes_{0};
  // What the node was told of its group; one that was told wrong never leads. facts_ is set once
  // known_ is, and stays as it is.
  std::atomic<bool> known_{false};
  std::atomic<bool> read_{false};  // the node found it so
  Facts facts_;
  std::mutex mutex_;  // guards what follows
  Picture picture_;   // null: none yet
  TimePoint asked_ = TimePoint::min();
  TimePoint answered_ = TimePoint::min();
};

const OwnerGuard::Impl::Facts* OwnerGuard::Impl::facts() {
  if (known_.load(std::memory_order_acquire)) return &facts_;
  Refresh();
  return known_.load(std::memory_order_acquire) ? &facts_ : nullptr;
}

void OwnerGuard::Impl::Refresh() {
  {
    const std::lock_guard lock(mutex_);
    const bool under_way = asked_ > answered_;
    if (under_way || (picture_ != nullptr && BootClock::now() - answered_ < kPictureAge)) return;
    asked_ = BootClock::now();
  }
  control_.GetStatus([self = shared_from_this()](Picture picture) { self->Take(picture); });
}

void OwnerGuard::Impl::Take(Picture picture) {
  const std::lock_guard lock(mutex_);
  answered_ = std::max(BootClock::now(), asked_);
  if (picture == nullptr) return;
  if (picture->shard_count > 0 && !known_.load(std::memory_order_relaxed)) {
    facts_ = {picture->group, picture->shard_count, picture->hash};
    known_.store(true, std::memory_order_release);
  }
  if (picture->revision.value > 0 && !picture->halted) read_.store(true, std::memory_order_release);
  std::swap(picture_, picture);  // the old one goes after the lock
}

grpc::Status OwnerGuard::Impl::CheckKey(const grpc::ServerContextBase& context,
                                        std::string_view key, Owned* owned) {
  const auto said = routing::ReadMetadata(context.client_metadata());
  if (!said) return Invalid(said.error().message);
  if (key.empty()) return Invalid("the key is empty");
  const Facts* known = facts();
  if (known == nullptr) return NotRead(said.value().shard.value_or(ShardId{}));
  const Result<ShardId> shard = routing::ShardOfKey(key, known->hash, known->shards);
  if (!shard) return read() ? Invalid(shard.error().message) : NotRead(ShardId{});
  return Check(*known, said.value(), shard.value(), owned);
}

grpc::Status OwnerGuard::Impl::CheckShard(const grpc::ServerContextBase& context, ShardId shard,
                                          Owned* owned) {
  const auto said = routing::ReadMetadata(context.client_metadata());
  if (!said) return Invalid(said.error().message);
  const Facts* known = facts();
  if (known == nullptr) return NotRead(shard);
  if (shard.value >= known->shards) {
    if (!read()) return NotRead(shard);
    return Invalid("no shard " + std::to_string(shard.value) + ": group " + known->group +
                   " has shards 0 to " + std::to_string(known->shards - 1));
  }
  return Check(*known, said.value(), shard, owned);
}

grpc::Status OwnerGuard::Impl::NotRead(ShardId shard) {
  Refresh();
  return NoLeader(shard, "this node has not read the group yet");
}

grpc::Status OwnerGuard::Impl::Check(const Facts& facts, const routing::RequestMetadata& said,
                                     ShardId shard, Owned* owned) {
  if (grpc::Status checked = CheckSaid(facts, said, shard); !checked.ok()) return checked;
  const baton::Leadership mine = control_.LeadershipOf(shard);
  if (!mine.leads) return Refuse(shard);
  if (said.term && *said.term > mine.term) {
    return NoLeader(shard, "the caller knows of a newer term than this node does");
  }
  if (options_.activated && !mine.activated) {
    return NoLeader(shard, "this node leads it, and is not ready to serve it yet");
  }
  if (owned != nullptr) *owned = {shard, mine.term, said.request_id, said.attempt};
  return grpc::Status::OK;
}

grpc::Status OwnerGuard::Impl::CheckSaid(const Facts& facts, const routing::RequestMetadata& said,
                                         ShardId shard) {
  if (said.group && *said.group != facts.group) {
    return Invalid("the request is for group '" + *said.group + "'; this node is of group '" +
                   facts.group + "'");
  }
  if (said.shard && *said.shard != shard) {
    return Invalid("the request's metadata says shard " + std::to_string(said.shard->value) +
                   ", what it asks for belongs to shard " + std::to_string(shard.value) +
                   ": call with the key that is in the request");
  }
  return grpc::Status::OK;
}

grpc::Status OwnerGuard::Impl::Refuse(ShardId shard) {
  NodeId self;
  std::optional<LeaderHint> hint;
  if (options_.hints) {
    hint = options_.hints(shard);
  } else if (read()) {
    hint = OwnHint(shard, &self);
  } else {
    return NotRead(shard);
  }
  if (!hint) return NoLeader(shard, "not led here, and this node does not know where");
  if (hint->leader.empty()) return NoLeader(shard, "nobody leads it at the moment");
  if (hint->leader == self) {
    return NoLeader(shard, "this node's leadership is suspended or about to end");
  }
  misroutes_.fetch_add(1, std::memory_order_relaxed);
  return NotLeaderStatus(*hint);
}

std::optional<LeaderHint> OwnerGuard::Impl::OwnHint(ShardId shard, NodeId* self) {
  Refresh();
  Picture picture;
  {
    const std::lock_guard lock(mutex_);
    picture = picture_;
  }
  if (picture == nullptr || shard.value >= picture->shards.size()) return std::nullopt;
  *self = picture->node;
  const runtime::ShardStatus& status = picture->shards[shard.value];
  return LeaderHint{shard, status.leader, status.address, status.term};
}

OwnerGuard::OwnerGuard(Node& node, OwnerGuardOptions options)
    : impl_(std::make_shared<Impl>(node.control(), std::move(options))) {
  impl_->Refresh();
}

OwnerGuard::~OwnerGuard() = default;

grpc::Status OwnerGuard::Check(const grpc::ServerContextBase& context, std::string_view key,
                               Owned* owned) {
  return impl_->CheckKey(context, key, owned);
}

grpc::Status OwnerGuard::Check(const grpc::ServerContextBase& context, ShardId shard,
                               Owned* owned) {
  return impl_->CheckShard(context, shard, owned);
}

std::uint64_t OwnerGuard::misroutes() const noexcept { return impl_->misroutes(); }

}  // namespace baton
