// Metrics: a node's status and events as Prometheus series. The names, labels and help texts of the
// series are API; they are in node_metrics.cc and shard_metrics.cc.
//
// Thread-safe. Any thread except the node's loop may call Collect (and AppendText) of the
// collectables. The call asks the node for its status, and waits at most kStatusPatience (1 s). If
// no answer comes in this time, the call uses the last status. If no status ever came, the call
// returns no families.
//
// After a node has stopped, the counters keep their last values, and the gauges show a node that
// has no session and leads nothing. After a relay has stopped, the counters from its status are 0.
// The histograms of gaps and handoffs, and the counts of single shards, lack events from before
// this object was made. So make this object right after the node.
#pragma once

#include <cstddef>
#include <memory>

#include <prometheus/collectable.h>

#include "runtime/control.h"

namespace baton::runtime {

struct MetricsLimits {
  /// The most series of shards in a scrape. Shards come in the order of their numbers, each with
  /// all its series. The first shard that does not fit is left out, and so are all shards after it.
  /// One more series, baton_shard_series_cut, says how many series were left out.
  std::size_t shard_series = 50'000;
};

class Metrics {
 public:
  /// Adds an observer to `control`. `control` keeps the observer until the node ends, so make only
  /// one Metrics for each node. The collectables may outlive this object. REQUIRES: `control`
  /// outlives the collectables.
  explicit Metrics(Control& control, MetricsLimits limits = {});

  /// The node's series, with the label `group`. Their number does not depend on the number of
  /// shards.
  const std::shared_ptr<prometheus::Collectable>& node() const { return node_; }
  /// Three or more series for each shard that this node leads, with the labels `group` and `shard`.
  /// A suspended shard keeps its series. A shard that this node does not lead has none.
  const std::shared_ptr<prometheus::Collectable>& shards() const { return shards_; }

 private:
  std::shared_ptr<prometheus::Collectable> node_;
  std::shared_ptr<prometheus::Collectable> shards_;
};

}  // namespace baton::runtime
