// baton_standbys: a large group on virtual time whose rules ask for standbys. It measures what
// becomes of them when the rules are set, when nothing happens, when a node dies, and when one
// joins: how many standbys begin and end, what is written to etcd to say who is ready, and what
// that costs the nodes' loops.
//
//   baton_standbys [--nodes M --shards N --standbys K]    100, 100000 and 2
//
// There are no faults. Each application loads a shard for up to 3 s. Exit codes: 0 each step came
// to its end, and the node that died or joined made no more standbys begin than 1.2 times what it
// led and stood by for itself, and, in groups of 40 nodes or more, no more than 3 writes of
// readiness a node; 1 not; 2 usage.
#include <algorithm>
#include <chrono>
#include <cstdio>
#include <limits>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "etcd/records.h"
#include "sim/arguments.h"
#include "sim/quiet_log.h"
#include "sim/virtual_group.h"

namespace baton::sim {
namespace {

constexpr Duration kAllStartWithin = seconds(1);
constexpr Duration kLookEvery = milliseconds(100);
constexpr Duration kStepMost = seconds(900);
constexpr Duration kRest = seconds(60);
constexpr int kZones = 3;
constexpr std::uint64_t kMostBegun = 12;  // in tenths of what the node itself has
constexpr std::uint64_t kMostWrites = 3;  // of readiness, by a node, on average
// Nodes of smaller groups may write once a second, so up to four times while shards are loaded.
constexpr int kWritesSeldomFrom = 40;

struct Asked {
  int nodes = 100;
  std::uint32_t shards = 100'000;
  std::uint32_t standbys = 2;
};

/// The work that one step asked of the group.
struct Counts {
  std::map<NodeId, std::uint64_t> begun;  ///< standbys
  std::map<NodeId, std::uint64_t> ended;
  std::map<NodeId, std::uint64_t> taken;  ///< by `acquired`
  std::uint64_t ready_writes = 0;         ///< of member records, that change who is ready
  std::uint64_t ready_bytes = 0;          ///< of these records
  std::uint64_t most_ready_bytes = 0;     ///< of one record
  Duration turns{};                       ///< processor time of all loops
  Duration longest_turn{};
};

/// Counts the callbacks, and the writes of member records.
class Counter final : public QuietObserver, public HistoryObserver {
 public:
  void Follow(EtcdModel& etcd) {
    etcd_ = &etcd;
    etcd.Observe(this);
  }

  void Called(Process& process, ShardId, core::CallbackKind kind, Term) override {
    if (kind == core::CallbackKind::kStandby) ++counts_.begun[process.node()];
    if (kind == core::CallbackKind::kStandbyEnded) ++counts_.ended[process.node()];
    if (kind == core::CallbackKind::kAcquired) ++counts_.taken[process.node()];
  }

  void Committed(std::int64_t revision, int) override {
    for (const pb::Event& event : etcd_->store().EventsOf(revision)) {
      const auto decoded = keyspace_.Decode(event.kv());
      const auto* member = decoded.fact ? std::get_if<MemberFact>(&*decoded.fact) : nullptr;
      if (member == nullptr || event.type() == pb::Event::DELETE) continue;
      std::vector<ShardId>& known = ready_[member->node];
      if (known == member->ready) continue;
      known = member->ready;
      ++counts_.ready_writes;
      counts_.ready_bytes += event.kv().value().size();
      counts_.most_ready_bytes =
          std::max<std::uint64_t>(counts_.most_ready_bytes, event.kv().value().size());
    }
  }
  void LeaseEnded(std::int64_t, LeaseEnd, int) override {}

  void Took(Duration turn) {
    counts_.turns += turn;
    counts_.longest_turn = std::max(counts_.longest_turn, turn);
  }
  Counts Take() { return std::exchange(counts_, Counts{}); }
  /// For how many shards the node's last record says that it is ready.
  std::size_t SaidReady(const NodeId& node) const {
    const auto found = ready_.find(node);
    return found != ready_.end() ? found->second.size() : 0;
  }

 private:
  EtcdModel* etcd_ = nullptr;
  const etcd::Keyspace keyspace_{etcd::kDefaultPrefix, kGroup};
  Counts counts_;
  std::map<NodeId, std::vector<ShardId>> ready_;
};

class WarmGroup {
 public:
  explicit WarmGroup(Asked asked) : asked_(asked) {
    counter_.Follow(etcd_);
    for (int n = 0; n < asked_.nodes; ++n) Add(n);
  }

