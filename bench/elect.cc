// Part (a): claims per second by one node, against etcd's other ways in the same run, and three
// nodes.
//
// The clock starts when the node may first claim. The node expects three members. The bench puts a
// second member key with weight 0, waits until the node's watch shows it, and then puts a third:
// once etcd has answered that put, the node may claim, and all shards are its own. So the figure
// leaves out the node's start and the settle time, and includes its watch, its assignment and its
// claims.
#include <algorithm>
#include <functional>
#include <future>
#include <stdexcept>

#include "bench/bare_client.h"
#include "bench/group_watch.h"
#include "bench/nodes.h"
#include "bench/parts.h"
#include "etcd/guarded_txn.h"
#include "etcd/guarded_write.h"
#include "runtime/control.h"

namespace baton::bench {
namespace {

using etcdserverpb::TxnRequest;

constexpr std::size_t kManyInFlight[] = {1, 4, 16, 64, 256};
constexpr std::size_t kFewInFlight[] = {1, 2, 4, 8};
// Campaigns take seconds for each 10,000.
constexpr std::uint32_t kMaxCampaigns = 10'000;
// In the search for the best concurrency: with one transaction in flight, more shards take minutes.
constexpr std::uint32_t kMaxSearched = 10'000;
constexpr std::uint32_t kJudged = 10'000;

/// The prefix of one contender's keys, so that contenders don't meet.
class Groups {
 public:
  std::string Next() { return "bench" + std::to_string(++count_); }

