// Metrics: a node's status and events as Prometheus series. Their names, labels and help texts are
// API; they are in node_metrics.cc and shard_metrics.cc.
//
// Thread-safe. Any thread except the node's loop may call the collectables' Collect. It asks the
// node for its status. If the node does not answer within kStatusPatience (1 s), Collect uses the
// last status that came. Before the node's first answer, Collect returns nothing. After the node
// has stopped, the counters keep their last values (those from a relay's status become 0), and the
// gauges show a node without a session (see Control::GetStatus).
//
// Histograms and the shards' counts lack the events from before this object was made. So make it
// right after the node.
#pragma once

#include <cstddef>
#include <memory>

#include <prometheus/collectable.h>

#include "runtime/control.h"

namespace baton::runtime {

struct MetricsLimits {
  /// The most series of shards in a scrape. The shards with the lowest numbers come first, each
  /// with all its series. The first shard that does not fit is left out, and so are all shards
  /// after it; one more series has the number of the series left out.
  std::size_t shard_series = 50'000;
};

class Metrics {
 public:
  /// Adds an observer to `control`, which keeps the observer. The collectables may outlive this
  /// object. REQUIRES: `control` outlives both.
  explicit Metrics(Control& control, MetricsLimits limits = {});

  /// The node's series, with the label `group`. Their number does not depend on the number of
  /// shards.
  const std::shared_ptr<prometheus::Collectable>& node() const { return node_; }
  /// Three or more series for each shard that this node leads, also while the shard is suspended,
  /// with the labels `group` and `shard`. Once the node no longer leads a shard, Collect lacks the
  /// shard's series.
  const std::shared_ptr<prometheus::Collectable>& shards() const { return shards_; }

 private:
  std::shared_ptr<prometheus::Collectable> node_;
  std::shared_ptr<prometheus::Collectable> shards_;
};

}  // namespace baton::runtime
