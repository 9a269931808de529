// A node's metrics for the prometheus-cpp exposer of the embedding program. Opt-in: needs
// prometheus-cpp (core); find_package(baton COMPONENTS prometheus), link baton::prometheus.
//
//   const baton::MetricsCollectables metrics = baton::Collectables(*node);
//   exposer.RegisterCollectable(metrics.node);  // beside your registry
//
// Keep `metrics` as long as the exposer should show it: an exposer keeps only weak pointers.
//
// Each scrape asks the collectable for its values. The values may be 50 ms old, and up to 10 s old
// in a group of very many shards. An Exposer and a Gateway take collectables as well as registries.
// A Registry can't hold collectables. So if a server of your own serves a Registry, append the
// families of each collectable's Collect() to those of the Registry's Collect().
//
// Call Collectables once for a node, right after Node::Start: histograms and the counts of shards
// lack the events before the call. Each further call costs memory as long as the node lives. Two
// nodes of one group in one process need an exposer each, because the labels of their series are
// the same (docs/reference.md). Functions and collectables are thread-safe. In a forked child
// Collect may hang. If a call breaks a REQUIRES (checked), the program aborts.
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

/// A node's metrics as collectables. Collect asks the node, and blocks for up to a second. If the
/// node has not answered by then, Collect returns the last known values, or nothing before the
/// node's first answer. After Node::Stop, counters keep their last values, and gauges show a node
/// without a session. REQUIRES: the node outlives the collectables.
struct MetricsCollectables {
  /// The series of the node itself. All have the label `group`. Their number does not depend on the
  /// number of shards.
  std::shared_ptr<prometheus::Collectable> node;
  /// The series of the shards that this node leads, also while it is suspended: three or more for
  /// each shard. They have the labels `group` and `shard`; baton_shard_transitions_total also has
  /// `reason`. There are at most `max_shard_series` of these series. 0: none. A number above
  /// 100,000,000 counts as 100,000,000. If the series of a shard don't fit, the series of this
  /// shard and of all shards with higher numbers are left out.
  ///
  /// One more series has only the label `group`: baton_shard_series_cut. Its value is the number of
  /// series that were left out.
  std::shared_ptr<prometheus::Collectable> shards;
};
BATON_EXPORT MetricsCollectables Collectables(Node& node, std::size_t max_shard_series = 50'000);

/// The metric baton_stale_terms_total{group}: FenceGuard::refused() of `guard`. Use it for at most
/// one guard per group. REQUIRES (checked): `guard` is not null.
BATON_EXPORT std::shared_ptr<prometheus::Collectable> StaleTerms(
    std::shared_ptr<const FenceGuard> guard, std::string group);

/// The metric baton_misroutes_total{group}: let `count` return OwnerGuard::misroutes(). Use it for
/// at most one guard per group. Each scrape calls `count` on its own thread, and several scrapes
/// may run at once. REQUIRES: `count` is not empty (checked); it never throws; the objects that it
/// uses outlive the collectable.
BATON_EXPORT std::shared_ptr<prometheus::Collectable> Misroutes(
    std::function<std::uint64_t()> count, std::string group);

/// A router's metrics, with the label `group`. RouterCounters and RoutesAge (baton/routes.h)
/// explain the values. All names begin with baton_router_: calls_total{result}, attempts_total,
/// misroutes_total, redirects_total, waits_total, superseded_total, intercepted_calls_total,
/// intercepted_misroutes_total, reconnects_total, streams_total{start}, revision, stale,
/// age_seconds. Let `counters` return Router::counters(), and `age` return Router::Age(). Each
/// scrape calls both functions on its own thread, and several scrapes may run at once. Use it for
/// at most one router per group. REQUIRES: the functions are not empty (checked), and never throw;
/// the router outlives the collectable.
BATON_EXPORT std::shared_ptr<prometheus::Collectable> RouterCollectable(
    std::function<RouterCounters()> counters, std::function<RoutesAge()> age, std::string group);

}  // namespace baton
