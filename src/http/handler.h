// Handler: makes the answer for each path, except /v1/routes and feeds of /v1/events, which
// HttpServer answers. It has no sockets. It checks neither the HTTP method nor the caller's role;
// HttpServer does so.
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

/// The series of /metrics and /metrics/shards.
struct MetricsSources {
  std::vector<std::shared_ptr<prometheus::Collectable>> node;
  std::vector<std::shared_ptr<prometheus::Collectable>> shards;
};

class Handler {
 public:
  /// Adds a route observer to `control`; the observer does not use this object. REQUIRES: `control`
  /// outlives this object.
  Handler(runtime::Control& control, MetricsSources metrics);

  /// Answers without waiting for the node. nullopt: the answer needs the node's status, so call
  /// Answer. `target`: the path, and the query if there is one. Most answers to probes need no
  /// status. So probes work while the node's loop is stuck and other requests wait for it. /readyz
  /// of a node that is not ready needs the status. So does /shards/{s}/leader, until Answer has
  /// read the shard count.
  std::optional<Response> TryAnswer(std::string_view target);
  /// Answers any path. If the answer needs the node's status, waits for it, up to kStatusPatience.
  /// If the node doesn't give it in time, the answer is 503. But then the metrics show the last
  /// status, or lack its series if there was no status yet. REQUIRES: not called on the node's
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
