// The pace of claims in large groups: a few real nodes, and many members that only watch.
#include "core/claim_pace.h"

#include <set>

#include <gtest/gtest.h>

#include "core/cluster.h"

namespace baton::test {
namespace {

ClusterOptions Large(int nodes, std::uint32_t shards) {
  ClusterOptions options;
  options.nodes = nodes;
  options.shards = shards;
  options.listener = false;
  return options;
}

// Members of weight 0 that are always there. They come after the config, as all members do.
void AddWatchers(Cluster& cluster, int count, std::uint32_t shards) {
  cluster.store().Put(ConfigFact{
      .present = true, .shards = shards, .schema = kSchema, .cluster_id = Cluster::kClusterId});
  for (int i = 0; i < count; ++i) {
    MemberFact watcher;
    watcher.node = "watcher" + std::to_string(i);
    watcher.session = SessionId{1000 + i};
    watcher.ttl = seconds(10);
    watcher.weight = 0;
    cluster.store().Put(watcher, watcher.session);
  }
}

std::uint32_t LedNow(Cluster& cluster, std::uint32_t shards) {
  std::uint32_t led = 0;
  for (std::uint32_t s = 0; s < shards; ++s) led += cluster.store().InForce(ShardId{s}) ? 1 : 0;
  return led;
}

// Runs until all shards are led. Returns how long that took from the first claim on, and the most
// that were claimed in any second.
struct Filling {
  Duration took{};
  std::uint32_t most_in_a_second = 0;
};
Filling Fill(
    Cluster& cluster, std::uint32_t shards, const std::function<void()>& each_step = [] {}) {
  constexpr Duration kStep = milliseconds(10);
  Filling result;
  std::vector<std::uint32_t> led{0};
  for (int i = 0; i < 20'000 && led.back() < shards; ++i) {
    each_step();
    cluster.Run(kStep);
    led.push_back(LedNow(cluster, shards));
    if (led.back() > 0) result.took += kStep;
    const std::size_t before = led.size() > 101 ? led.size() - 101 : 0;
    result.most_in_a_second = std::max(result.most_in_a_second, led.back() - led[before]);
  }
  EXPECT_EQ(led.back(), shards);
  return result;
}

// Plan: 100 members watch, and one of them may lead. All of the group's limit is its own: 20,000
// claims a second.
TEST(ClaimPace, ANodeThatClaimsAloneMayUseTheWholeLimit) {
  Cluster cluster(Large(1, 2000));
  AddWatchers(cluster, 99, 2000);
  cluster.Start("n1");
  const Filling filling = Fill(cluster, 2000);
  EXPECT_LE(filling.took, seconds(1));
  EXPECT_EQ(cluster.violations(), kNone);
}

// Plan: 4,000 members watch, and eight of them share 1,000 vacancies. The limit is 500 claims a
// second.
TEST(ClaimPace, TheSharesOfAllKeepToTheLimit) {
  Cluster cluster(Large(8, 1000));
  AddWatchers(cluster, 3992, 1000);
  cluster.StartAll();
  const Filling filling = Fill(cluster, 1000);
  EXPECT_LE(filling.took, milliseconds(2500));
  EXPECT_LE(filling.most_in_a_second, 500u);
  EXPECT_EQ(cluster.violations(), kNone);
}

// Many nodes' paces, which share a view and a clock.
class ManyPaces {
 public:
  ManyPaces(int nodes, int watchers) : paces(static_cast<std::size_t>(nodes)) {
    std::vector<Fact> members;
    for (int i = 0; i < watchers; ++i) {
      MemberFact member;
      member.node = "watcher" + std::to_string(i);
      member.present = true;
      member.session = member.lease = SessionId{1000 + i};
      member.revision = Revision{i + 1};
      members.emplace_back(member);
    }
    view_.Merge(members, now);
  }
  core::Context At() {
    wake_at_ = TimePoint::max();
    return {.now = now,
            .options = options_,
            .view = view_,
            .session = session_,
            .next_operation = next_,
            .writes = writes_,
            .actions = actions_,
            .wake_at = wake_at_};
  }
  std::vector<core::ClaimPace> paces;
  TimePoint now{seconds(1000)};

