#include "baton/prometheus.h"

#include <algorithm>
#include <tuple>
#include <utility>

#include "base/check.h"
#include "runtime/metrics/families.h"
#include "runtime/metrics/metrics.h"

namespace baton {
namespace {

double Number(std::uint64_t count) { return static_cast<double>(count); }

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

class MisrouteMetrics final : public prometheus::Collectable {
 public:
  MisrouteMetrics(std::function<std::uint64_t()> count, std::string group)
      : count_(std::move(count)), group_(std::move(group)) {}

  std::vector<prometheus::MetricFamily> Collect() const override {
    return runtime::FamilyBuilder(group_)
        .Counter("baton_misroutes_total", "Requests refused because another node leads the shard.")
        .Add(Number(count_()))
        .Take();
  }

 private:
  const std::function<std::uint64_t()> count_;
  const std::string group_;
};

class RouterMetrics final : public prometheus::Collectable {
 public:
  RouterMetrics(std::function<RouterCounters()> counters, std::function<RoutesAge()> age,
                std::string group)
      : counters_(std::move(counters)), age_(std::move(age)), group_(std::move(group)) {}

  std::vector<prometheus::MetricFamily> Collect() const override {
    const RouterCounters counters = counters_();
    runtime::FamilyBuilder families(group_);
    families.Counter("baton_router_calls_total", "Calls that ended, by result.")
        .Add(Number(counters.ok), {{"result", "ok"}})
        .Add(Number(counters.failed), {{"result", "failed"}})
        .Add(Number(counters.refused), {{"result", "refused"}})
        .Add(Number(counters.unavailable), {{"result", "unavailable"}})
        .Add(Number(counters.unknown), {{"result", "unknown"}});
    const std::tuple<const char*, const char*, std::uint64_t> single[] = {
        {"baton_router_attempts_total", "Attempts of all calls.", counters.attempts},
        {"baton_router_misroutes_total", "Attempts that were answered with NOT_LEADER.",
         counters.misroutes},
        {"baton_router_redirects_total", "Hints to another leader that were followed.",
         counters.redirects},
        {"baton_router_waits_total", "Waits of calls for a route or a backoff.", counters.waits},
        {"baton_router_superseded_total",
         "Attempts that were cancelled because a newer leader was known.", counters.superseded},
        {"baton_router_intercepted_calls_total", "Calls made by the application itself.",
         counters.intercepted_calls},
        {"baton_router_intercepted_misroutes_total",
         "The application's own calls that were answered with NOT_LEADER.",
         counters.intercepted_misroutes},
        {"baton_router_reconnects_total", "Streams of routes that ended, or could not be opened.",
         counters.reconnects}};
    for (const auto& [name, help, count] : single) families.Counter(name, help).Add(Number(count));
    families
        .Counter("baton_router_streams_total",
                 "Streams of routes that began: with a snapshot, or resumed.")
        .Add(Number(counters.snapshots), {{"start", "snapshot"}})
        .Add(Number(counters.resumes), {{"start", "resume"}});
    const RoutesAge age = age_();
    families.Gauge("baton_router_revision", "The etcd revision up to which routes are complete.")
        .Add(static_cast<double>(age.revision.value));
    families.Gauge("baton_router_stale", "1 while the routes can't be proven to be current.")
        .Add(age.stale ? 1 : 0);
    families.Gauge("baton_router_age_seconds", "Time since the followed view was proven current.")
        .Add(std::chrono::duration<double>(age.age).count());
    return families.Take();
  }

 private:
  const std::function<RouterCounters()> counters_;
  const std::function<RoutesAge()> age_;
  const std::string group_;
};

}  // namespace

MetricsCollectables Collectables(Node& node, std::size_t max_shard_series) {
  constexpr std::size_t kMaxSeries = 100'000'000;  // as batond's --max-shard-series
  const runtime::Metrics metrics(node.control(),
                                 {.shard_series = std::min(max_shard_series, kMaxSeries)});
  return {.node = metrics.node(), .shards = metrics.shards()};
}

std::shared_ptr<prometheus::Collectable> StaleTerms(std::shared_ptr<const FenceGuard> guard,
                                                    std::string group) {
  BATON_CHECK(guard != nullptr);
  return std::make_shared<FenceMetrics>(std::move(guard), std::move(group));
}

std::shared_ptr<prometheus::Collectable> Misroutes(std::function<std::uint64_t()> count,
                                                   std::string group) {
  BATON_CHECK(count != nullptr);
  return std::make_shared<MisrouteMetrics>(std::move(count), std::move(group));
}

std::shared_ptr<prometheus::Collectable> RouterCollectable(std::function<RouterCounters()> counters,
                                                           std::function<RoutesAge()> age,
                                                           std::string group) {
  BATON_CHECK(counters != nullptr && age != nullptr);
  return std::make_shared<RouterMetrics>(std::move(counters), std::move(age), std::move(group));
}

}  // namespace baton