  bool Elect() {
    for (const auto& process : processes_) {
      world_.After(world_.random().Between(Duration{0}, kAllStartWithin),
                   [&process] { process->Start(); });
    }
    return Measure("elect all", [this] { return AllHeld(); });
  }

  bool SetRules() {
    const std::string key = etcd::Keyspace(etcd::kDefaultPrefix, kGroup).ConfigKey();
    ConfigFact config = etcd::DecodeConfig(etcd_.store().Get(key)->value());
    PlacementRule rule;
    rule.standbys = asked_.standbys;
    rule.spread = kZoneLabel;
    config.schema = kPlacementSchema;
    config.placement = {rule};
    pb::TxnRequest request;
    pb::PutRequest& put = *request.add_success()->mutable_request_put();
    put.set_key(key);
    put.set_value(etcd::EncodeConfig(config));
    etcd_.OperatorTxn(request);
    return Measure("set the rules", [this] { return AllReady(); });
  }

  /// Nothing happens.
  bool Rest() {
    const TimePoint end = world_.now() + kRest;
    return Measure("idle, 60 s", [this, end] { return world_.now() >= end; });
  }

  /// Counted from the end of its lease.
  bool LoseOne() {
    const core::Core& dies = processes_.front()->core();
    const std::size_t leads = dies.leaderships().held().size();
    const std::size_t stands_by = dies.standby_duties().size();
    const std::string what = "a node dies that leads " + std::to_string(leads) +
                             " and stands by for " + std::to_string(stands_by);
    group_.KillAndAwaitTheEndOfItsLease(*processes_.front());
    counter_.Take();
    change_ = {};
    return Measure(what + ": all led", [this] { return AllHeld(); }) &&
           Measure("then: all ready, all even",
                   [this] { return AllHeld() && group_.Even() && AllReady(); }) &&
           ChangesLittle(leads + stands_by);
  }

  bool Join() {
    Add(asked_.nodes);
    processes_.back()->Start();
    change_ = {};
    const bool done = Measure("one node joins: all ready, all even",
                              [this] { return AllHeld() && group_.Even() && AllReady(); });
    const core::Core& joined = processes_.back()->core();
    return done &&
           ChangesLittle(joined.leaderships().held().size() + joined.standby_duties().size());
  }

 private:
  /// The group's changes since a node died or joined.
  struct Change {
    std::uint64_t begun = 0;  ///< standbys
    std::uint64_t writes = 0;
  };

  // `own`: what the node that died or joined leads and stands by for.
  bool ChangesLittle(std::size_t own) const {
    const std::uint64_t most_writes = kMostWrites * static_cast<std::uint64_t>(asked_.nodes);
    const bool seldom = asked_.nodes < kWritesSeldomFrom || change_.writes <= most_writes;
    if (change_.begun * 10 <= own * kMostBegun && seldom) return true;
    std::printf(
        "TOO MUCH: %llu standbys began for a node with %zu, and readiness was written %llu times\n",
        static_cast<unsigned long long>(change_.begun), own,
        static_cast<unsigned long long>(change_.writes));
    return false;
  }

  void Add(int number) {
    core::CoreOptions options =
        VirtualGroup::OptionsFor("n" + std::to_string(number), asked_.shards);
    options.expect_nodes = static_cast<std::uint32_t>(asked_.nodes);
    options.cooldown = seconds(1);
    options.max_moves = 1024;
    options.self.zone = std::string(1, static_cast<char>('a' + number % kZones));
    group_.Add(std::move(options)).executor().Meter([this](Duration took) { counter_.Took(took); });
  }

  template <typename Condition>
  bool Measure(const std::string& what, Condition done) {
    const auto begun = std::chrono::steady_clock::now();
    const TimePoint from = world_.now();
    const std::int64_t revision = etcd_.store().revision();
    bool in_time = true;
    while (in_time && !done()) {
      world_.RunUntil(world_.now() + kLookEvery);
      in_time = world_.now() - from < kStepMost && !world_.stopped();
    }
    const auto real = std::chrono::steady_clock::now() - begun;
    Print(what, in_time, world_.now() - from, real, etcd_.store().revision() - revision);
    return in_time;
  }

