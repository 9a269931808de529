// Metrics: a node's picture and events as Prometheus series. The names, labels and help texts are
// API and stand in node_metrics.cc and shard_metrics.cc, nowhere else.
//
// Thread-safe. Collect may be called by any thread but the node's loop: it asks the node for a
// picture, waits up to kStatusPatience, and falls back on the last one. Nothing is collected before
// the node has answered once.
//
// What happened before Metrics was made is missing from the histograms and from the shards' counts:
// make it right after the node.
#pragma once

#include <cstddef>
#include <memory>

#include <prometheus/collectable.h>

#include "runtime/control.h"

namespace baton::runtime {

struct MetricsLimits {
  /// At most so many series of shards in a scrape; how many more there were is a series itself.
  std::size_t shard_series = 50'000;
};

class Metrics {
 public:
  /// Adds an observer to `control`, which must outlive this object and its collectables.
  explicit Metrics(Control& control, MetricsLimits limits = {});

  /// The node's series, label `group`: bounded in number, whatever the shards.
  const std::shared_ptr<prometheus::Collectable>& node() const { return node_; }
  /// Four or more series for each shard that this node leads, labels `group` and `shard`; those of
  /// shards it no longer leads are gone at the next Collect.
  const std::shared_ptr<prometheus::Collectable>& shards() const { return shards_; }

 private:
  std::shared_ptr<prometheus::Collectable> node_;
  std::shared_ptr<prometheus::Collectable> shards_;
};

}  // namespace baton::runtime
