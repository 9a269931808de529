#include "baton/owner_guard.h"

#include <atomic>
#include <memory>
#include <mutex>
#include <utility>
#include <vector>

#include <fmt/format.h>
#include <grpcpp/server_context.h>

#include "base/escape.h"
#include "base/fork_wiped_words.h"
#include "base/text_rules.h"
#include "routing/lookup_key.h"
#include "routing/refusals.h"
#include "routing/request_metadata.h"
#include "runtime/control.h"

namespace baton {
namespace {

grpc::Status Invalid(std::string message) {
  return {grpc::StatusCode::INVALID_ARGUMENT, std::move(message)};
}

// gRPC's clients refuse metadata of more than some kB. A refusal carries its message twice, so
// longer texts of the application would make another error of it.
constexpr std::size_t kLongestWhy = 1000;

using Metadata = std::map<std::string, std::string>;

Metadata WithGroup(const std::string& group, Metadata metadata) {
  if (!group.empty()) metadata[routing::kGroupDetail] = OneLine(group, kLongestName);
  return metadata;
}

}  // namespace

grpc::Status NotLeaderStatus(const LeaderHint& hint) {
  const std::string number = std::to_string(hint.shard.value);
  const std::string term = std::to_string(hint.term.value);
  const std::string leader = OneLine(hint.leader, kLongestName);
  // Callers ignore any other address.
  const std::string address = IsAddressText(hint.address) ? hint.address : "";
  return routing::StatusOf(
      {.code = grpc::StatusCode::FAILED_PRECONDITION,
       .message = fmt::format("shard {}: led by {}{} in term {}, not by this node", number, leader,
                              address.empty() ? "" : " at " + address, term),
       .reason = routing::kNotLeader,
       .metadata = WithGroup(hint.group, {{routing::kShardDetail, number},
                                          {"leaderNode", leader},
                                          {"leaderAddress", address},
                                          {"term", term}})});
}

grpc::Status NoLeaderStatus(ShardId shard, const std::string& why,
                            std::chrono::milliseconds retry_after, const std::string& group) {
  const std::string number = std::to_string(shard.value);
  return routing::StatusOf(
      {.code = grpc::StatusCode::UNAVAILABLE,
       .message = fmt::format("shard {}: {}; try again", number, OneLine(why, kLongestWhy)),
       .reason = routing::kNoLeader,
       .metadata = WithGroup(group, {{routing::kShardDetail, number}}),
       .retry_after = retry_after});
}

/// Observes the node's routes. The node owns it too, so it may outlive the guard.
class OwnerGuard::Impl : public runtime::RouteObserver {
 public:
  Impl(runtime::Control& control, OwnerGuardOptions options)
      : control_(control), options_(std::move(options)) {}

  grpc::Status CheckKey(const grpc::ServerContextBase& context, std::string_view key, Owned* owned);
  grpc::Status CheckShard(const grpc::ServerContextBase& context, ShardId shard, Owned* owned);
  std::uint64_t misroutes() const { return misroutes_.load(std::memory_order_relaxed); }
  /// The guard is destroyed: releases the routes, and ignores later ones.
  void Leave() {
    if (!fork_mark_.InForkedChild()) Drop();
  }

  // RouteObserver.
  void OnRoutes(const runtime::RouteBatch& batch) override;
  void OnRoutesEnded(const Error&) override { Drop(); }

 private:
  /// The facts about a group that never change.
  struct Facts {
    std::string group;
    std::uint32_t shards = 0;
    HashFunction hash = HashFunction::kMurmur2;
  };

  /// Null: the node has not read its group yet.
  const Facts* facts() const { return read_.load(std::memory_order_acquire) ? &facts_ : nullptr; }
  void Drop();
  grpc::Status NotRead(ShardId shard) const {
    return NoLeader(shard, "this node has not read the group yet");
  }
  grpc::Status Check(const Facts& facts, const routing::RequestMetadata& said, ShardId shard,
                     Owned* owned);
  grpc::Status CheckSaid(const Facts& facts, const routing::RequestMetadata& said, ShardId shard);
  grpc::Status Refuse(ShardId shard);
  std::optional<LeaderHint> OwnHint(ShardId shard, NodeId* self);
  grpc::Status NoLeader(ShardId shard, const char* why) const {
    const Facts* known = facts();
    return NoLeaderStatus(shard, why, options_.retry_after, known ? known->group : "");
  }

