// routes: the messages of a stream of routes (WatchRoutesResponse), one after another, as a router
// merges them.
//
// Must hold: a refused message changes nothing, and the refusal is one line. A shard's route never
// goes back to an older term, unless a new stream begins. A revision goes back by a check alone.
// Tables show what was merged.
#include <map>
#include <utility>
#include <vector>

#include "fuzz/targets.h"
#include "routing/client/merged_routes.h"

namespace baton::fuzz {
namespace {

namespace v1 = ::baton::v1;

// More shards would only take longer.
constexpr std::uint32_t kMaxShards = 4096;
constexpr std::size_t kMaxMessages = 32;

struct Seen {
  bool mapped = false;
  std::int64_t revision = 0;
  bool begun = false;
  std::map<std::uint32_t, std::uint64_t> changes;               // by shard
  std::map<std::uint32_t, std::vector<RouteStandby>> standbys;  // by shard; only of those with some
  friend bool operator==(const Seen&, const Seen&) = default;
};

Seen Look(routing::MergedRoutes& routes) {
  Seen seen{.mapped = routes.mapped(),
            .revision = routes.revision().value,
            .begun = routes.begun(),
            .changes = {},
            .standbys = {}};
  if (!seen.mapped) return seen;
  const auto table = routes.Table();
  for (std::uint32_t shard = 0; shard < routes.mapping().shards; ++shard) {
    seen.changes[shard] = routes.changes(ShardId{shard});
    auto standbys = table->StandbysOf(ShardId{shard});
    if (!standbys.empty()) seen.standbys[shard] = std::move(standbys);
  }
  return seen;
}

void MustBeUsable(std::string_view address) {
  Must(address.empty() || routing::IsUsable(address, routing::LeaderAddresses::kHostsAndPorts),
       "a router connects to hosts and ports alone", address);
}

void MustBeFewAndNamed(const std::vector<RouteStandby>& standbys) {
  Must(standbys.size() <= static_cast<std::size_t>(routing::kMaxStandbysKept),
       "a shard has few standbys");
  for (const RouteStandby& standby : standbys) {
    Must(!standby.node.empty(), "a standby has a name");
    MustBeUsable(standby.address);
  }
}

void MustShowWhatWasMerged(routing::MergedRoutes& routes) {
  const auto table = routes.Table();
  Must(table->mapping() == routes.mapping(), "a table maps keys as its group does");
  for (std::uint32_t shard = 0; shard < routes.mapping().shards; ++shard) {
    const routing::RouteEntry& entry = routes.entry(ShardId{shard});
    const Route route = table->Find(ShardId{shard});
    MustBeFewAndNamed(table->StandbysOf(ShardId{shard}));
    if (entry.leader == routing::kNobodyLeads) {
      Must(route.leader.empty() && route.state == ShardState::kLeaderless,
           "a vacancy shows as one");
      continue;
    }
    const routing::NodeEntry& leader = routes.node(entry.leader);
    Must(route.term.value == entry.term && route.leader == leader.node &&
             route.address == leader.address && route.state == entry.state,
         "a table has the routes that were merged");
    Must(entry.term > 0, "who leads has a term");
    MustBeUsable(leader.address);
  }
  Must(table->Find(ShardId{routes.mapping().shards}).leader.empty(),
       "nobody leads a shard that there is not");
  Must(table->StandbysOf(ShardId{routes.mapping().shards}).empty(),
       "nobody stands by for a shard that there is not");
}

void Apply(routing::MergedRoutes& routes, v1::WatchRoutesResponse message) {
  if (message.mapping().shards() > kMaxShards && message.mapping().shards() <= baton::kMaxShards) {
    message.mutable_mapping()->set_shards(message.mapping().shards() % kMaxShards + 1);
  }
  const Seen before = Look(routes);
  const Status applied = routes.Apply(message);
  if (!applied) {
    Must(Look(routes) == before, "of a refused message nothing counts", applied.error().message);
    return Must(!applied.error().message.empty(), "a refusal has words");
  }
  Must(routes.mapped(), "after a first message keys are mapped");
  const bool anew = !before.begun;
  Must(anew || !message.check().empty() || routes.revision().value >= before.revision,
       "within a stream no revision goes back without a check");
  Must(!routes.doubted() || (routes.resumed() && !routes.complete()),
       "what is doubted is not complete, and did not begin with all routes");
  MustShowWhatWasMerged(routes);
}

v1::WatchRoutesResponse First() {
  v1::WatchRoutesResponse first;
  first.set_group("orders");
  first.set_cluster(99);
  first.mutable_mapping()->set_shards(3);
  first.mutable_mapping()->set_hash(v1::KeyMapping::HASH_MURMUR2);
  v1::RouteNode& node = *first.add_nodes();
  node.set_node("n1");
  node.set_address("127.0.0.1:7400");
  v1::Route& route = *first.add_routes();
  route.set_shard(1);
  route.set_term(800);
  route.set_leader(1);
  route.set_revision(900);
  route.set_state(v1::Route::STATE_ACTIVATING);
  first.set_snapshot_end(true);
  first.set_complete_to(900);
  return first;
}

}  // namespace

void RunRoutes(std::string_view bytes) {
  Input input(bytes);
  routing::MergedRoutes routes("orders");
  routes.BeginStream();
  for (std::size_t i = 0; i < kMaxMessages && !input.empty(); ++i) {
    if (input.Choice(8) == 0) routes.BeginStream();
    v1::WatchRoutesResponse message;
    const std::string_view part = input.Part();
    if (!message.ParseFromArray(part.data(), static_cast<int>(part.size()))) return;
    Apply(routes, std::move(message));
    if (routes.doubted()) routes.BeginStream();
  }
}

std::vector<Seed> RoutesSeeds() {
  const auto of = [](char begin, const v1::WatchRoutesResponse& message) {
    return std::string(1, begin) + PartBytes(message.SerializeAsString());
  };
  v1::WatchRoutesResponse next;
  *next.add_nodes() = First().nodes(0);
  v1::Route& route = *next.add_routes();
  route = First().routes(0);
  route.set_state(v1::Route::STATE_LED);
  route.set_term(INT64_MAX);
  next.set_complete_to(950);
  v1::WatchRoutesResponse other = First();
  other.mutable_mapping()->set_shards(4);
  v1::WatchRoutesResponse socket = First();
  socket.mutable_nodes(0)->set_address("unix:/run/n1.sock");
  v1::WatchRoutesResponse resolver = First();
  resolver.mutable_nodes(0)->set_address("dns:7400");
  v1::WatchRoutesResponse standby = First();
  v1::RouteNode& node = *standby.add_nodes();
  node.set_node("n2");
  node.set_address("127.0.0.1:7500");
  v1::RouteStandby& ready = *standby.mutable_routes(0)->add_standbys();
  ready.set_node(2);
  ready.set_ready(true);
  routing::RouteDigest digest;
  digest.Add(Term{}, {}, {});
  digest.Add(Term{800}, "n1", "127.0.0.1:7400");
  digest.Add(Term{}, {}, {});
  v1::WatchRoutesResponse same;
  same.set_complete_to(890);
  same.set_check(digest.Finish());
  v1::WatchRoutesResponse differs = same;
  differs.set_check("not a digest");
  return {{"first", of(1, First())},
          {"standby", of(1, standby)},
          {"address-of-a-socket", of(1, socket)},
          {"address-of-a-resolver", of(1, resolver)},
          {"first-next", of(1, First()) + of(1, next)},
          {"again", of(1, First()) + of(0, First())},
          {"check", of(1, First()) + of(0, First()) + of(1, same)},
          {"check-differs", of(1, First()) + of(0, First()) + of(1, differs) + of(0, First())},
          {"other-count", of(1, First()) + of(0, other)}};
}

}  // namespace baton::fuzz
