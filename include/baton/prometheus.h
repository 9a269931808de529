// A node's metrics for the prometheus-cpp registry or exposer of the embedding program. Opt-in:
// needs prometheus-cpp (core); find_package(baton COMPONENTS prometheus), link baton::prometheus.
//
//   auto registration = baton::RegisterMetrics(*registry, *node);
//   if (!registration) return Fail(registration.error().message);
//
// Choose by what the program has:
//
// An exposer, or anything else that takes collectables: Collectables(). Exact at each scrape.
//
// A registry: RegisterMetrics(). A registry of prometheus-cpp can't ask for values at a scrape, so
// a thread copies them every MetricsOptions::refresh.
//
// Call either function right after Node::Start: events before the call are missing from the
// histograms and from the counts of shards. Names and labels are listed in docs/reference.md. All
// functions are thread-safe.
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
  /// Whether to add the series of each shard that this node leads (labels `group` and `shard`):
  /// four or more a shard.
  bool shards = false;
  /// The most series of shards. If a shard's series don't fit, the series of all further shards are
  /// left out, too; baton_shard_series_cut says how many series were left out.
  std::size_t max_shard_series = 50'000;
  /// How often the registry's values are updated: at least 10 ms.
  std::chrono::milliseconds refresh{1000};
};

/// Keeps the registry's series up to date while it lives; its destructor removes them.
/// REQUIRES: destroyed before the node and before the registry.
class MetricsRegistration {
 public:
  virtual ~MetricsRegistration() = default;
  /// Updates the series now, for example before the program's own scrape. Thread-safe. Blocks until
  /// the node answers, for up to a second for each source (two with MetricsOptions::shards).
  /// Throws std::invalid_argument if the program has meanwhile registered one of the names itself
  /// with another type.
  virtual void Refresh() = 0;
};

/// Registers the node's series, and blocks as Refresh does. Register a node at most once with a
/// registry. Several nodes may share a registry if their groups differ. kInvalidArgument: the
/// registry holds one of the names with another type, or `refresh` is too short.
BATON_EXPORT Result<std::unique_ptr<MetricsRegistration>> RegisterMetrics(
    prometheus::Registry& registry, Node& node, MetricsOptions options = {});

/// A node's metrics as collectables. REQUIRES: the node outlives them. Collect asks the node and
/// blocks for up to a second. If the node does not answer by then, Collect returns the last known
/// values, or nothing before the node's first answer.
struct MetricsCollectables {
  std::shared_ptr<prometheus::Collectable> node;  ///< label `group`
  /// Labels `group` and `shard`; as MetricsOptions::shards and ::max_shard_series.
  std::shared_ptr<prometheus::Collectable> shards;
};
BATON_EXPORT MetricsCollectables Collectables(Node& node, std::size_t max_shard_series = 50'000);

/// baton_stale_terms_total{group}: how many writes your FenceGuard refused. Use it for at most one
/// guard per group.
BATON_EXPORT std::shared_ptr<prometheus::Collectable> StaleTerms(
    std::shared_ptr<const FenceGuard> guard, std::string group);

/// baton_misroutes_total{group}: how many requests an OwnerGuard of yours refused with NOT_LEADER.
/// Each scrape calls `count`, which returns OwnerGuard::misroutes(), on the scrape's thread.
BATON_EXPORT std::shared_ptr<prometheus::Collectable> Misroutes(
    std::function<std::uint64_t()> count, std::string group);

/// A router's families, label `group`; see RouterCounters and RoutesAge for what they count. All
/// names begin with baton_router_: calls_total{result}, attempts_total, misroutes_total,
/// redirects_total, waits_total, superseded_total, own_calls_total, own_misroutes_total,
/// reconnects_total, streams_total{start}, revision, stale, age_seconds. Each scrape calls the
/// functions, which return Router::counters() and Router::Age(), on the scrape's thread. Use it for
/// at most one router per group.
BATON_EXPORT std::shared_ptr<prometheus::Collectable> RouterCollectable(
    std::function<RouterCounters()> counters, std::function<RoutesAge()> age, std::string group);

}  // namespace baton
