#include "routing/client/merged_routes.h"

#include <algorithm>
#include <optional>

#include <fmt/format.h>

#include "base/escape.h"
#include "base/text_rules.h"
#include "routing/request_metadata.h"

namespace baton::routing {
namespace {

Error Off(std::string what) { return {ErrorCode::kInvalidArgument, std::move(what)}; }

std::optional<HashFunction> HashOf(v1::KeyMapping::Hash hash) {
  switch (hash) {
    case v1::KeyMapping::HASH_MURMUR2: return HashFunction::kMurmur2;
    case v1::KeyMapping::HASH_XXH3_JUMP: return HashFunction::kXxh3Jump;
    case v1::KeyMapping::HASH_MODULO: return HashFunction::kModulo;
    default: return std::nullopt;
  }
}

// A state of a newer version reads as led: somebody leads, and says for itself what it does.
ShardState StateOf(v1::Route::State state) {
  switch (state) {
    case v1::Route::STATE_ACTIVATING: return ShardState::kActivating;
    case v1::Route::STATE_MOVING: return ShardState::kMoving;
    case v1::Route::STATE_SUSPENDED: return ShardState::kSuspended;
    default: return ShardState::kLed;
  }
}

/// The state may end although the route's revision stays: see RouteHub.
bool MayEndUnseen(ShardState state) {
  return state == ShardState::kActivating || state == ShardState::kSuspended ||
         state == ShardState::kMoving;
}

std::shared_ptr<const StandbyLists> ListsOf(
    const std::vector<std::vector<StandbyEntry>>& standbys) {
  auto lists = std::make_shared<StandbyLists>();
  lists->begins.reserve(standbys.size() + 1);
  for (const std::vector<StandbyEntry>& each : standbys) {
    lists->begins.push_back(static_cast<std::uint32_t>(lists->entries.size()));
    lists->entries.insert(lists->entries.end(), each.begin(), each.end());
  }
  lists->begins.push_back(static_cast<std::uint32_t>(lists->entries.size()));
  return lists;
}

// No address holds a line end, nor does a node's name.
std::string KeyOf(const v1::RouteNode& node) {
  return fmt::format("{}\n{}", node.node(), DigestedAddress(node.address()));
}

std::string ToString(const KeyMapping& mapping) {
  return fmt::format("{} shards by {}", mapping.shards, baton::ToString(mapping.hash));
}

}  // namespace

v1::WatchRoutesRequest MergedRoutes::BeginStream() {
  begun_ = false;
  resumed_ = false;
  checked_ = false;
  doubted_ = false;
  v1::WatchRoutesRequest request;
  request.set_group(group_);
  request.set_after_revision(complete_to_);
  request.set_cluster(incarnation_);
  return request;
}

Status MergedRoutes::Apply(const v1::WatchRoutesResponse& message) {
  if (!begun_) {
    if (Status checked = CheckFirst(message); !checked) return checked;
  }
  if (Status checked = CheckRoutes(message); !checked) return checked;
  if (!begun_) TakeFirst(message);
  std::vector<std::uint32_t> nodes;
  nodes.reserve(static_cast<std::size_t>(message.nodes_size()));
  for (const v1::RouteNode& node : message.nodes()) nodes.push_back(Intern(node));
  for (const v1::Route& route : message.routes()) Take(route, nodes);
  if (doubted_) return Ok();
  complete_to_ = std::max(complete_to_, message.complete_to());
  // One for each stream: it takes some milliseconds.
  const bool checks = resumed_ && message.complete_to() > 0 && !message.check().empty();
  if (checks && !std::exchange(checked_, true)) TakeCheck(message);
  return Ok();
}

Status MergedRoutes::CheckFirst(const v1::WatchRoutesResponse& message) const {
  if (message.group() != group_) {
    return Error{ErrorCode::kNotFound,
                 fmt::format("serves group '{}', not '{}': name endpoints of that group",
                             OneLine(message.group(), kLongestName), group_)};
  }
  const auto hash = HashOf(message.mapping().hash());
  const std::uint32_t shards = message.mapping().shards();
  if (!hash || shards == 0 || shards > kMaxShards) {
    return Off(
        fmt::format("maps keys in a way that this version does not know ({} shards, function {}): "
                    "if this program is older than the group, update it",
                    shards, static_cast<int>(message.mapping().hash())));
  }
  const KeyMapping told{shards, *hash};
  if (mapped() && told != mapping()) {
    return Error{
        ErrorCode::kFailedPrecondition,
        fmt::format("maps keys to {}, but this router's routes are for {}: it is another group of "
                    "this name; if the group was created again, restart this program",
                    ToString(told), ToString(mapping()))};
  }
  return Ok();
}

Status MergedRoutes::CheckRoutes(const v1::WatchRoutesResponse& message) const {
  const std::uint32_t shards = begun_ ? mapping().shards : message.mapping().shards();
  const auto nodes = static_cast<std::uint32_t>(message.nodes_size());
  if (Status checked = CheckNodes(message); !checked) return checked;
  const auto routes = static_cast<std::uint32_t>(message.routes_size());
  if (routes > shards) {
    return Off(fmt::format("sent {} routes of {} shards in a message", routes, shards));
  }
  for (const v1::Route& route : message.routes()) {
    const bool led = route.leader() != 0;
    if (route.shard() >= shards || route.leader() > nodes || route.revision() < 0 ||
        (led && route.term() <= 0)) {
      return Off(fmt::format("sent an invalid route: shard {} of {}, leader {} of {}, term {}",
                             route.shard(), shards, route.leader(), nodes, route.term()));
    }
    for (const v1::RouteStandby& standby : route.standbys()) {
      if (standby.node() != 0 && standby.node() <= nodes) continue;
      return Off(fmt::format("sent an invalid route: shard {}, standby {} of {}", route.shard(),
                             standby.node(), nodes));
    }
  }
  if (message.complete_to() < 0 || (message.snapshot_end() && message.complete_to() == 0)) {
    return Off("ended its snapshot at the invalid revision " +
               std::to_string(message.complete_to()));
  }
  return Ok();
}

Status MergedRoutes::CheckNodes(const v1::WatchRoutesResponse& message) const {
  for (const v1::RouteNode& node : message.nodes()) {
    // Of names only what any caller can bear: a later version may have others than IsName takes.
    if (!IsVisibleText(node.node(), kLongestName)) {
      return Off(
          fmt::format("sent an invalid node (its name has {} characters)", node.node().size()));
    }
  }
  const std::size_t room = most_nodes_ - std::min(most_nodes_, names_.size());
  if (static_cast<std::size_t>(message.nodes_size()) <= room) return Ok();
  const auto added =
      std::count_if(message.nodes().begin(), message.nodes().end(),
                    [this](const v1::RouteNode& node) { return !index_.contains(KeyOf(node)); });
  if (static_cast<std::size_t>(added) <= room) return Ok();
  if (most_nodes_ < kMaxRouteNodes) return Off("has named too many new nodes at once");
  return Off(fmt::format("has named more than {} nodes: restart this program", kMaxRouteNodes));
}

void MergedRoutes::TakeFirst(const v1::WatchRoutesResponse& message) {
  begun_ = true;
  hash_ = *HashOf(message.mapping().hash());
  const std::size_t shards = message.mapping().shards();
  entries_.resize(shards);
  revisions_.resize(shards, 0);
  changes_.resize(shards, 0);
  const bool anew = message.anew() || message.cluster() != incarnation_;
  resumed_ = !anew && complete_to_ > 0;
  incarnation_ = message.cluster();
  // Whatever is known, this stream brings all routes.
  if (!resumed_) std::fill(revisions_.begin(), revisions_.end(), 0);
  if (anew) {
    complete_to_ = 0;
    for (std::size_t shard = 0; shard < shards; ++shard) Set(shard, RouteEntry{});
    standbys_.clear();
    published_standbys_ = nullptr;
    return;
  }
  for (std::size_t shard = 0; shard < shards; ++shard) {
    RouteEntry entry = entries_[shard];
    if (!MayEndUnseen(entry.state)) continue;
    entry.state = ShardState::kLed;
    Set(shard, entry);
  }
}

// The server's view is newer than all that other servers told. So true routes are equal to its own,
// and were the same at the revision of its view.
void MergedRoutes::TakeCheck(const v1::WatchRoutesResponse& message) {
  if (Digest() != message.check()) {
    doubted_ = true;
    complete_to_ = 0;
    return;
  }
  complete_to_ = message.complete_to();
  for (std::int64_t& revision : revisions_) revision = std::min(revision, complete_to_);
}

std::string MergedRoutes::Digest() const {
  RouteDigest digest;
  for (std::size_t shard = 0; shard < entries_.size(); ++shard) {
    const RouteEntry& entry = entries_[shard];
    if (entry.leader == kNobodyLeads) {
      digest.Add(Term{}, {}, {});
    } else {
      const auto& [name, address] = names_[entry.leader];
      digest.Add(Term{entry.term}, name, address);
    }
    if (standbys_.empty()) continue;
    for (const StandbyEntry& standby : standbys_[shard]) {
      const auto& [name, address] = names_[standby.node];
      digest.AddStandby(name, address, standby.ready);
    }
  }
  return digest.Finish();
}

void MergedRoutes::Take(const v1::Route& route, const std::vector<std::uint32_t>& nodes) {
  const std::size_t shard = route.shard();
  if (route.revision() < revisions_[shard]) return TakeState(route, nodes);
  revisions_[shard] = route.revision();
  TakeStandbys(route, nodes);
  if (route.leader() == 0) return Set(shard, RouteEntry{});
  Set(shard, {route.term(), nodes[route.leader() - 1], StateOf(route.state())});
}

void MergedRoutes::TakeStandbys(const v1::Route& route, const std::vector<std::uint32_t>& nodes) {
  if (standbys_.empty()) {
    if (route.standbys_size() == 0) return;
    standbys_.resize(entries_.size());
  }
  const int kept = std::min(route.standbys_size(), kMaxStandbysKept);
  std::vector<StandbyEntry> told;
  told.reserve(static_cast<std::size_t>(kept));
  for (int i = 0; i < kept; ++i) {
    const v1::RouteStandby& standby = route.standbys(i);
    told.push_back({nodes[standby.node() - 1], standby.ready()});
  }
  std::vector<StandbyEntry>& known = standbys_[route.shard()];
  if (told == known) return;
  known = std::move(told);
  published_standbys_ = nullptr;
}

// A state that may end unseen has the revision of the server's view. Other views may be ahead.
void MergedRoutes::TakeState(const v1::Route& route, const std::vector<std::uint32_t>& nodes) {
  RouteEntry entry = entries_[route.shard()];
  if (route.leader() == 0 || entry.term != route.term()) return;
  if (nodes_[nodes[route.leader() - 1]].node != nodes_[entry.leader].node) return;
  const ShardState told = StateOf(route.state());
  if (!MayEndUnseen(told) && !MayEndUnseen(entry.state)) return;
  entry.state = told;
  Set(route.shard(), entry);
}

void MergedRoutes::Set(std::size_t shard, const RouteEntry& entry) {
  if (entries_[shard] == entry) return;
  entries_[shard] = entry;
  ++changes_[shard];
}

std::uint32_t MergedRoutes::Intern(const v1::RouteNode& node) {
  // One bad record in etcd must not cost all routes: its node's routes have no address.
  const auto [place, added] =
      index_.try_emplace(KeyOf(node), static_cast<std::uint32_t>(names_.size()));
  if (!added) return place->second;
  const auto& [name, address] = names_.emplace_back(node.node(), DigestedAddress(node.address()));
  const bool usable = IsUsable(address, addresses_);
  nodes_.push_back({name, usable ? std::string_view(address) : std::string_view()});
  published_nodes_ = nullptr;
  return place->second;
}

std::shared_ptr<const RouteTable> MergedRoutes::Table() {
  if (published_nodes_ == nullptr) {
    published_nodes_ = std::make_shared<const std::vector<NodeEntry>>(nodes_);
  }
  if (published_standbys_ == nullptr && !standbys_.empty()) {
    published_standbys_ = ListsOf(standbys_);
  }
  return std::make_shared<const RouteTable>(mapping(), entries_, published_nodes_,
                                            published_standbys_);
}

}  // namespace baton::routing
