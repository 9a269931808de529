// Opt-in: a node's metrics on the embedding program's own prometheus-cpp registry or exposer.
// Needs prometheus-cpp (core); link baton_metrics.
//
//   auto registration = baton::RegisterMetrics(*registry, *node);
//
// Two ways, by what the program has:
//   - an exposer (or anything that takes collectables): Collectables(). Exact at each scrape.
//   - a registry: RegisterMetrics(). A registry of prometheus-cpp can't ask for values at a scrape,
//     so a thread copies them every MetricsOptions::refresh.
// Call right after Node::Start: durations of transitions that happened before are not counted.
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>

#include <prometheus/collectable.h>
#include <prometheus/registry.h>

#include "baton/export.h"
#include "baton/fencing.h"
#include "baton/node.h"
#include "baton/result.h"
#include "baton/routes.h"

namespace baton {

struct MetricsOptions {
  /// Also the series of each shard led here, labels `group` and `shard`: four or more a shard.
  bool shards = false;
  /// At most so many of these; baton_shard_series_cut says how many more there were.
  std::size_t max_shard_series = 50'000;
  /// How often the registry's values are brought up to date, at least 10 ms.
  std::chrono::milliseconds refresh{1000};
};

/// Keeps the registry's series up to date while it lives, and takes them out again at its end.
/// REQUIRES: destroyed before the node and before the registry.
class MetricsRegistration {
 public:
  virtual ~MetricsRegistration() = default;
  /// Brings the series up to date now. Thread-safe; waits up to a second for the node.
  virtual void Refresh() = 0;
};

/// kInvalidArgument: the registry holds one of the names with another type, or `refresh` is too
/// short. At most one registration a node and registry; several nodes may share a registry.
BATON_EXPORT Result<std::unique_ptr<MetricsRegistration>> RegisterMetrics(
    prometheus::Registry& registry, Node& node, MetricsOptions options = {});

/// A node's metrics as collectables; the node must outlive them. Collect waits up to a second for
/// the node, then gives its last picture, and nothing before the node's first.
struct MetricsCollectables {
  std::shared_ptr<prometheus::Collectable> node;  ///< label `group`
  /// Labels `group` and `shard`; at most `max_shard_series` of them.
  std::shared_ptr<prometheus::Collectable> shards;
};
BATON_EXPORT MetricsCollectables Collectables(Node& node, std::size_t max_shard_series = 50'000);

/// baton_stale_terms_total{group}: how often a guard of yours refused. One guard a group.
BATON_EXPORT std::shared_ptr<prometheus::Collectable> StaleTerms(
    std::shared_ptr<const FenceGuard> guard, std::string group);

/// baton_misroutes_total{group}: how often a guard of requests said NOT_LEADER. `count` is
/// OwnerGuard::misroutes of yours, and is called at each scrape.
BATON_EXPORT std::shared_ptr<prometheus::Collectable> Misroutes(
    std::function<std::uint64_t()> count, std::string group);

/// A router's baton_router_... families, label `group`: calls_total{result}, attempts_total,
/// misroutes_total, redirects_total, waits_total, superseded_total, own_calls_total,
/// own_misroutes_total (see RouterCounters), reconnects_total, streams_total{start}, revision,
/// stale, age_seconds. The functions are Router::counters and Router::Age of yours, and are called
/// at each scrape. One router a group.
BATON_EXPORT std::shared_ptr<prometheus::Collectable> RouterCollectable(
    std::function<RouterCounters()> counters, std::function<RoutesAge()> age, std::string group);

}  // namespace baton
