// The collectables that a program registers itself (baton/prometheus.h), as Prometheus reads them.
#include "baton/prometheus.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <prometheus/text_serializer.h>

#include <chrono>
#include <memory>
#include <sstream>

#include "runtime/metrics/metrics.h"

namespace baton::runtime {
namespace {

using testing::HasSubstr;

TEST(StaleTerms, CountsWhatAGuardRefused) {
  const auto guard = std::make_shared<FenceGuard>(8);
  ASSERT_TRUE(guard->Check(ShardId{3}, Term{12}).ok());
  ASSERT_FALSE(guard->Check(ShardId{3}, Term{10}).ok());
  ASSERT_FALSE(guard->Check(ShardId{8}, Term{10}).ok()) << "no stale term, and not counted";
  std::ostringstream text;
  prometheus::TextSerializer().Serialize(text, StaleTerms(guard, "orders")->Collect());
  EXPECT_EQ(text.str(),
            "# HELP baton_stale_terms_total Writes refused because a newer term was seen.\n"
            "# TYPE baton_stale_terms_total counter\n"
            "baton_stale_terms_total{group=\"orders\"} 1\n");
}

TEST(Misroutes, CountsWhatAGuardSentElsewhere) {
  std::ostringstream text;
  prometheus::TextSerializer().Serialize(text, Misroutes([] { return 3; }, "orders")->Collect());
  EXPECT_EQ(text.str(),
            "# HELP baton_misroutes_total Requests refused because another node leads the shard.\n"
            "# TYPE baton_misroutes_total counter\n"
            "baton_misroutes_total{group=\"orders\"} 3\n");
}

TEST(RouterCollectable, TellsCallsAndTheAgeOfRoutes) {
  const auto counters = [] {
    return RouterCounters{.ok = 9,
                          .unknown = 1,
                          .redirects = 2,
                          .intercepted_calls = 7,
                          .intercepted_misroutes = 3,
                          .resumes = 4};
  };
  const auto age = [] {
    return RoutesAge{.revision = Revision{960}, .age = std::chrono::seconds(2)};
  };
  std::ostringstream text;
  prometheus::TextSerializer().Serialize(text,
                                         RouterCollectable(counters, age, "orders")->Collect());
  for (const char* line :
       {"baton_router_calls_total{group=\"orders\",result=\"ok\"} 9\n",
        "baton_router_calls_total{group=\"orders\",result=\"failed\"} 0\n",
        "baton_router_calls_total{group=\"orders\",result=\"unknown\"} 1\n",
        "baton_router_redirects_total{group=\"orders\"} 2\n",
        "baton_router_intercepted_calls_total{group=\"orders\"} 7\n",
        "baton_router_intercepted_misroutes_total{group=\"orders\"} 3\n",
        "baton_router_streams_total{group=\"orders\",start=\"resume\"} 4\n",
        "baton_router_revision{group=\"orders\"} 960\n", "baton_router_stale{group=\"orders\"} 1\n",
        "baton_router_age_seconds{group=\"orders\"} 2\n"}) {
    EXPECT_THAT(text.str(), HasSubstr(line));
  }
}

TEST(CollectablesDeathTest, NeedTheirGuardAndFunctions) {
  const auto counters = [] { return RouterCounters{}; };
  const auto age = [] { return RoutesAge{}; };
  EXPECT_DEATH(StaleTerms(nullptr, "orders"), "guard != nullptr");
  EXPECT_DEATH(Misroutes({}, "orders"), "count != nullptr");
  EXPECT_DEATH(RouterCollectable({}, age, "orders"), "counters != nullptr");
  EXPECT_DEATH(RouterCollectable(counters, {}, "orders"), "age != nullptr");
}

}  // namespace
}  // namespace baton::runtime
