#include "http/bound_counts.h"

#include <utility>
#include <vector>

#include "runtime/metrics/families.h"

namespace baton::http {
namespace {

class BoundsMetrics : public prometheus::Collectable {
 public:
  BoundsMetrics(std::string group, std::shared_ptr<const BoundCounts> counts)
      : group_(std::move(group)), counts_(std::move(counts)) {}

  std::vector<prometheus::MetricFamily> Collect() const override {
    const HttpBounds bounds = counts_->Get();
    const auto count = [](std::uint64_t value) { return static_cast<double>(value); };
    runtime::FamilyBuilder out(group_);
    out.Counter("baton_http_bounds_reached_total", "How often the HTTP server reached a limit.")
        .Add(count(bounds.connections), {{"bound", "connections"}})
        .Add(count(bounds.clients), {{"bound", "client"}})
        .Add(count(bounds.waiting), {{"bound", "waiting"}})
        .Add(count(bounds.polls), {{"bound", "polls"}})
        .Add(count(bounds.feeds), {{"bound", "feeds"}})
        .Add(count(bounds.peers), {{"bound", "peer"}})
        .Add(count(bounds.bytes), {{"bound", "bytes"}})
        .Add(count(bounds.foreign), {{"bound", "foreign"}})
        .Add(count(bounds.denied), {{"bound", "denied"}})
        .Add(count(bounds.slow_requests), {{"bound", "slow_request"}})
        .Add(count(bounds.slow_readers), {{"bound", "slow_reader"}});
    return out.Take();
  }

 private:
  const std::string group_;
  const std::shared_ptr<const BoundCounts> counts_;
};

}  // namespace

std::shared_ptr<prometheus::Collectable> MakeBoundsMetrics(
    std::string group, std::shared_ptr<const BoundCounts> counts) {
  return std::make_shared<BoundsMetrics>(std::move(group), std::move(counts));
}

}  // namespace baton::http
