// Checks what must hold at every instant of a cluster's run, and once it has settled.
#include <algorithm>
#include <numeric>
#include <sstream>

#include "core/cluster.h"
#include "core/succession.h"

namespace baton::test {
namespace {

// The leaderships that a write gives away once it is sent.
std::vector<std::pair<ShardId, Term>> GivenAwayBy(const Write& write) {
  std::vector<std::pair<ShardId, Term>> result;
  if (const auto* transfers = std::get_if<TransferBatch>(&write)) {
    for (const Transfer& transfer : transfers->transfers) {
      result.emplace_back(transfer.shard, transfer.term);
    }
  } else if (const auto* resigns = std::get_if<ResignBatch>(&write)) {
    for (const Resign& resign : resigns->resigns) {
      if (resign.shard) result.emplace_back(*resign.shard, resign.term);
    }
  }
  return result;
}

std::size_t CountOf(const Write& write) {
  if (const auto* claims = std::get_if<ClaimBatch>(&write)) {
    std::set<SessionRef> dead;
    for (const Claim& claim : claims->claims) {
      if (claim.dead) dead.insert(*claim.dead);
    }
    return claims->claims.size() + 2 + dead.size();
  }
  if (const auto* transfers = std::get_if<TransferBatch>(&write)) {
    std::set<SessionRef> targets;
    for (const Transfer& transfer : transfers->transfers) targets.insert(transfer.to);
    return 2 * transfers->transfers.size() + targets.size();
  }
  if (const auto* resigns = std::get_if<ResignBatch>(&write)) return resigns->resigns.size();
  if (const auto* moves = std::get_if<MoveBatch>(&write)) return moves->moves.size() + 3;
  return 1;
}

// etcd refuses a transaction that writes a key twice.
template <typename Item, typename ShardOf>
bool NamesOneTwice(const std::vector<Item>& items, ShardOf shard_of) {
  std::set<std::optional<ShardId>> named;
  return !std::all_of(items.begin(), items.end(),
                      [&](const Item& item) { return named.insert(shard_of(item)).second; });
}

bool NamesAShardTwice(const Write& write) {
  const auto shard = [](const auto& item) { return std::optional<ShardId>(item.shard); };
  if (const auto* claims = std::get_if<ClaimBatch>(&write))
    return NamesOneTwice(claims->claims, shard);
  if (const auto* transfers = std::get_if<TransferBatch>(&write))
    return NamesOneTwice(transfers->transfers, shard);
  if (const auto* abandons = std::get_if<AbandonBatch>(&write))
    return NamesOneTwice(abandons->abandons, shard);
  if (const auto* resigns = std::get_if<ResignBatch>(&write))
    return NamesOneTwice(resigns->resigns, shard);
  if (const auto* moves = std::get_if<MoveBatch>(&write))
    return NamesOneTwice(moves->moves,
                         [](const MoveWrite& item) { return std::optional(item.move.shard); });
  return false;
}

}  // namespace

void Cluster::Violation(const std::string& text) {
  std::ostringstream line;
  const auto since = std::chrono::duration_cast<milliseconds>(now_ - TimePoint(seconds(1000)));
  line << "at " << since.count() << " ms: " << text;
  violations_.push_back(line.str());
}

// ---- at every instant --------------------------------------------------------------------------

// Whether an operator took the leadership behind the cluster's back: only the fence protects it.
bool Cluster::Excused(const Node& node, ShardId shard, Term term) const {
  const auto broken = broken_records_.find(shard);
  if (broken != broken_records_.end() && term.value <= broken->second.value) return true;
  return node.core != nullptr && broken_sessions_.contains(node.core->session().id());
}

// A step changes what its own node leads, or etcd. So while etcd is unchanged since the last check,
// only that node can have become wrong, and only if it did something. A second leader of a shard is
// found as well, because it is not the one that etcd names.
void Cluster::Check(const Node& stepped, bool idle) {
  if (store_.revision() == checked_) {
    if (!idle) CheckLed(stepped, stepped);
    return;
  }
  checked_ = store_.revision();
  std::map<ShardId, NodeId> leader;
  for (const auto& [id, node] : nodes_) {
    if (!node.core || now_ >= node.deadline) continue;
    for (const auto& [shard, led] : node.leads) {
      if (Excused(node, shard, led.first)) continue;
      const auto [other, alone] = leader.emplace(shard, id);
      if (!alone) {
        Violation("two leaders of " + Text(shard) + ": " + other->second + " and " + id +
                  ", after a step of " + stepped.id);
      }
    }
    CheckLed(node, stepped);
  }
}

// The rule: while a session's member key lives, only that session changes the records that name it.
void Cluster::CheckLed(const Node& node, const Node& stepped) {
  if (!node.core || now_ >= node.deadline) return;
  for (const auto& [shard, led] : node.leads) {
    if (Excused(node, shard, led.first)) continue;
    const RecordFact record = store_.Record(shard);
    const bool own = record.leader == node.id && record.term() == led.first &&
                     store_.Live({record.leader, record.session});
    if (!own) {
      Violation(node.id + " leads " + Text(shard) + " with " + Text(led.first) +
                " after a step of " + stepped.id + ", but etcd says " +
                (record.leader.empty() ? "nobody" : record.leader) + " with " +
                Text(record.term()));
    }
    const auto given = node.given_away.find({shard, led.first});
    if (given != node.given_away.end() && !given->second.empty()) {
      Violation(node.id + " leads " + Text(shard) +
                " although the outcome of a write that gives it away is not definite");
    }
  }
}

void Cluster::CheckPublished(Node& node, const core::SetLeadership& published) {
  if (published.term.value == 0) return;
  Term& last = node.last_term[published.shard];
  if (published.term < last) {
    Violation(node.id + " goes back from " + Text(last) + " to " + Text(published.term) + " of " +
              Text(published.shard));
  }
  last = published.term;
}

void Cluster::CheckWrite(Node& node, const core::SubmitWrite& submit) {
  if (CountOf(*submit.write) > kMaxTxnOperations) Violation(node.id + " sends too large a write");
  if (NamesAShardTwice(*submit.write)) Violation(node.id + " names a shard twice in a write");
  for (const auto& given : GivenAwayBy(*submit.write)) {
    if (node.leads.contains(given.first) && node.leads.at(given.first).first == given.second) {
      Violation(node.id + " gives " + Text(given.first) + " away before it stopped leading it");
    }
    node.given_away[given].insert(submit.operation);
  }
  node.sent.emplace(submit.operation, *submit.write);
}

// An answer makes a write's outcome definite.
void Cluster::Settle(Node& node, const core::WriteAnswered& event) {
  const auto sent = node.sent.find(event.operation);
  if (sent == node.sent.end() || event.result.outcome == Outcome::kUnknown) return;
  for (const auto& given : GivenAwayBy(sent->second)) node.given_away[given].erase(event.operation);
  SettleAbandoned(node, sent->second, event.result);
  node.sent.erase(sent);
}

// An abandon that is done makes the outcome of transfers that were sent before it definite.
void Cluster::SettleAbandoned(Node& node, const Write& write, const WriteResult& result) {
  const auto* abandons = std::get_if<AbandonBatch>(&write);
  if (abandons == nullptr) return;
  for (std::size_t i = 0; i < abandons->abandons.size(); ++i) {
    if (i >= result.items.size() || result.items[i] != Outcome::kDone) continue;
    const Abandon& abandon = abandons->abandons[i];
    std::erase_if(node.given_away[{abandon.shard, abandon.term}], [&](core::OperationId earlier) {
      return IsA<TransferBatch>(node.sent.at(earlier));
    });
  }
}

void Cluster::CheckReport(Node& node, const Transition& transition) {
  const bool gap = transition.reason == Reason::kSuspended ||
                   (transition.reason == Reason::kResumed && transition.from.empty());
  if (gap || transition.to != node.id) return;
  if (!node.reported.insert({transition.shard, transition.term}).second) {
    Violation(node.id + " reports " + Text(transition.shard) + " " + Text(transition.term) +
              " twice");
  }
}

// ---- what can be seen --------------------------------------------------------------------------

// One hour after 1970 at the start, plus what this node's clock is wrong by.
WallTime Cluster::WallClockOf(const NodeId& id) const {
  const Duration since_start = now_.time_since_epoch();
  return WallTime(std::chrono::hours(1)) + nodes_.at(id).wall_clock_off +
         std::chrono::duration_cast<seconds>(since_start);
}

bool Cluster::Running(const NodeId& id) const {
  const Node& node = nodes_.at(id);
  return node.core != nullptr && !node.paused;
}

bool Cluster::Leads(const NodeId& id, ShardId shard) const {
  const Node& node = nodes_.at(id);
  return node.core && now_ < node.deadline && node.leads.contains(shard);
}

bool Cluster::Activated(const NodeId& id, ShardId shard) const {
  return Leads(id, shard) && nodes_.at(id).leads.at(shard).second;
}

NodeId Cluster::LeaderOf(ShardId shard) const {
  for (const auto& [id, node] : nodes_) {
    if (Leads(id, shard)) return id;
  }
  return {};
}

std::vector<ShardId> Cluster::ShardsOf(const NodeId& id) const {
  std::vector<ShardId> result;
  for (std::uint32_t s = 0; s < options_.shards; ++s) {
    if (Leads(id, ShardId{s})) result.push_back(ShardId{s});
  }
  return result;
}

std::size_t Cluster::LedBy(const NodeId& id) const { return ShardsOf(id).size(); }

std::optional<Error> Cluster::halted(const NodeId& id) const { return nodes_.at(id).halted; }

std::vector<Transition> Cluster::TransitionsOf(Reason reason) const {
  std::vector<Transition> result;
  for (const auto& [node, transition] : transitions_) {
    if (transition.reason == reason) result.push_back(transition);
  }
  return result;
}

bool Cluster::Settled() const { return WhyNotSettled().empty(); }

std::string Cluster::WhyNotSettled() const {
  std::ostringstream why;
  core::View truth(options_.shards, "");
  truth.Merge(store_.Read(), now_);
  const core::AssignmentOfView assignment = core::AssignmentFrom(truth, seconds(0), now_);
  // A shard whose callback failed elsewhere stays where it is.
  std::vector<bool> movable;
  for (const ShardId shard : assignment.shard_of) {
    movable.push_back(store_.Record(shard).reason != Reason::kCallbackTimeout);
  }
  const auto moves = core::PlanMoves(assignment.input, movable, options_.shards);
  if (!moves.empty()) why << moves.size() << " moves left to plan; ";
  if (store_.MoveCount() > 0) why << store_.MoveCount() << " moves open; ";
  for (const auto& [id, node] : nodes_) {
    if (!node.core) continue;
    if (!store_.Member(id).Live()) why << id << " is no member; ";
    for (const auto& [shard, held] : node.core->leaderships().held()) {
      if (held.unreported) why << Text(shard) << "'s transition is not reported; ";
    }
  }
  for (std::uint32_t s = 0; s < options_.shards; ++s) {
    const ShardId shard{s};
    const NodeId leader = LeaderOf(shard);
    if (leader.empty() || !Activated(leader, shard)) {
      const RecordFact record = store_.Record(shard);
      why << Text(shard) << (leader.empty() ? " is led by nobody" : " is not activated")
          << " (record: " << (record.present ? "present " : "absent ") << record.leader << "); ";
    }
  }
  return why.str();
}

}  // namespace baton::test
