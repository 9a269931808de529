// A fence guard's metric. In a file of its own, because only this file needs FenceGuard.
#include <utility>

#include "baton/prometheus.h"
#include "runtime/metrics/families.h"

namespace baton {
namespace {

class FenceMetrics final : public prometheus::Collectable {
 public:
  FenceMetrics(std::shared_ptr<const FenceGuard> guard, std::string group)
      : guard_(std::move(guard)), group_(std::move(group)) {}

  std::vector<prometheus::MetricFamily> Collect() const override {
    return runtime::FamilyBuilder(group_)
        .Counter("baton_stale_terms_total", "Writes refused because a newer term was seen.")
        .Add(static_cast<double>(guard_->refused()))
        .Take();
  }

 private:
  const std::shared_ptr<const FenceGuard> guard_;
  const std::string group_;
};

}  // namespace

std::shared_ptr<prometheus::Collectable> StaleTerms(std::shared_ptr<const FenceGuard> guard,
                                                    std::string group) {
  return std::make_shared<FenceMetrics>(std::move(guard), std::move(group));
}

}  // namespace baton