 private:
  int count_ = 0;
};

struct Scene {
  lab::PrivateEtcd& etcd;
  BareClient& client;
  Groups& groups;
  std::uint32_t shards;
};

std::size_t MembersSeenBy(Node& node) {
  std::promise<std::size_t> members;
  node.control().GetStatus([&](const std::shared_ptr<const runtime::NodeStatus>& status) {
    members.set_value(status->members.size());
  });
  return members.get_future().get();
}

double BatonSeconds(const Scene& scene) {
  const std::string group = scene.groups.Next();
  const etcd::Keyspace keyspace(etcd::kDefaultPrefix, group);
  const auto node = StartNode(OptionsFor(scene.etcd, group, "a", scene.shards, 3));
  if (const Status ready = node->WaitReady(std::chrono::seconds(30)); !ready) {
    throw std::runtime_error(ready.error().message);
  }
  scene.client.PutMember(keyspace, "b", 0);
  Await("the node sees a second member", [&] { return MembersSeenBy(*node) == 2; });
  scene.client.PutMember(keyspace, "c", 0);
  const TimePoint begun = BootClock::now();
  std::uint32_t led = 0;
  Await(
      "one node leads every shard",
      [&] {
        while (led < scene.shards && node->Leads(ShardId{led})) ++led;
        return led == scene.shards;
      },
      std::chrono::milliseconds(1));  // polling more often would cost what is measured
  return Seconds(BootClock::now() - begun);
}

// The very transactions that a node's claims become.
double BareSeconds(const Scene& scene, std::size_t in_flight) {
  const etcd::Keyspace keyspace(etcd::kDefaultPrefix, scene.groups.Next());
  ClaimBatch batch{.guard = scene.client.PutMember(keyspace, "a", 1), .claims = {}};
  for (std::uint32_t shard = 0; shard < scene.shards; ++shard) {
    batch.claims.push_back({.shard = ShardId{shard}, .read = {}, .dead = {}});
  }
  const etcd::GuardedWrite write = etcd::MakeGuardedWrite(keyspace, batch);
  std::vector<TxnRequest> requests;
  for (std::size_t first = 0; first < write.items.size();) {
    const auto end = std::min(write.items.size(), first + MaxClaims(0));
    const auto portion = etcd::Fit(write, etcd::Shape::kFlat, first, end, kMaxTxnOperations);
    requests.push_back(*etcd::MakeTxn(portion));
    first += portion.count;
  }
  return Seconds(scene.client.Run(requests, in_flight));
}

double AbsentSeconds(const Scene& scene, std::size_t in_flight) {
  const std::string prefix = "/absent/" + scene.groups.Next() + "/";
  const SessionId lease = scene.client.Grant();
  std::vector<TxnRequest> requests(scene.shards);
  for (std::uint32_t shard = 0; shard < scene.shards; ++shard) {
    const std::string key = prefix + std::to_string(shard);
    auto* compare = requests[shard].add_compare();
    compare->set_target(etcdserverpb::Compare::CREATE);
    compare->set_key(key);
    compare->set_create_revision(0);
    auto* put = requests[shard].add_success()->mutable_request_put();
    put->set_key(key);
    put->set_value("a");
    put->set_lease(lease.value);
  }
  return Seconds(scene.client.Run(requests, in_flight));
}

double CampaignSeconds(const Scene& scene, std::size_t in_flight) {
  const std::string prefix = "/campaign/" + scene.groups.Next() + "/";
  const SessionId lease = scene.client.Grant();
  std::vector<v3electionpb::CampaignRequest> requests(scene.shards);
  for (std::uint32_t shard = 0; shard < scene.shards; ++shard) {
    requests[shard].set_name(prefix + std::to_string(shard));
    requests[shard].set_lease(lease.value);
    requests[shard].set_value("a");
  }
  return Seconds(scene.client.Run(requests, in_flight));
}

/// One way to get every shard a leader.
struct Contender {
  std::string name;
  std::vector<std::size_t> concurrencies;  ///< empty: the contender chooses its own
  std::function<double(const Scene&, std::size_t)> seconds;
  std::size_t best = 0;
  Series rates = {};  ///< claims a second
};

std::vector<Contender> ContendersFor(std::uint32_t shards) {
  std::vector<Contender> contenders;
  contenders.push_back(
      {"Baton", {}, [](const Scene& scene, std::size_t) { return BatonSeconds(scene); }});
  contenders.push_back({"bare transactions of that shape",
                        {std::begin(kFewInFlight), std::end(kFewInFlight)},
                        BareSeconds});
  contenders.push_back({"a create-if-absent transaction each",
                        {std::begin(kManyInFlight), std::end(kManyInFlight)},
                        AbsentSeconds});
  if (shards <= kMaxCampaigns) {
    contenders.push_back(
        {"a Campaign each", {std::begin(kManyInFlight), std::end(kManyInFlight)}, CampaignSeconds});
  }
  return contenders;
}

// A first round finds each contender's best concurrency; the rounds that count use it.
void FindBest(std::uint32_t shards, std::vector<Contender>& contenders) {
  const auto etcd = StartEtcd();
  BareClient client(EndpointOf(*etcd));
  Groups groups;
  const Scene scene{*etcd, client, groups, shards};
  for (Contender& contender : contenders) {
    double least = 0;
    for (const std::size_t concurrency : contender.concurrencies) {
      const double seconds = contender.seconds(scene, concurrency);
      if (contender.best != 0 && seconds >= least) continue;
      least = seconds;
      contender.best = concurrency;
    }
  }
}

void RunRound(std::uint32_t shards, bool reversed, std::vector<Contender>& contenders) {
  const auto etcd = StartEtcd();
  BareClient client(EndpointOf(*etcd));
  Groups groups;
  const Scene scene{*etcd, client, groups, shards};
  std::vector<Contender*> order;
  for (Contender& contender : contenders) order.push_back(&contender);
  if (reversed) std::reverse(order.begin(), order.end());
  for (Contender* contender : order) {
    contender->rates.Add(shards / contender->seconds(scene, contender->best));
  }
}

void Tell(std::uint32_t shards, const std::vector<Contender>& contenders, Report& report) {
  const std::string of = " of " + Grouped(shards) + " shards";
  for (const Contender& contender : contenders) {
    const std::string note =
        contender.best == 0 ? "" : std::to_string(contender.best) + " in flight";
    report.Add({"a", "claims" + of + ": " + contender.name, "claims/s", contender.rates, note});
  }
  const Series& baton = contenders.front().rates;
  for (std::size_t i = 1; i < contenders.size(); ++i) {
    report.Add({"a", "  Baton / " + contenders[i].name, "x", Ratio(baton, contenders[i].rates)});
  }
  Series took;
  for (const double rate : baton.values()) took.Add(1000 * shards / rate);
  report.Add({"a", "all" + of + " led by one node", "ms", took});
}

void Judge(const std::vector<Contender>& contenders, Report& report) {
  const Series& baton = contenders[0].rates;
  const double of_bare = Ratio(baton, contenders[1].rates).Median();
  const double of_campaign = Ratio(baton, contenders[3].rates).Median();
  const std::string where = " (" + Grouped(kJudged) + " shards)";
  report.Judge({"claims per second by one node, of bare transactions of the same shape" + where,
                ">= 0.7 x", Short(of_bare) + " x", of_bare >= 0.7});
  report.Judge({"claims per second by one node, of one Campaign per shard" + where, ">= 10 x",
                Short(of_campaign) + " x", of_campaign >= 10});
}

// Measured from the event of the last node's member key in the bench's own watch to the moment when
// all three nodes report a leader for every shard.
double ThreeNodesMilliseconds(std::uint32_t shards) {
  const auto etcd = StartEtcd();
  BareClient client(EndpointOf(*etcd));
  const std::string group = "three";
  std::vector<std::unique_ptr<Node>> nodes;
  for (const char* id : {"a", "b"}) {
    nodes.push_back(StartNode(OptionsFor(*etcd, group, id, shards, 3)));
    if (const Status ready = nodes.back()->WaitReady(std::chrono::seconds(30)); !ready) {
      throw std::runtime_error(ready.error().message);
    }
  }
  GroupWatch watch(*etcd, group, shards);
  nodes.push_back(StartNode(OptionsFor(*etcd, group, "c", shards, 3)));
  Await("the last node joins", [&] { return watch.Joined("c").has_value(); });
  Await("three nodes share every shard", [&] { return LedAndBalanced(nodes, shards); });
  return Milliseconds(BootClock::now() - *watch.Joined("c"));
}

void MeasureThreeNodes(const Settings& settings, Report& report) {
  Series took;
  for (int i = 0; i < settings.repeat; ++i) took.Add(ThreeNodesMilliseconds(kJudged));
  report.Add(
      {"a", Grouped(kJudged) + " shards over 3 nodes, from the last one's joining", "ms", took});
  report.Judge(
      {Grouped(kJudged) + " shards elected and balanced over 3 nodes, from the last joined",
       "< 1,000 ms", Short(took.Median()) + " ms", took.Median() < 1000});
}

}  // namespace

void MeasureElection(const Settings& settings, Report& report) {
  for (const std::uint32_t shards : settings.sizes()) {
    std::vector<Contender> contenders = ContendersFor(shards);
    FindBest(std::min(shards, kMaxSearched), contenders);
    for (int i = 0; i < settings.repeat; ++i) RunRound(shards, i % 2 == 1, contenders);
    Tell(shards, contenders, report);
    if (shards == kJudged) Judge(contenders, report);
  }
  MeasureThreeNodes(settings, report);
}

}  // namespace baton::bench
