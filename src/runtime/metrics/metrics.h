// Metrics: a node's status and events as Prometheus series. Their names, labels and help texts are
// API; they are in node_metrics.cc and shard_metrics.cc.
//
// Thread-safe. Any thread except the node's loop may call Collect. It asks the node for its status.
// If the node does not answer within kStatusPatience (1 s), Collect uses the last status; before
// the node's first answer it returns nothing.
//
// Histograms and shard counts lack the events from before this object was made, so make it right
// after the node.
#pragma once

#include <cstddef>
#include <memory>

#include <prometheus/collectable.h>

#include "runtime/control.h"

namespace baton::runtime {

struct MetricsLimits {
  /// The greatest number of shard series in a scrape. Another series counts those that were left
  /// out.
  std::size_t shard_series = 50'000;
};

class Metrics {
 public:
  /// Adds an observer to `control`. REQUIRES: `control` outlives this object and its collectables.
  explicit Metrics(Control& control, MetricsLimits limits = {});

  /// The node's series, with the label `group`. Their number does not depend on the number of
  /// shards.
  const std::shared_ptr<prometheus::Collectable>& node() const { return node_; }
  /// Three or more series for each shard that this node leads, with the labels `group` and `shard`.
  /// The next Collect drops the series of shards that it no longer leads.
  const std::shared_ptr<prometheus::Collectable>& shards() const { return shards_; }

 private:
  std::shared_ptr<prometheus::Collectable> node_;
  std::shared_ptr<prometheus::Collectable> shards_;
};

}  // namespace baton::runtime
