#include "app/daemon/listener_metrics.h"

#include <utility>
#include <vector>

#include "runtime/metrics/families.h"

namespace baton::app {
namespace {

class ListenerMetrics final : public prometheus::Collectable {
 public:
  ListenerMetrics(std::string group, const ConnectionListener& listener,
                  std::shared_ptr<const runtime::UnreadCounts> unread,
                  std::shared_ptr<const access::Access> access)
      : group_(std::move(group)),
        refused_(listener.refused()),
        unread_(std::move(unread)),
        access_(std::move(access)) {}

  std::vector<prometheus::MetricFamily> Collect() const override {
    runtime::FamilyBuilder out(group_);
    out.Counter("baton_grpc_connections_refused_total",
                "gRPC connections that were closed at once: too many, or too few descriptors.")
        .Add(static_cast<double>(refused_->load()));
    out.Counter("baton_grpc_bounds_reached_total",
                "How often the admin service reached a limit of answers that nobody reads.")
        .Add(static_cast<double>(unread_->refused.load()), {{"bound", "unread_answers"}})
        .Add(static_cast<double>(unread_->cut_off.load()), {{"bound", "slow_reader"}});
    auto& limited = out.Counter("baton_calls_limited_total",
                                "Calls over gRPC and HTTP that were refused because a caller "
                                "without the role operate asked too often.");
    for (const auto kind : access::kCallKinds) {
      limited.Add(static_cast<double>(access_->limited(kind)), {{"kind", access::ToString(kind)}});
    }
    return out.Take();
  }

 private:
  const std::string group_;
  const std::shared_ptr<const std::atomic<std::uint64_t>> refused_;
  const std::shared_ptr<const runtime::UnreadCounts> unread_;
  const std::shared_ptr<const access::Access> access_;
};

}  // namespace

std::shared_ptr<prometheus::Collectable> MakeListenerMetrics(
    std::string group, const ConnectionListener& listener,
    std::shared_ptr<const runtime::UnreadCounts> unread,
    std::shared_ptr<const access::Access> access) {
  return std::make_shared<ListenerMetrics>(std::move(group), listener, std::move(unread),
                                           std::move(access));
}

}  // namespace baton::app
