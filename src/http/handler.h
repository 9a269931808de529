// Handler: makes the HTTP server's answers, except those for /v1/routes and for feeds of
// /v1/events. HttpServer makes these answers. It also checks the method of each request, and the
// caller's role.
//
// Thread-safe. Paths and bodies are API. An unknown path gets 404.
#pragma once

#include <atomic>
#include <cstdint>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include <prometheus/collectable.h>

#include "baton/types.h"
#include "http/response.h"
#include "http/shard_ages.h"
#include "runtime/control.h"
#include "runtime/metrics/status_source.h"

namespace baton::http {

/// `node`: the series of /metrics. `shards`: the series of /metrics/shards.
struct MetricsSources {
  std::vector<std::shared_ptr<prometheus::Collectable>> node;
  std::vector<std::shared_ptr<prometheus::Collectable>> shards;
};

class Handler {
 public:
  /// Adds a route observer to `control`. The observer does not use this object. REQUIRES: `control`
  /// outlives this object.
  Handler(runtime::Control& control, MetricsSources metrics);

  /// Answers without waiting for the node. nullopt: the answer needs the node's status, so call
  /// Answer. `target`: the path, and the query if there is one. Probes are answered even while the
  /// node's loop is stuck, with two exceptions that need the status:
  ///  - /readyz of a node that is not ready.
  ///  - /shards/{s}/leader, if this node does not lead the shard and Answer has not read the shard
  ///    count yet.
  std::optional<Response> TryAnswer(std::string_view target);
  /// Answers any path. If the answer needs the node's status, waits for it, up to kStatusPatience
  /// (status_source.h). If no status comes in time, the answer is 503. But metrics then show the
  /// last status; before the first status they lack its series. REQUIRES: not called on the node's
  /// loop.
  Response Answer(std::string_view target);

 private:
  Response NotReady();
  Response Scrape(const std::vector<std::shared_ptr<prometheus::Collectable>>& sources) const;
  Response Shards();
  Response Shard(std::string_view number);
  Response Lookup(std::string_view target);
  Response Events(std::string_view target) const;
  Response Status();
  Response Overview();
  Response Leader(std::string_view number);
  std::optional<Response> LeaderIfKnown(std::string_view number) const;
  runtime::LatestStatus Look();

  runtime::Control& control_;
  const MetricsSources metrics_;
  runtime::StatusSource source_;
  const std::shared_ptr<ShardAges> ages_ = std::make_shared<ShardAges>();
  std::atomic<std::uint32_t> shard_count_{0};  // 0: not known yet

  std::mutex mutex_;                                     // guards what follows
  std::shared_ptr<const runtime::NodeStatus> rendered_;  // the status that shards_body_ shows
  std::shared_ptr<const std::string> shards_body_;
};

}  // namespace baton::http
