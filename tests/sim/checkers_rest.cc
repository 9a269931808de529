// The checkers' part for a group at rest: every shard is led, the group is balanced and agrees, and
// nothing is left to do.
#include <algorithm>
#include <numeric>

#include "core/assignment_of_view.h"
#include "sim/checkers.h"

namespace baton::sim {
namespace {

bool SameRecord(const RecordFact& a, const RecordFact& b) {
  if (a.present != b.present) return false;
  return !a.present || (a.revision == b.revision && a.leader == b.leader && a.session == b.session);
}

}  // namespace

core::View Checkers::Truth() const {
  Snapshot snapshot{.revision = Revision{etcd_.store().revision()}, .facts = {}};
  for (const pb::KeyValue* stored : etcd_.store().All()) {
    auto decoded = keyspace_.Decode(*stored);
    if (decoded.fact) snapshot.facts.push_back(std::move(*decoded.fact));
  }
  core::View view(options_.shards, "");
  view.Merge(snapshot, world_.now());
  return view;
}

std::size_t Checkers::MovesNeeded(const NodeId& leaving) const {
  const core::View truth = Truth();
  core::AssignmentOfView assignment = core::AssignmentFrom(truth, seconds(0), world_.now());
  for (core::AssignmentMember& member : assignment.input.members) {
    member.draining = member.draining || member.id == leaving;
  }
  std::vector<bool> movable;
  for (const core::AssignmentShard& shard : assignment.input.shards) {
    const ShardId id = assignment.shard_of[movable.size()];
    const bool leaves =
        shard.leader != core::kNobody && assignment.input.members[shard.leader].draining;
    movable.push_back(leaves || truth.record(id).reason != Reason::kCallbackTimeout);
  }
  return core::PlanMoves(assignment.input, movable, options_.shards).size();
}

// By member: how many shards' records name it.
std::vector<std::size_t> Checkers::LedBy(const std::vector<NodeId>& nodes) const {
  std::vector<std::size_t> led(nodes.size(), 0);
  for (const ShardHistory& seen : shards_) {
    const auto found = std::find(nodes.begin(), nodes.end(), seen.record.leader);
    if (found != nodes.end()) ++led[static_cast<std::size_t>(found - nodes.begin())];
  }
  return led;
}

std::size_t Checkers::FewestMoves(const NodeId& without) const {
  std::vector<NodeId> nodes;
  std::vector<std::uint64_t> weights;
  for (const auto& [node, member] : members_) {
    if (node == without || !member.Live() || member.weight == 0) continue;
    nodes.push_back(node);
    weights.push_back(member.weight);
  }
  const std::uint64_t all = std::accumulate(weights.begin(), weights.end(), std::uint64_t{0});
  const std::vector<std::size_t> led = LedBy(nodes);
  // By largest remainder; of equal ones, members that hold more than their floor come first.
  struct Share {
    std::uint64_t remainder;
    bool holds_more;
    std::uint64_t above_floor;
  };
  std::vector<Share> shares;
  std::uint64_t leftover = options_.shards;
  for (std::size_t n = 0; n < nodes.size(); ++n) {
    const std::uint64_t seats = options_.shards * weights[n];
    const std::uint64_t floor = seats / all;
    leftover -= floor;
    shares.push_back({.remainder = seats % all,
                      .holds_more = led[n] > floor,
                      .above_floor = led[n] > floor ? led[n] - floor : 0});
  }
  std::stable_sort(shares.begin(), shares.end(), [](const Share& a, const Share& b) {
    return std::pair(a.remainder, a.holds_more) > std::pair(b.remainder, b.holds_more);
  });
  std::size_t moves = 0;
  for (std::size_t i = 0; i < shares.size(); ++i) {
    const std::uint64_t seat = i < leftover ? 1 : 0;
    moves += shares[i].above_floor - std::min(seat, shares[i].above_floor);
  }
  return moves;
}

bool Checkers::AllLed() const {
  for (std::uint32_t s = 0; s < options_.shards; ++s) {
    const bool led = std::any_of(processes_.begin(), processes_.end(), [&](const auto& process) {
      return process->alive() && process->Get(ShardId{s}).leads;
    });
    if (!led) return false;
  }
  return true;
}

bool Checkers::IsMember(const NodeId& node) const {
  const auto found = members_.find(node);
  return found != members_.end() && found->second.Live();
}

std::string Checkers::Unrest() const {
  std::string why;
  const core::View truth = Truth();
  if (const std::size_t moves = MovesNeeded(); moves > 0) {
    why += std::to_string(moves) + " moves left to plan; ";
  }
  for (const auto& [shard, move] : truth.moves()) {
    why += "the move of " + Text(shard) + " is open, known to";
    for (const auto& process : processes_) {
      const bool knows = process->alive() && process->core().view().move(shard) != nullptr;
      if (knows) why += " " + process->node();
    }
    why += "; ";
  }
  for (const auto& process : processes_) {
    if (!process->alive()) continue;
    const MemberFact* member = truth.member(process->node());
    if (member == nullptr || !member->Live()) why += process->node() + " is no member; ";
    if (process->core().pending_writes() > 0) why += process->node() + " has writes open; ";
  }
  for (std::uint32_t s = 0; s < options_.shards; ++s) {
    const bool led = std::any_of(processes_.begin(), processes_.end(), [&](const auto& process) {
      return process->alive() && process->Get(ShardId{s}).activated;
    });
    if (!led) why += Text(ShardId{s}) + " is not led and activated; ";
  }
  return why;
}

void Checkers::CheckRest() {
  CheckViews();
  CheckReports();
  CheckFailingEnds();
  // A shard that failed stays where it was tried last, and a node that is failing gets nothing.
  const core::View truth = Truth();
  const bool failed = std::any_of(shards_.begin(), shards_.end(),
                                  [](const ShardHistory& seen) {
                                    return seen.record.reason == Reason::kCallbackTimeout;
                                  }) ||
                      std::any_of(truth.members().begin(), truth.members().end(),
                                  [](const auto& entry) { return entry.second.failing; });
  if (const std::size_t moves = FewestMoves(); moves > 0 && !failed) {
    Violation("I9", "at rest " + std::to_string(moves) + " shards are not where they belong");
  }
  for (std::uint32_t s = 0; s < options_.shards; ++s) {
    const ShardHistory& seen = shards_[s];
    if (seen.record.present && !seen.reported.contains(seen.record.term().value)) {
      Violation("I7", Text(ShardId{s}) + "'s last transition was never reported");
    }
  }
}

// Each process that led reported it, at the latest when it stopped leading.
void Checkers::CheckReports() {
  for (std::uint32_t s = 0; s < options_.shards; ++s) {
    for (const auto& [term, number] : shards_[s].led_by) {
      const Process& process = *Of(number);
      if (!process.alive() || shards_[s].reported.contains(term)) continue;
      Violation("I7", process.node() + " led " + Text(ShardId{s}) + " with term " +
                          std::to_string(term) + " and never reported it");
    }
  }
}

void Checkers::CheckViews() {
  const core::View truth = Truth();
  for (const auto& process : processes_) {
    if (!process->alive()) continue;
    const core::View& view = process->core().view();
    for (std::uint32_t s = 0; s < options_.shards; ++s) {
      if (SameRecord(view.record(ShardId{s}), truth.record(ShardId{s}))) continue;
      Violation("I4", process->node() + " knows another record of " + Text(ShardId{s}));
    }
    for (const auto& [node, member] : truth.members()) {
      const MemberFact* known = view.member(node);
      if (known == nullptr || known->lease != member.lease || known->state != member.state) {
        Violation("I4", process->node() + " knows another member key of " + node);
      }
    }
    for (const auto& [node, member] : view.members()) {
      if (!member.present || truth.member(node) != nullptr) continue;
      Violation("I4", process->node() + " knows the member " + node + ", which is gone");
    }
    if (view.moves().size() != truth.moves().size()) {
      Violation("I4", process->node() + " knows other moves");
    }
    if (!SameRecord(view.balancer(), truth.balancer())) {
      Violation("I4", process->node() + " knows another balancer");
    }
  }
}

}  // namespace baton::sim