  void Print(const std::string& what, bool in_time, Duration took, std::chrono::nanoseconds real,
             std::int64_t revisions) {
    const Counts counts = counter_.Take();
    for (const auto& [node, begun] : counts.begun) change_.begun += begun;
    change_.writes += counts.ready_writes;
    const auto seconds_of = [](auto duration) {
      return std::chrono::duration<double>(duration).count();
    };
    std::printf("| %s | %s%.1f | %.1f | %s | %s | %s | %lld | %llu | %llu | %llu | %.1f | %.1f |\n",
                what.c_str(), in_time ? "" : "not in ", seconds_of(took), seconds_of(real),
                Spread(counts.begun).c_str(), Spread(counts.ended).c_str(),
                Spread(counts.taken).c_str(), static_cast<long long>(revisions),
                static_cast<unsigned long long>(counts.ready_writes),
                static_cast<unsigned long long>(counts.ready_bytes / 1024),
                static_cast<unsigned long long>(counts.most_ready_bytes),
                seconds_of(counts.turns) * 1000 / static_cast<double>(processes_.size()),
                seconds_of(counts.longest_turn) * 1000);
    std::fflush(stdout);
  }

  // Of all nodes, and the most and the least of one that lives.
  std::string Spread(const std::map<NodeId, std::uint64_t>& counts) const {
    std::uint64_t all = 0;
    std::uint64_t most = 0;
    std::uint64_t least = std::numeric_limits<std::uint64_t>::max();
    for (const auto& process : processes_) {
      if (!process->alive()) continue;
      const auto found = counts.find(process->node());
      const std::uint64_t count = found != counts.end() ? found->second : 0;
      all += count;
      most = std::max(most, count);
      least = std::min(least, count);
    }
    return std::to_string(all) + " (" + std::to_string(least) + " to " + std::to_string(most) + ")";
  }

  bool AllHeld() const { return group_.Held() == asked_.shards; }

  /// All standbys are ready, and their nodes' records say so.
  bool AllReady() const {
    std::size_t said = 0;
    std::size_t ready = 0;
    for (const auto& process : processes_) {
      if (!process->alive()) continue;
      said += counter_.SaidReady(process->node());
      ready += process->core().standby_duties().ready();
    }
    const std::size_t all = std::size_t{asked_.standbys} * asked_.shards;
    return said == all && ready == all;
  }

  const Asked asked_;
  Counter counter_;
  Change change_;
  VirtualGroup group_{counter_};
  World& world_ = group_.world();
  EtcdModel& etcd_ = group_.etcd();
  const std::vector<std::unique_ptr<Process>>& processes_ = group_.processes();
};

std::optional<Asked> ParseStandbys(int count, char** words) {
  std::optional<std::uint64_t> nodes;
  std::optional<std::uint64_t> shards;
  std::optional<std::uint64_t> standbys;
  const Arguments arguments{
      .flags = {},
      .numbers = {{"--nodes", &nodes}, {"--shards", &shards}, {"--standbys", &standbys}}};
  if (!Read(arguments, count, words)) return std::nullopt;
  const Asked usual;
  const std::uint64_t most = std::numeric_limits<int>::max();
  if (nodes.value_or(2) < 2 || nodes.value_or(2) > most) return std::nullopt;
  if (shards.value_or(1) < 1 || shards.value_or(1) > most) return std::nullopt;
  if (standbys.value_or(1) < 1 || standbys.value_or(1) > kMaxStandbys) return std::nullopt;
  return Asked{.nodes = static_cast<int>(nodes.value_or(std::uint64_t(usual.nodes))),
               .shards = static_cast<std::uint32_t>(shards.value_or(usual.shards)),
               .standbys = static_cast<std::uint32_t>(standbys.value_or(usual.standbys))};
}

}  // namespace
}  // namespace baton::sim

int main(int count, char** words) {
  const auto asked = baton::sim::ParseStandbys(count, words);
  if (!asked) {
    std::fputs("usage: baton_standbys [--nodes M] [--shards N] [--standbys K]\n", stderr);
    return 2;
  }
  baton::sim::QuietLog(false);
  std::printf(
      "%d nodes, %u shards, %u standbys each; by node: least to most\n\n"
      "| step | virtual s | real s | begun | ended | acquired | revisions | writes of readiness | "
      "KiB of these | largest, bytes | loop, ms a node | longest turn, ms |\n"
      "| --- | --- | --- | --- | --- | --- | --- | --- | --- | --- | --- | --- |\n",
      asked->nodes, asked->shards, asked->standbys);
  baton::sim::WarmGroup group(*asked);
  const bool good =
      group.Elect() && group.SetRules() && group.Rest() && group.LoseOne() && group.Join();
  return good ? 0 : 1;
}
