// How large a page of routes is at most, as a server sends it. A router reads no larger messages.
#include <gtest/gtest.h>

#include <limits>
#include <memory>
#include <string>
#include <vector>

#include "base/text_rules.h"
#include "routing/client/route_follower.h"
#include "routing/route_digest.h"
#include "routing/server/route_hub.h"
#include "routing/server/route_messages.h"

namespace baton::routing {
namespace {

using runtime::ViewRoute;
using runtime::ViewStandby;

// Plan: a full page of the longest routes, of 4,000 nodes with the longest names and addresses.
TEST(RoutePages, TheLargestOneFitsIntoARoutersMessage) {
  constexpr std::uint32_t kNodes = 4'000;
  constexpr std::size_t kOpeningAndWords = 4 << 10;
  constexpr std::int64_t kLargest = std::numeric_limits<std::int64_t>::max();
  std::vector<std::shared_ptr<const runtime::RouteNode>> nodes;
  for (std::uint32_t i = 0; i < kNodes; ++i) {
    nodes.push_back(std::make_shared<const runtime::RouteNode>(runtime::RouteNode{
        .node = std::string(kLongestName, 'n'), .address = std::string(kLongestAddress, 'a')}));
  }
  std::vector<ViewRoute> routes;
  for (std::uint32_t i = 0; i < RouteHub::kPage; ++i) {
    auto standbys = std::make_shared<std::vector<ViewStandby>>();
    for (std::uint32_t k = 0; k < kMaxStandbysKept; ++k) {
      standbys->push_back({.node = nodes[(i + k) % kNodes], .ready = true});
    }
    routes.push_back({.shard = ShardId{kMaxShards - 1 - i},
                      .leader = nodes[i % kNodes],
                      .term = Term{kLargest},
                      .state = ShardState::kSuspended,
                      .revision = Revision{kLargest},
                      .standbys = standbys});
  }
  std::vector<const ViewRoute*> page;
  for (const ViewRoute& route : routes) page.push_back(&route);
  const Bytes bytes = EncodeRoutes(page);
  EXPECT_LE(bytes->size() + kOpeningAndWords, static_cast<std::size_t>(kLongestMessage));
}

}  // namespace
}  // namespace baton::routing