 private:
  core::CoreOptions options_;
  core::View view_{1, "n1"};
  core::OperationId next_ = 1;
  core::Session session_{options_, &next_};
  core::PendingWrites writes_;
  std::vector<core::Action> actions_;
  TimePoint wake_at_ = TimePoint::max();
};

// Plan: in a group whose limit is 500 claims a second, each of 200 nodes gets one vacancy. 50 are
// claimed at once, and the others one after another.
TEST(ClaimPace, NodesWithOneVacancyBeginOneAfterAnother) {
  ManyPaces group(200, 4000);
  for (std::size_t i = 0; i < 200; ++i) {
    const auto before = static_cast<std::int64_t>(i);
    group.paces[i].Assign(group.At(), {.assigned = 1, .total = 200, .before = before}, true);
  }
  std::vector<std::size_t> claimed;  // after each millisecond
  std::set<std::size_t> waiting;
  for (std::size_t i = 0; i < 200; ++i) waiting.insert(i);
  while (!waiting.empty() && claimed.size() < 1000) {
    std::erase_if(waiting, [&](std::size_t i) {
      core::Context context = group.At();
      return group.paces[i].Allowed(context, 1) > 0;
    });
    claimed.push_back(200 - waiting.size());
    group.now += milliseconds(1);
  }
  EXPECT_TRUE(waiting.empty());
  ASSERT_GT(claimed.size(), 200u);
  EXPECT_LE(claimed.front(), 51u);
  EXPECT_LE(claimed[100] - claimed[0], 46u);
  EXPECT_LE(claimed[200] - claimed[100], 46u);
  EXPECT_LE(claimed.size(), 400u);
}

// Plan: in the same group, 2,000 vacancies a second come one by one, each for another node. Each
// has the whole limit for it. Together they keep to the limit and what may go at once.
TEST(ClaimPace, VacanciesThatComeOneByOneKeepToTheLimitToo) {
  ManyPaces group(200, 4000);
  for (core::ClaimPace& pace : group.paces) pace.Assign(group.At(), {}, true);
  std::size_t claimed = 0;
  for (std::size_t i = 0; i < 2000; ++i) {
    core::ClaimPace& pace = group.paces[i % 200];
    pace.Assign(group.At(), {.assigned = 1, .total = 1, .before = 0}, true);
    core::Context context = group.At();
    if (pace.Allowed(context, 1) > 0) {
      pace.Sent(group.At(), 1);
      ++claimed;
      for (core::ClaimPace& seen : group.paces) seen.NoteBegun(group.At(), 1);
    }
    group.now += std::chrono::microseconds(500);
  }
  EXPECT_LE(claimed, 560u);
  EXPECT_GE(claimed, 500u);
}

// How long so many nodes take for so many vacancies, of which each node of `share` gets as many as
// the others. Each of them sees at once what the others claim.
Duration TimeToFill(int nodes, std::int64_t share, std::int64_t vacancies) {
  constexpr Duration kStep = milliseconds(10);
  ManyPaces group(nodes, nodes);
  const auto members = static_cast<std::size_t>(share);
  std::vector<std::int64_t> left(members, vacancies / share);
  const TimePoint begun = group.now;
  std::int64_t total = vacancies;
  for (bool idle = true; total > 0; idle = false) {
    std::int64_t before = 0;
    std::int64_t claimed = 0;
    for (std::size_t i = 0; i < members; ++i) {
      if (left[i] == 0) continue;
      core::ClaimPace& pace = group.paces[i];
      pace.Assign(group.At(), {.assigned = left[i], .total = total, .before = before}, idle);
      before += left[i];
      core::Context context = group.At();
      const auto allowed =
          static_cast<std::int64_t>(pace.Allowed(context, static_cast<std::size_t>(left[i])));
      const std::int64_t now = std::min(left[i], allowed);
      if (now > 0) pace.Sent(group.At(), static_cast<std::size_t>(now));
      left[i] -= now;
      claimed += now;
    }
    total -= claimed;
    for (std::size_t i = 0; i < members; ++i) {
      group.paces[i].NoteBegun(group.At(), static_cast<std::size_t>(claimed));
    }
    group.now += kStep;
  }
  return group.now - begun;
}

// Plan: 1,000 members of equal weight claim 100,000 shards. At the limit, 2,000 claims a second,
// that takes 50 s.
TEST(ClaimPace, AThousandNodesUseTheLimitForAHundredThousandShards) {
  const Duration took = TimeToFill(1000, 1000, 100'000);
  RecordProperty("milliseconds", static_cast<int>(took / milliseconds(1)));
  EXPECT_GE(took, seconds(50));
  EXPECT_LE(took, seconds(57));
}

// Plan: one of 100 members has all the weight. At the limit, 20,000 claims a second, 100,000 shards
// take 5 s.
TEST(ClaimPace, OneOfAHundredNodesUsesTheLimitAlone) {
  const Duration took = TimeToFill(100, 1, 100'000);
  RecordProperty("milliseconds", static_cast<int>(took / milliseconds(1)));
  EXPECT_GE(took, milliseconds(4900));
  EXPECT_LE(took, milliseconds(5700));
}

}  // namespace
}  // namespace baton::test