  const ForkMark fork_mark_;  // in a forked child the mutex may be held for ever
  runtime::Control& control_;
  const OwnerGuardOptions options_;
  std::atomic<std::uint64_t> misroutes_{0};
  std::atomic<bool> read_{false};  // true: facts_ is set, and never changes again
  Facts facts_;
  std::mutex mutex_;  // guards what follows
  NodeId self_;
  std::vector<runtime::ViewRoute> routes_;  // empty: none yet, or no longer kept
  bool dropped_ = false;
};

// Runs on the node's loop. The first batch has all routes, later ones only the changed routes.
void OwnerGuard::Impl::OnRoutes(const runtime::RouteBatch& batch) {
  const std::lock_guard lock(mutex_);
  if (dropped_) return;
  if (routes_.empty()) {
    self_ = batch.group->server;
    routes_.resize(batch.group->shards);
  }
  for (const runtime::ViewRoute& route : batch.routes) routes_[route.shard.value] = route;
  if (read_.load(std::memory_order_relaxed)) return;
  facts_ = {batch.group->group, batch.group->shards, batch.group->hash};
  read_.store(true, std::memory_order_release);
}

void OwnerGuard::Impl::Drop() {
  const std::lock_guard lock(mutex_);
  dropped_ = true;
  routes_ = {};
}

grpc::Status OwnerGuard::Impl::CheckKey(const grpc::ServerContextBase& context,
                                        std::string_view key, Owned* owned) {
  const auto said = routing::ReadMetadata(context.client_metadata());
  if (!said) return Invalid(said.error().message);
  if (key.empty()) return Invalid("the key is empty");
  const Facts* known = facts();
  if (known == nullptr) return NotRead(said.value().shard.value_or(ShardId{}));
  const Result<ShardId> shard = routing::ShardOfKey(key, known->hash, known->shards);
  if (!shard) return Invalid(shard.error().message);
  return Check(*known, said.value(), shard.value(), owned);
}

grpc::Status OwnerGuard::Impl::CheckShard(const grpc::ServerContextBase& context, ShardId shard,
                                          Owned* owned) {
  const auto said = routing::ReadMetadata(context.client_metadata());
  if (!said) return Invalid(said.error().message);
  const Facts* known = facts();
  if (known == nullptr) return NotRead(shard);
  if (shard.value >= known->shards) {
    return Invalid(fmt::format("no shard {}: group {} has shards 0 to {}", shard.value,
                               known->group, known->shards - 1));
  }
  return Check(*known, said.value(), shard, owned);
}

grpc::Status OwnerGuard::Impl::Check(const Facts& facts, const routing::RequestMetadata& said,
                                     ShardId shard, Owned* owned) {
  if (grpc::Status checked = CheckSaid(facts, said, shard); !checked.ok()) return checked;
  if (fork_mark_.InForkedChild()) return NoLeader(shard, "a forked child leads nothing");
  const baton::Leadership mine = control_.LeadershipOf(shard);
  if (!mine.leads) return Refuse(shard);
  if (said.term && *said.term > mine.term) {
    return NoLeader(shard, "the caller knows a newer term than this node");
  }
  if (options_.activated && !mine.activated) {
    return NoLeader(shard, "this node leads it but is not ready to serve it yet");
  }
  if (owned != nullptr) *owned = {shard, mine.term, said.request_id, said.attempt};
  return grpc::Status::OK;
}

grpc::Status OwnerGuard::Impl::CheckSaid(const Facts& facts, const routing::RequestMetadata& said,
                                         ShardId shard) {
  if (said.group && *said.group != facts.group) {
    return Invalid(fmt::format("the request is for group '{}'; this node belongs to group '{}'",
                               *said.group, facts.group));
  }
  if (said.shard && *said.shard != shard) {
    return Invalid(
        fmt::format("the request's metadata names shard {}, but the request belongs to shard {}: "
                    "give the router the key that is in the request",
                    said.shard->value, shard.value));
  }
  return grpc::Status::OK;
}

grpc::Status OwnerGuard::Impl::Refuse(ShardId shard) {
  NodeId self;
  std::optional<LeaderHint> hint = OwnHint(shard, &self);
  if (options_.hints) hint = options_.hints(shard);
  if (!hint) return NoLeader(shard, "this node does not lead it, and does not know who does");
  if (hint->leader.empty()) return NoLeader(shard, "nobody leads it at the moment");
  if (hint->leader == self) {
    return NoLeader(shard, "this node's leadership is suspended or about to end");
  }
  misroutes_.fetch_add(1, std::memory_order_relaxed);
  // Callers use the shard and the group to tell that the refusal is about their own call. So the
  // guard sets them itself, even if the application gave the hint.
  hint->shard = shard;
  if (const Facts* known = facts()) hint->group = known->group;
  return NotLeaderStatus(*hint);
}

std::optional<LeaderHint> OwnerGuard::Impl::OwnHint(ShardId shard, NodeId* self) {
  const std::lock_guard lock(mutex_);
  *self = self_;
  if (routes_.empty()) return std::nullopt;
  const runtime::ViewRoute& route = routes_[shard.value];
  if (route.leader == nullptr) return LeaderHint{shard, {}, {}, {}};
  return LeaderHint{shard, route.leader->node, route.leader->address, route.term};
}

OwnerGuard::OwnerGuard(Node& node, OwnerGuardOptions options)
    : impl_(std::make_shared<Impl>(node.control(), std::move(options))) {
  node.control().AddRouteObserver(impl_);
}

OwnerGuard::~OwnerGuard() { impl_->Leave(); }

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
