#include "sidecar/sidecar_metrics.h"

#include <utility>

#include "runtime/metrics/families.h"

namespace baton::sidecar {
namespace {

double Count(std::uint64_t count) { return static_cast<double>(count); }

class SidecarMetrics final : public prometheus::Collectable {
 public:
  SidecarMetrics(std::string group, const Server& server)
      : group_(std::move(group)), server_(server) {}

  std::vector<prometheus::MetricFamily> Collect() const override {
    const SidecarBounds bounds = server_.bounds();
    runtime::FamilyBuilder out(group_);
    out.Counter("baton_sidecar_bounds_reached_total", "How often the sidecar reached a limit.")
        .Add(Count(bounds.connections), {{"bound", "connections"}})
        .Add(Count(bounds.denied), {{"bound", "denied"}})
        .Add(Count(bounds.unread), {{"bound", "unread"}})
        .Add(Count(bounds.unanswered), {{"bound", "unanswered"}})
        .Add(Count(bounds.slow_reader), {{"bound", "slow_reader"}})
        .Add(Count(bounds.silent), {{"bound", "silent"}});
    return out.Take();
  }

 private:
  const std::string group_;
  const Server& server_;
};

}  // namespace

std::shared_ptr<prometheus::Collectable> MakeSidecarMetrics(std::string group,
                                                            const Server& server) {
  return std::make_shared<SidecarMetrics>(std::move(group), server);
}

}  // namespace baton::sidecar
