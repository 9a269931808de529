// Metrics: a node's status and events as Prometheus series. The names, labels and help texts of the
// series are API; they are in node_metrics.cc and shard_metrics.cc.
//
// Thread-safe. Any thread except the node's loop may call the collectables' Collect. Collect asks
// the node for its status, and waits at most kStatusPatience (1 s). If no answer comes in this
// time, it uses the last status that came. If no status came yet, it returns no families. After
// the node has stopped, the counters keep their last values (but those from a relay's status become
// 0), and the gauges show a node without a session (see Control::GetStatus).
//
// The histograms of gaps and handoffs, and the counts of single shards, lack the events before this
// object was made. So make it right after the node.
#pragma once

#include <cstddef>
#include <memory>

#include <prometheus/collectable.h>

#include "runtime/control.h"

namespace baton::runtime {

struct MetricsLimits {
  /// The most series of shards in a scrape. The shards with the lowest numbers come first, each
  /// with all its series. The first shard that does not fit is left out, and so are all shards
  /// after it. A further series, baton_shard_series_cut, always says how many series were left out.
  std::size_t shard_series = 50'000;
};

class Metrics {
 public:
  /// Adds an observer to `control`, which keeps it until the node ends; so make only one
  /// Metrics for each node. The collectables may outlive this object. REQUIRES: `control` outlives
  /// the collectables.
  explicit Metrics(Control& control, MetricsLimits limits = {});

  /// The node's series, with the label `group`. Their number does not depend on the number of
  /// shards.
  const std::shared_ptr<prometheus::Collectable>& node() const { return node_; }
  /// Three or more series for each shard that this node leads, with the labels `group` and `shard`.
  /// A shard keeps its series while it is suspended, and has none once this node does not lead it.
  const std::shared_ptr<prometheus::Collectable>& shards() const { return shards_; }

 private:
  std::shared_ptr<prometheus::Collectable> node_;
  std::shared_ptr<prometheus::Collectable> shards_;
};

}  // namespace baton::runtime
