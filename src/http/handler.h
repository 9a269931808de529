// Handler: which path answers what. No sockets here.
//
// Thread-safe. Paths and bodies are API.
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

/// What /metrics and /metrics/shards show.
struct MetricsSources {
  std::vector<std::shared_ptr<prometheus::Collectable>> node;
  std::vector<std::shared_ptr<prometheus::Collectable>> shards;
};

class Handler {
 public:
  /// `control` must outlive this object, and is given an observer of routes.
  Handler(runtime::Control& control, MetricsSources metrics);

  /// Answers at once whatever needs no picture of the node: probes above all, which must work while
  /// the loop is stuck and scrapes wait for it. Unset: ask Answer.
  std::optional<Response> TryAnswer(std::string_view target);
  /// Waits up to kStatusPatience for the node.
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
  runtime::Picture Look();

  runtime::Control& control_;
  const MetricsSources metrics_;
  runtime::StatusSource source_;
  const std::shared_ptr<ShardAges> ages_ = std::make_shared<ShardAges>();
  std::atomic<std::uint32_t> shard_count_{0};  // 0: not known yet

  std::mutex mutex_;                                     // below
  std::shared_ptr<const runtime::NodeStatus> rendered_;  // the picture that shards_body_ shows
  std::shared_ptr<const std::string> shards_body_;
};

}  // namespace baton::http
