#include "sim/plan.h"

#include <algorithm>

namespace baton::sim {
namespace {

constexpr int kMaxPpm = 24'000;  // both clocks of a pair stay within the margin of 5 % of the TTL
constexpr std::uint64_t kGuardsDraw = 0x67756172;
constexpr std::uint64_t kHealthDraw = 0x6865616C;
constexpr std::uint64_t kFailoverDraw = 0x6661696C;
constexpr std::uint64_t kPlacementDraw = 0x706C6163;
constexpr std::uint64_t kLimitsDraw = 0x6C696D69;
constexpr std::uint64_t kStandbysDraw = 0x7374616E;
constexpr std::uint64_t kPlacementToRestDraw = 0x746F72657374;
constexpr std::uint64_t kAsksDraw = 0x61736B73;
constexpr std::uint64_t kNodesDraw = 0x6E6F6465;
constexpr std::uint64_t kStallsDraw = 0x7374616C;
constexpr std::uint64_t kStormDraw = 0x73746F72;
constexpr int kFewestMishaps = 4;
constexpr int kDrawnMishaps = static_cast<int>(Mishap::kStrike) + 1;  // each by itself
// etcd sends 1,000; runs are shorter than its life.
constexpr int kWatchBatch = 8;

core::CoreOptions DrawCore(Random& random) {
  core::CoreOptions options;
  options.shards = static_cast<std::uint32_t>(random.Chance(200) ? random.Between(3, 12)
                                                                 : random.Between(13, 64));
  options.ttl = seconds(random.Between(2, 10));
  options.settle = milliseconds(random.Between(200, 2000));
  options.rebalance_delay = milliseconds(random.Between(500, 3000));
  options.cooldown = milliseconds(random.Between(1000, 5000));
  options.max_moves = static_cast<std::uint32_t>(random.Between(2, 64));
  options.prepare_timeout = milliseconds(random.Between(1500, 5000));
  options.release_timeout = milliseconds(random.Between(1500, 5000));
  options.callback_timeout = milliseconds(random.Between(1500, 5000));
  options.drain_timeout = milliseconds(random.Between(3000, 12000));
  options.has_listener = !random.Chance(150);
  options.self.address = "node:1";
  options.self.software_version = "sim";
  options.self.protocol_version = kProtocolVersion;
  return options;
}

NetworkFaults DrawNetwork(Random& random) {
  NetworkFaults network;
  if (random.Chance(200)) network.latency_most = milliseconds(random.Between(1, 60));
  const int most = random.Chance(250) ? 100 : 15;
  const auto draw = [&] { return random.Chance(350) ? random.Between(1, most) : 0; };
  network.request_lost = draw();
  network.reply_lost = draw();
  network.reply_late = 2 * draw();
  network.request_late = draw();
  network.request_twice = draw();
  network.reset = draw();
  network.stream_ends = draw() / 3;
  network.stream_late = 2 * draw();
  return network;
}

CallbackFaults DrawCallbacks(Random& random) {
  CallbackFaults callbacks;
  if (random.Chance(300)) callbacks.slow = random.Between(5, 80);
  if (random.Chance(200)) callbacks.throws = random.Between(2, 30);
  if (random.Chance(100)) callbacks.hangs = random.Between(1, 8);
  return callbacks;
}

// From half a TTL, which is over before a session ends, to several, which outlast most troubles.
std::chrono::milliseconds DrawWait(Random& random, Duration ttl) {
  const int millis = static_cast<int>(ttl / milliseconds(1));
  return milliseconds(random.Between(millis / 2, (random.Chance(300) ? 6 : 2) * millis));
}

FailoverSettings DrawFailover(Random& random, Duration ttl) {
  FailoverSettings settings;
  const int policy = random.Between(0, 4);
  if (policy == 1 || policy == 2) settings.policy = FailoverPolicy::kAfter;
  if (policy > 2) settings.policy = FailoverPolicy::kNever;
  if (settings.policy == FailoverPolicy::kAfter) settings.delay = DrawWait(random, ttl);
  const bool locks = settings.policy == FailoverPolicy::kImmediate || random.Chance(500);
  if (locks) settings.lock_delay = DrawWait(random, ttl);
  return settings;
}

std::vector<FailoverChange> DrawFailoverChanges(Random random, const Plan& plan) {
  std::vector<FailoverChange> changes;
  if (!random.Chance(200)) return changes;
  const Duration first = random.Chance(600)
                             ? random.Between(Duration{0}, Duration(seconds(10)))
                             : random.Between(Duration(seconds(10)), plan.troubles / 2);
  changes.push_back({.at = first, .settings = DrawFailover(random, plan.core.ttl)});
  if (!random.Chance(400)) return changes;
  const Duration second = random.Between(plan.troubles / 2, plan.troubles * 3 / 4);
  const bool back = random.Chance(300);
  changes.push_back(
      {.at = second, .settings = back ? FailoverSettings{} : DrawFailover(random, plan.core.ttl)});
  return changes;
}

LabelTerms DrawTerms(Random& random, int nodes) {
  const auto node = [&] { return "n" + std::to_string(random.Between(1, nodes)); };
  const int which = random.Between(0, 9);
  if (which < 4) return {{std::string(kZoneLabel), {ZoneOf(random.Between(1, 3))}}};
  if (which < 6) return {{std::string(kZoneLabel), {ZoneOf(1), ZoneOf(random.Between(2, 3))}}};
  if (which < 9) return {{std::string(kNodeLabel), {node()}}};
  return {{"disk", {"none"}}};  // no node fits it
}

Placement DrawPlacement(Random& random, const Plan& plan) {
  Placement placement;
  for (int rules = random.Between(1, 3); rules > 0; --rules) {
    PlacementRule rule;
    if (random.Chance(700)) {
      const auto last = static_cast<int>(plan.core.shards) - 1;
      const int first = random.Between(0, last);
      rule.shards.push_back({static_cast<std::uint32_t>(first),
                             static_cast<std::uint32_t>(random.Between(first, last))});
    }
    if (random.Chance(600)) rule.require = DrawTerms(random, plan.nodes);
    for (int preferences = random.Between(0, 2); preferences > 0; --preferences) {
      rule.prefer.push_back(DrawTerms(random, plan.nodes));
    }
    placement.push_back(std::move(rule));
  }
  return placement;
}

// Some are changed every second for a while.
std::vector<PlacementChange> DrawPlacementChanges(Random random, const Plan& plan) {
  std::vector<PlacementChange> changes;
  if (!random.Chance(plan.failover.empty() ? 150 : 400)) return changes;
  const bool often = random.Chance(300);
  Duration at = random.Between(Duration{0}, Duration(seconds(10)));
  for (int left = random.Between(1, often ? 30 : 4); left > 0; --left) {
    changes.push_back({.at = at, .placement = DrawPlacement(random, plan)});
    at += random.Between(Duration{0}, often ? Duration(seconds(1)) : plan.troubles / 3);
  }
  return changes;
}

std::vector<ShardRange> DrawRange(Random& random, const Plan& plan) {
  const auto last = static_cast<int>(plan.core.shards) - 1;
  const int first = random.Between(0, last);
  return {
      {static_cast<std::uint32_t>(first), static_cast<std::uint32_t>(random.Between(first, last))}};
}

// Any node may lead.
PlacementRule DrawStandbysRule(Random& random) {
  PlacementRule rule;
  rule.standbys = static_cast<std::uint32_t>(random.Between(1, 3));
  if (random.Chance(500)) rule.spread = kZoneLabel;
  return rule;
}

Placement DrawStandbysRules(Random& random, const Plan& plan) {
  Placement placement;
  for (int rules = random.Between(1, 2); rules > 0; --rules) {
    PlacementRule rule = random.Chance(850) ? DrawStandbysRule(random) : PlacementRule{};
    if (random.Chance(300)) rule.shards = DrawRange(random, plan);
    if (random.Chance(200)) rule.require = {{std::string(kZoneLabel), {ZoneOf(1), ZoneOf(2)}}};
    if (random.Chance(200)) rule.prefer.push_back(DrawTerms(random, plan.nodes));
    placement.push_back(std::move(rule));
  }
  return placement;
}

// A rule under which the group comes to rest. Some node fits what it requires.
Placement DrawPlacementToRest(Random random, const Plan& plan) {
  if (plan.placement.empty() || plan.standbys || !random.Chance(600)) return {};
  PlacementRule rule;
  if (random.Chance(300)) rule.shards = DrawRange(random, plan);
  if (random.Chance(600)) {
    rule.require = {{std::string(kZoneLabel), {ZoneOf(random.Between(1, plan.nodes))}}};
    if (random.Chance(500)) rule.require.front().values.push_back(ZoneOf(random.Between(1, 3)));
  }
  for (int left = random.Between(rule.require.empty() ? 1 : 0, 2); left > 0; --left) {
    rule.prefer.push_back(DrawTerms(random, plan.nodes));
  }
  return {rule};
}

StandbyFaults DrawStandbyFaults(Random& random, const Plan& plan) {
  StandbyFaults faults;
  if (random.Chance(300)) faults.throws = random.Between(20, 200);
  if (random.Chance(300)) faults.never = random.Between(20, 300);
  if (random.Chance(500)) faults.takes_back = random.Between(100, 500);
  if (random.Chance(500)) faults.late = random.Between(100, 800);
  if (random.Chance(500)) {
    faults.acquires_for = std::min<Duration>(seconds(1), plan.core.callback_timeout / 4);
  }
  return faults;
}

// In place of other rules.
void DrawStandbys(Random random, Plan& plan) {
  if (!random.Chance(200)) return;
  plan.standbys = true;
  plan.placement.clear();
  Duration at = random.Between(Duration{0}, Duration(seconds(10)));
  for (int left = random.Between(1, 4); left > 0; --left) {
    plan.placement.push_back({.at = at, .placement = DrawStandbysRules(random, plan)});
    at += random.Between(Duration(seconds(1)), plan.troubles / 2);
  }
  if (random.Chance(800)) {
    plan.placement_in_calm.push_back(DrawStandbysRule(random));
    if (random.Chance(300)) plan.placement_in_calm.front().shards = DrawRange(random, plan);
  }
  plan.callbacks.standbys = DrawStandbyFaults(random, plan);
}

bool WithOperators(std::uint64_t seed) {
  return seed >= kFirstSeedWithOperators && seed < kEndOfSeedsWithOperators;
}

constexpr const char* kDisk = "disk";

void WantDisk(Random& random, PlacementRule& rule) {
  LabelTerms terms = {{kDisk, {"ssd"}}};
  if (random.Chance(300)) terms.front().values.emplace_back("nvme");
  if (random.Chance(500)) {
    rule.require = terms;
  } else {
    rule.prefer.insert(rule.prefer.begin(), terms);
  }
}

NodeChange DrawNodeChange(Random& random) {
  NodeChange change;
  if (random.Chance(250)) change.weight = static_cast<std::uint32_t>(random.Between(1, 4));
  if (change.weight && random.Chance(500)) return change;
  const int value = random.Between(0, 3);
  if (value == 0) change.removed.insert(kDisk);
  if (value == 1) change.labels[kDisk] = "nvme";
  if (value > 1) change.labels[kDisk] = "ssd";
  return change;
}

// Some rules want the label then. Under rules for standbys, labels stay.
void DrawNodeOrders(Random random, Plan& plan) {
  const bool may = !plan.placement.empty() && !plan.standbys;
  if (!WithOperators(plan.seed) || !may || !random.Chance(500)) return;
  for (PlacementChange& change : plan.placement) {
    for (PlacementRule& rule : change.placement) {
      if (random.Chance(500)) WantDisk(random, rule);
    }
  }
  for (PlacementRule& rule : plan.placement_to_rest) {
    if (random.Chance(600)) WantDisk(random, rule);
  }
  const bool often = random.Chance(300);
  const auto machine = [&] { return static_cast<std::size_t>(random.Between(0, plan.nodes - 1)); };
  Duration at{0};
  for (int left = random.Between(2, often ? 40 : 8); left > 0; --left) {
    const std::size_t which = machine();
    plan.node_orders.push_back({.at = at, .machine = which, .change = DrawNodeChange(random)});
    at += random.Between(Duration{0}, often ? Duration(seconds(2)) : plan.troubles / 4);
  }
  NodeChange last;
  last.labels[kDisk] = "ssd";
  plan.node_orders.push_back({.at = at, .machine = machine(), .change = last});
}

LimitsChange::DelayOrder DrawDelay(Random& random) {
  if (random.Chance(300)) return {};
  return {milliseconds(random.Chance(200) ? 0 : random.Between(1, 20'000))};
}

std::vector<LimitsOrder> DrawLimits(Random random, const Plan& plan) {
  std::vector<LimitsOrder> orders;
  if (!random.Chance(100)) return orders;
  for (int left = random.Between(1, 8); left > 0; --left) {
    LimitsOrder order{.at = random.Between(Duration{0}, plan.troubles), .limits = {}};
    if (random.Chance(500)) order.limits.rebalance_delay = DrawDelay(random);
    if (random.Chance(500)) order.limits.cooldown = DrawDelay(random);
    const bool number = order.limits.empty() || random.Chance(500);
    if (number) order.limits.max_moves = random.Chance(300) ? 0 : random.Between(1, 64);
    orders.push_back(order);
  }
  return orders;
}

// Some come one after another, so that nearly every commit is slow.
Duration DrawStallGap(Random random, std::uint64_t seed) {
  if (seed < kFirstSeedWithStalls || !random.Chance(250)) return {};
  return milliseconds(random.Chance(300) ? random.Between(50, 1000) : random.Between(2000, 20'000));
}

constexpr const char* kMishapNames[kMishaps] = {
    "pause",
    "kill",
    "start",
    "drain",
    "stop",
    "cut",
    "member down",
    "member frozen",
    "member isolated",
    "member lags",
    "leader moves",
    "quorum lost",
    "stuck leader",
    "watch silent",
    "events repeated",
    "compaction",
    "database full",
    "low limit",
    "operator revokes",
    "operator deletes",
    "operator damages",
    "transfer asked",
    "policy asked",
    "connection lost",
    "twin",
    "stutter",
    "flap",
    "tokens refused",
    "ambush",
    "blind transfer",
    "strike",
    "seldom",
    "stuck leader recovers",
    "late takeover",
    "bad network",
    "commits stall",
};

}  // namespace

bool Possible(Mishap mishap, Personality personality) {
  const bool only_3423 = mishap == Mishap::kStuckLeader || mishap == Mishap::kWatchSilent ||
                         mishap == Mishap::kEventsRepeated || mishap == Mishap::kStuckRecovers ||
                         mishap == Mishap::kLateTakeover;
  return personality == Personality::k3423 || !only_3423;
}

const char* ToString(Mishap mishap) { return kMishapNames[static_cast<std::size_t>(mishap)]; }

Plan DrawPlan(std::uint64_t seed) {
  Random random(seed ^ 0x5EEDu);
  Plan plan;
  plan.seed = seed;
  plan.nodes = random.Between(2, 7);
  plan.core = DrawCore(random);
  if (random.Chance(300)) plan.core.expect_nodes = static_cast<std::uint32_t>(plan.nodes);
  plan.state_directories = random.Chance(700);
  if (random.Chance(300)) plan.next_version = random.Between(200, 800);
  plan.etcd.personality = random.Chance(500) ? Personality::k3423 : Personality::kDocumented;
  plan.etcd.watch_batch = kWatchBatch;
  if (random.Chance(200)) plan.etcd.operations = random.Between(8, 64);
  if (random.Chance(200)) {
    plan.etcd.commit_most = milliseconds(random.Between(5, random.Chance(300) ? 900 : 80));
  }
  plan.lose_deletions = plan.etcd.personality == Personality::k3423 && random.Chance(200);
  if (random.Chance(600)) plan.network = DrawNetwork(random);
  plan.callbacks = DrawCallbacks(random);
  if (random.Chance(300)) plan.app_pause_most = seconds(random.Between(1, 20));
  if (random.Chance(700)) plan.most_ppm = random.Between(0, kMaxPpm);
  const int share = random.Between(150, 700);
  while (static_cast<int>(plan.mishaps.size()) < kFewestMishaps) {
    plan.mishaps.clear();
    for (int mishap = 0; mishap < kDrawnMishaps; ++mishap) {
      const bool possible = Possible(Mishap(mishap), plan.etcd.personality);
      if (random.Chance(share) && possible) plan.mishaps.push_back(Mishap(mishap));
    }
  }
  // One of these makes leaders change: without it a run says little.
  plan.mishaps.push_back(Mishap::kStart);
  plan.mishaps.push_back(random.Chance(500) ? Mishap::kKill : Mishap::kTransfer);
  if (random.Chance(500)) {
    for (int i = random.Between(1, 4); i > 0; --i) plan.mishaps.push_back(Mishap::kStrike);
  }
  plan.troubles = seconds(random.Between(40, 120));
  plan.gap_most = milliseconds(random.Between(300, 5000));
  if (random.Chance(500)) plan.bursts = random.Between(100, 600);
  if (random.Chance(400)) plan.mishaps.push_back(Mishap::kSeldom);
  if (random.Chance(150)) {
    plan.upgrade_at = random.Between(Duration(seconds(1)), plan.troubles / 2);
    if (random.Chance(500)) plan.downgrade_at = random.Between(*plan.upgrade_at, plan.troubles);
    plan.roll_every = milliseconds(random.Between(100, 6000));
  }
  // Drawn apart: seeds without guards are as they were before there were any.
  Random apart(Mixed(seed, kGuardsDraw));
  if (plan.state_directories && apart.Chance(400)) plan.guards = apart.Chance(300) ? 2 : 1;
  plan.health = Random(Mixed(seed, kHealthDraw)).Chance(250);
  plan.failover = DrawFailoverChanges(Random(Mixed(seed, kFailoverDraw)), plan);
  plan.placement = DrawPlacementChanges(Random(Mixed(seed, kPlacementDraw)), plan);
  plan.limits = DrawLimits(Random(Mixed(seed, kLimitsDraw)), plan);
  DrawStandbys(Random(Mixed(seed, kStandbysDraw)), plan);
  plan.placement_to_rest = DrawPlacementToRest(Random(Mixed(seed, kPlacementToRestDraw)), plan);
  plan.operator_asks = WithOperators(seed) && Random(Mixed(seed, kAsksDraw)).Chance(600);
  DrawNodeOrders(Random(Mixed(seed, kNodesDraw)), plan);
  plan.stall_gap_most = DrawStallGap(Random(Mixed(seed, kStallsDraw)), seed);
  return plan;
}

std::string ZoneOf(int machine) { return std::string(1, static_cast<char>('a' + machine % 3)); }

Plan DrawStormPlan(std::uint64_t seed) {
  Random random(Mixed(seed, kStormDraw));
  Plan plan;
  plan.seed = seed;
  plan.nodes = random.Between(2, 4);
  plan.core = DrawCore(random);
  plan.core.shards = static_cast<std::uint32_t>(random.Between(1, 6));
  plan.core.ttl = seconds(random.Between(2, 3));
  plan.core.settle = milliseconds(random.Between(50, 400));
  plan.core.rebalance_delay = milliseconds(random.Between(100, 1000));
  plan.core.cooldown = milliseconds(random.Between(200, 1000));
  plan.core.expect_nodes = static_cast<std::uint32_t>(plan.nodes);
  plan.guards = random.Chance(150) ? 0 : random.Chance(200) ? 2 : 1;
  plan.etcd.personality = random.Chance(500) ? Personality::k3423 : Personality::kDocumented;
  plan.etcd.watch_batch = kWatchBatch;
  if (random.Chance(400)) plan.network = DrawNetwork(random);
  if (random.Chance(300)) plan.callbacks = DrawCallbacks(random);
  if (random.Chance(300)) plan.app_pause_most = seconds(random.Between(1, 20));
  if (random.Chance(700)) plan.most_ppm = random.Between(0, kMaxPpm);
  plan.troubles = seconds(60);
  plan.storms = random.Between(3, 6);
  if (random.Chance(600)) {
    const Duration at = random.Between(Duration{0}, Duration(seconds(3)));
    plan.failover.push_back({.at = at, .settings = DrawFailover(random, plan.core.ttl)});
  }
  return plan;
}

}  // namespace baton::sim
