#include "app/daemon/listener_metrics.h"

#include <utility>
#include <vector>

#include "base/grpc/server_limits.h"
#include "runtime/metrics/families.h"

namespace baton::app {
namespace {

class ListenerMetrics final : public prometheus::Collectable {
 public:
  ListenerMetrics(std::string group, ListenerCounts counts)
      : group_(std::move(group)), counts_(std::move(counts)) {}

  std::vector<prometheus::MetricFamily> Collect() const override {
    runtime::FamilyBuilder out(group_);
    AddLimits(out);
    AddRefusals(out);
    return out.Take();
  }

 private:
  void AddLimits(runtime::FamilyBuilder& out) const {
    const ServerLimits limits;
    out.Gauge("baton_grpc_limit", "The limits of the gRPC server.")
        .Add(static_cast<double>(counts_.most_descriptors), {{"limit", "descriptors"}})
        .Add(counts_.streams, {{"limit", "calls_of_connection"}})
        .Add(limits.message, {{"limit", "request_bytes"}})
        .Add(static_cast<double>(counts_.memory), {{"limit", "memory_bytes"}})
        .Add(static_cast<double>(counts_.events->bounds().of_readers), {{"limit", "events"}})
        .Add(static_cast<double>(counts_.routes->bounds().of_readers), {{"limit", "routes"}});
    out.Gauge("baton_grpc_calls_open", "Calls and streams that are open now.")
        .Add(static_cast<double>(counts_.open->at_port), {{"listener", "port"}})
        .Add(static_cast<double>(counts_.open->at_admin_socket), {{"listener", "admin_socket"}});
    const auto events = counts_.events->counts();
    const auto routes = counts_.routes->counts();
    out.Gauge("baton_reader_streams",
              "Streams of callers without the role operate that are open now.")
        .Add(static_cast<double>(events.open), {{"of", "events"}})
        .Add(static_cast<double>(routes.open), {{"of", "routes"}});
    out.Counter("baton_reader_streams_refused_total",
                "Streams that were refused because their caller, or all callers without the role "
                "operate, had their share.")
        .Add(static_cast<double>(events.refused), {{"of", "events"}})
        .Add(static_cast<double>(routes.refused), {{"of", "routes"}});
  }

  void AddRefusals(runtime::FamilyBuilder& out) const {
    out.Counter("baton_grpc_connections_refused_total",
                "gRPC connections that were closed at once: there was no place or descriptor, or "
                "their caller had its share of the places.")
        .Add(static_cast<double>(counts_.refused->full), {{"why", "full"}})
        .Add(static_cast<double>(counts_.refused->share), {{"why", "share"}});
    out.Counter("baton_grpc_bounds_reached_total",
                "How often a limit was reached: of answers that nobody reads, or of what callers "
                "send.")
        .Add(static_cast<double>(counts_.budget->ended().for_bytes), {{"bound", "received_bytes"}})
        .Add(static_cast<double>(counts_.budget->ended().for_memory), {{"bound", "memory_growth"}})
        .Add(static_cast<double>(counts_.budget->ended().for_calls), {{"bound", "open_calls"}})
        .Add(static_cast<double>(counts_.budget->ended().for_time), {{"bound", "callbacks_late"}})
        .Add(static_cast<double>(counts_.unread->refused.load()), {{"bound", "unread_answers"}})
        .Add(static_cast<double>(counts_.unread->cut_off.load()), {{"bound", "slow_reader"}});
    auto& limited = out.Counter("baton_calls_limited_total",
                                "Calls over gRPC and HTTP that were refused because a caller "
                                "without the role operate asked too often, and HTTPS connections "
                                "that were closed before their handshake.");
    for (const auto kind : access::kCallKinds) {
      limited.Add(static_cast<double>(counts_.access->limited(kind)),
                  {{"kind", access::ToString(kind)}});
    }
  }

  const std::string group_;
  const ListenerCounts counts_;
};

}  // namespace

std::shared_ptr<prometheus::Collectable> MakeListenerMetrics(std::string group,
                                                             ListenerCounts counts) {
  return std::make_shared<ListenerMetrics>(std::move(group), std::move(counts));
}

}  // namespace baton::app
