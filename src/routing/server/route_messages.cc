#include "routing/server/route_messages.h"

#include <google/protobuf/arena.h>

#include <algorithm>
#include <unordered_map>
#include <utility>

#include "routing/route_digest.h"

namespace baton::routing {
namespace {

using runtime::RouteGroup;
using runtime::RouteNode;
using runtime::ViewRoute;
using runtime::ViewStandby;

v1::Route::State StateOf(ShardState state) {
  switch (state) {
    case ShardState::kLed: return v1::Route::STATE_LED;
    case ShardState::kActivating: return v1::Route::STATE_ACTIVATING;
    case ShardState::kMoving: return v1::Route::STATE_MOVING;
    case ShardState::kSuspended: return v1::Route::STATE_SUSPENDED;
    case ShardState::kLeaderless: return v1::Route::STATE_LEADERLESS;
  }
  return v1::Route::STATE_UNSPECIFIED;
}

v1::KeyMapping::Hash HashOf(HashFunction hash) {
  switch (hash) {
    case HashFunction::kMurmur2: return v1::KeyMapping::HASH_MURMUR2;
    case HashFunction::kXxh3Jump: return v1::KeyMapping::HASH_XXH3_JUMP;
    case HashFunction::kModulo: return v1::KeyMapping::HASH_MODULO;
  }
  return v1::KeyMapping::HASH_UNSPECIFIED;
}

void Fill(const ViewRoute& route, v1::Route* proto) {
  proto->set_shard(route.shard.value);
  proto->set_term(route.term.value);
  proto->set_state(StateOf(route.state));
  proto->set_revision(route.revision.value);
  if (route.standbys == nullptr) return;
  for (const ViewStandby& standby : *route.standbys) {
    proto->add_standbys()->set_ready(standby.ready);
  }
}

/// The nodes of one message, each once.
class NamedNodes {
 public:
  explicit NamedNodes(v1::WatchRoutesResponse& message) : message_(message) {}

  /// Returns the node's index in the message, plus 1.
  std::uint32_t Add(const RouteNode& node) {
    const auto [index, added] = indices_.try_emplace(&node, indices_.size() + 1);
    if (added) {
      v1::RouteNode* const proto = message_.add_nodes();
      proto->set_node(node.node);
      proto->set_address(node.address);
    }
    return index->second;
  }

 private:
  v1::WatchRoutesResponse& message_;
  std::unordered_map<const RouteNode*, std::uint32_t> indices_;
};

void NameNodes(const ViewRoute& route, NamedNodes& nodes, v1::Route* proto) {
  if (route.leader != nullptr) proto->set_leader(nodes.Add(*route.leader));
  if (route.standbys == nullptr) return;
  for (int i = 0; i < proto->standbys_size(); ++i) {
    const ViewStandby& standby = (*route.standbys)[static_cast<std::size_t>(i)];
    proto->mutable_standbys(i)->set_node(nodes.Add(*standby.node));
  }
}

template <typename Message>
Bytes Serialize(const Message& message) {
  return std::make_shared<const std::string>(message.SerializeAsString());
}

}  // namespace

v1::KeyMapping MappingOf(const RouteGroup& group) {
  v1::KeyMapping mapping;
  mapping.set_shards(group.shards);
  mapping.set_hash(HashOf(group.hash));
  return mapping;
}

v1::Route ToProto(const ViewRoute& route) {
  v1::Route proto;
  Fill(route, &proto);
  return proto;
}

google::protobuf::Duration ToProto(Duration duration) {
  constexpr std::int64_t kSecond = 1'000'000'000;
  google::protobuf::Duration proto;
  proto.set_seconds(duration.count() / kSecond);
  proto.set_nanos(static_cast<std::int32_t>(duration.count() % kSecond));
  return proto;
}

Bytes EncodeOpening(const RouteGroup& group, bool anew) {
  v1::WatchRoutesResponse message;
  message.set_group(group.group);
  *message.mutable_mapping() = MappingOf(group);
  message.set_cluster(group.incarnation);
  message.set_server(group.server);
  message.set_anew(anew);
  return Serialize(message);
}

Bytes EncodeRoutes(const std::vector<const ViewRoute*>& routes) {
  google::protobuf::Arena arena;  // thousands of small messages
  auto& message = *google::protobuf::Arena::CreateMessage<v1::WatchRoutesResponse>(&arena);
  message.mutable_routes()->Reserve(static_cast<int>(routes.size()));
  NamedNodes nodes(message);
  for (const ViewRoute* route : routes) {
    v1::Route* const proto = message.add_routes();
    Fill(*route, proto);
    NameNodes(*route, nodes, proto);
  }
  return Serialize(message);
}

Bytes EncodeWords(const ViewWords& words) {
  v1::WatchRoutesResponse message;
  message.set_snapshot_end(words.snapshot_end);
  message.set_complete_to(words.complete_to.value);
  *message.mutable_age() = ToProto(words.age);
  message.set_stale(words.stale);
  if (!words.check.empty()) message.set_check(std::string(words.check));
  return Serialize(message);
}

std::string DigestOf(const std::vector<const ViewRoute*>& routes) {
  // Few nodes have very many routes, and an address is not cheap to check.
  std::unordered_map<const RouteNode*, std::string_view> addresses;
  const auto address_of = [&](const RouteNode& node) {
    const auto [known, added] = addresses.try_emplace(&node);
    if (added) known->second = DigestedAddress(node.address);
    return known->second;
  };
  RouteDigest digest;
  for (const ViewRoute* route : routes) {
    if (route->leader == nullptr) {
      digest.Add(Term{}, {}, {});
    } else {
      digest.Add(route->term, route->leader->node, address_of(*route->leader));
    }
    if (route->standbys == nullptr) continue;
    const auto kept = std::min<std::size_t>(route->standbys->size(), kMaxStandbysKept);
    for (std::size_t i = 0; i < kept; ++i) {
      const ViewStandby& standby = (*route->standbys)[i];
      digest.AddStandby(standby.node->node, address_of(*standby.node), standby.ready);
    }
  }
  return digest.Finish();
}

}  // namespace baton::routing
