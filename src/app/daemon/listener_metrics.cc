#include "app/daemon/listener_metrics.h"

#include <utility>
#include <vector>

#include "runtime/metrics/families.h"

namespace baton::app {
namespace {

class ListenerMetrics final : public prometheus::Collectable {
 public:
  ListenerMetrics(std::string group, std::shared_ptr<const std::atomic<std::uint64_t>> refused)
      : group_(std::move(group)), refused_(std::move(refused)) {}

  std::vector<prometheus::MetricFamily> Collect() const override {
    runtime::FamilyBuilder out(group_);
    out.Counter("baton_grpc_connections_refused_total",
                "gRPC connections that were closed at once: too many, or too few descriptors.")
        .Add(static_cast<double>(refused_->load()));
    return out.Take();
  }

 private:
  const std::string group_;
  const std::shared_ptr<const std::atomic<std::uint64_t>> refused_;
};

}  // namespace

std::shared_ptr<prometheus::Collectable> MakeListenerMetrics(
    std::string group, std::shared_ptr<const std::atomic<std::uint64_t>> refused) {
  return std::make_shared<ListenerMetrics>(std::move(group), std::move(refused));
}

}  // namespace baton::app
