// A node's metrics for the prometheus-cpp exposer of the embedding program. Opt-in: needs
// prometheus-cpp (core); find_package(baton COMPONENTS prometheus), link baton::prometheus.
//
//   const baton::MetricsCollectables metrics = baton::Collectables(*node);
//   exposer.RegisterCollectable(metrics.node);  // beside your registry
//
// Keep `metrics` while an exposer should scrape it, because an exposer has only weak pointers.
//
// Each scrape asks the collectable for its values. They are at most 50 ms old, in a group of very
// many shards up to 10 s. An Exposer and a Gateway take collectables and registries alike. A
// Registry can't hold collectables. So if a server of your own serves a Registry, append each
// collectable's Collect() to the Registry's.
//
// Call Collectables once for a node, right after Node::Start. Events are counted from then on. Each
// further call costs memory until the node ends. Two nodes of one group need an exposer each: the
// labels of their series are the same (docs/reference.md). Functions and collectables are
// thread-safe. In a forked child Collect may hang.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>

#include <prometheus/collectable.h>

#include "baton/export.h"
#include "baton/fencing.h"
#include "baton/node.h"
#include "baton/routes.h"

namespace baton {

/// A node's metrics as collectables. REQUIRES: the node outlives them. A collectable's Collect asks
/// the node and blocks for up to a second. If the node does not answer by then, Collect returns the
/// last known values, or nothing before the node's first answer. After Node::Stop, counters keep
/// their last values, and gauges show a node without a session.
struct MetricsCollectables {
  std::shared_ptr<prometheus::Collectable> node;  ///< label `group`
  /// The series of each shard that this node leads: three or more a shard, labels `group` and
  /// `shard`. At most `max_shard_series` series; 0 means none, and a number above 100,000,000
  /// counts as that. If the series of a shard don't fit, they are left out, and so are those of all
  /// shards with higher numbers. baton_shard_series_cut says how many series were left out.
  std::shared_ptr<prometheus::Collectable> shards;
};
BATON_EXPORT MetricsCollectables Collectables(Node& node, std::size_t max_shard_series = 50'000);

/// baton_stale_terms_total{group}: FenceGuard::refused() of your guard. Use it for at most one
/// guard per group. REQUIRES: `guard` is not null; otherwise the program aborts.
BATON_EXPORT std::shared_ptr<prometheus::Collectable> StaleTerms(
    std::shared_ptr<const FenceGuard> guard, std::string group);

/// baton_misroutes_total{group}: let `count` return OwnerGuard::misroutes(). Use it for at most
/// one guard per group. Each scrape calls `count` on its own thread, maybe several at once.
/// REQUIRES: `count` is not empty (otherwise the program aborts) and never throws; what it uses
/// outlives the collectable.
BATON_EXPORT std::shared_ptr<prometheus::Collectable> Misroutes(
    std::function<std::uint64_t()> count, std::string group);

/// A router's families, label `group`; see RouterCounters and RoutesAge for what they count. All
/// names begin with baton_router_: calls_total{result}, attempts_total, misroutes_total,
/// redirects_total, waits_total, superseded_total, intercepted_calls_total,
/// intercepted_misroutes_total, reconnects_total, streams_total{start}, revision, stale,
/// age_seconds. Let `counters` and `age` return Router::counters() and Router::Age(). Each scrape
/// calls both on its own thread, maybe several scrapes at once. Use it for at most one router per
/// group. REQUIRES: the functions are not empty (otherwise the program aborts) and never throw; the
/// router outlives the collectable.
BATON_EXPORT std::shared_ptr<prometheus::Collectable> RouterCollectable(
    std::function<RouterCounters()> counters, std::function<RoutesAge()> age, std::string group);

}  // namespace baton
