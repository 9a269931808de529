#include "http/route_metrics.h"

#include <utility>

#include "runtime/metrics/families.h"

namespace baton::http {
namespace {

double Count(std::uint64_t count) { return static_cast<double>(count); }

class RouteMetrics final : public prometheus::Collectable {
 public:
  RouteMetrics(std::string group, std::shared_ptr<const routing::RouteServer> routes)
      : group_(std::move(group)), routes_(std::move(routes)) {}

  std::vector<prometheus::MetricFamily> Collect() const override {
    const routing::RouteServerCounts counts = routes_->counts();
    runtime::FamilyBuilder out(group_);
    out.Gauge("baton_route_watchers", "Streams of WatchRoutes.").Add(Count(counts.watchers));
    out.Gauge("baton_route_questions",
              "Requests for routes that wait for an answer, mostly long polls.")
        .Add(Count(counts.questions));
    out.Counter("baton_route_messages_total", "Messages written to streams of WatchRoutes.")
        .Add(Count(counts.hub.messages));
    out.Counter(
           "baton_route_encodings_total",
           "Encoded parts of messages: changes (once for all streams), and pages of the table.")
        .Add(Count(counts.hub.deltas_encoded), {{"of", "delta"}})
        .Add(Count(counts.hub.pages_encoded), {{"of", "page"}});
    out.Counter("baton_route_catch_ups_total",
                "How often a stream fell too far behind and skipped to the newest state.")
        .Add(Count(counts.hub.catch_ups));
    out.Counter("baton_route_bounds_reached_total",
                "How often streams of WatchRoutes reached a limit of what is kept for them.")
        .Add(Count(counts.hub.shared_instead), {{"bound", "private_pages"}})
        .Add(Count(counts.hub.slow_readers), {{"bound", "slow_reader"}});
    out.Counter("baton_routes_refused_total",
                "Streams and requests for routes that were refused because of a limit.")
        .Add(Count(counts.watchers_refused), {{"what", "watchers"}})
        .Add(Count(counts.questions_refused), {{"what", "questions"}});
    return out.Take();
  }

 private:
  const std::string group_;
  const std::shared_ptr<const routing::RouteServer> routes_;
};

}  // namespace

std::shared_ptr<prometheus::Collectable> MakeRouteMetrics(
    std::string group, std::shared_ptr<const routing::RouteServer> routes) {
  return std::make_shared<RouteMetrics>(std::move(group), std::move(routes));
}

}  // namespace baton::http
