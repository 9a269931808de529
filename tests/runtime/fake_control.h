// A fake node behind Control: a small group in memory that carries out requests.
//
// Each GetStatus is one step of time, in which one move ends (unless frozen). So polling reaches
// the end without clocks or sleeps. Thread-safe.
#pragma once

#include <algorithm>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <utility>
#include <vector>

#include "runtime/control.h"
#include "runtime/history.h"

namespace baton::runtime {

class FakeControl : public Control {
 public:
  /// The nodes lead the shards in blocks, from number 0.
  FakeControl(const std::vector<NodeId>& nodes, std::uint32_t shards) {
    status_.group = "orders";
    status_.version = "0.1.0";
    status_.node = nodes.front();
    status_.balancer = nodes.front();
    status_.shard_count = shards;
    status_.session = SessionPhase::kLive;
    status_.session_id = SessionId{71};
    status_.ready = true;
    status_.revision = Revision{900};
    status_.ttl = std::chrono::seconds(10);
    status_.renewal_age = std::chrono::milliseconds(1200);
    for (const NodeId& node : nodes) status_.members.push_back(MemberOf(node));
    const std::size_t block = (shards + nodes.size() - 1) / nodes.size();
    for (std::uint32_t i = 0; i < shards; ++i) {
      status_.shards.push_back(ShardOf(ShardId{i}, nodes[i / block]));
    }
    Count();
  }

  /// Changes the status.
  template <typename Edit>
  void Change(Edit edit) {
    const std::lock_guard lock(mutex_);
    edit(status_);
    Count();
  }
  /// Stops time: moves don't end.
  void Freeze(bool frozen) {
    const std::lock_guard lock(mutex_);
    frozen_ = frozen;
  }
  /// Stops time when this many moves have ended.
  void FreezeAfterMoves(int moves) {
    const std::lock_guard lock(mutex_);
    moves_left_ = moves;
  }
  /// Makes all later requests fail with this error.
  void FailAll(std::optional<Error> error) {
    const std::lock_guard lock(mutex_);
    failure_ = std::move(error);
  }
  NodeStatus Now() {
    const std::lock_guard lock(mutex_);
    return status_;
  }
  std::vector<PolicyRequest> Policies() {
    const std::lock_guard lock(mutex_);
    return policies_;
  }
  std::vector<TransferRequest> Transfers() {
    const std::lock_guard lock(mutex_);
    return transfers_;
  }
  std::vector<RetryRequest> Retries() {
    const std::lock_guard lock(mutex_);
    return retries_;
  }
  std::vector<GroupChangeRequest> GroupChanges() {
    const std::lock_guard lock(mutex_);
    return group_changes_;
  }
  std::vector<ReleaseRequest> Releases() {
    const std::lock_guard lock(mutex_);
    return releases_;
  }
  std::vector<NodeChangeRequest> NodeChanges() {
    const std::lock_guard lock(mutex_);
    return node_changes_;
  }
  /// The texts of the records in the node's log.
  std::vector<std::string> Logged() {
    const std::lock_guard lock(mutex_);
    return logged_;
  }
  /// The shard fails to activate, after so many attempts.
  void FailActivation(ShardId shard, std::uint32_t attempts, std::string error) {
    const std::lock_guard lock(mutex_);
    ShardStatus& failing = status_.shards[shard.value];
    failing.state = ShardState::kActivating;
    failing.failing = FailingActivation{
        .attempts = attempts, .lasted = std::chrono::seconds(95), .last_error = std::move(error)};
    Count();
  }
  /// The next retry of a shard succeeds, or fails with this error.
  void NextTry(std::optional<std::string> error) {
    const std::lock_guard lock(mutex_);
    next_try_ = std::move(error);
  }

  const std::shared_ptr<History> kept = std::make_shared<History>("orders", "n1", 100);

  void GetStatus(std::function<void(std::shared_ptr<const NodeStatus>)> handler) override {
    handler(NextStatus());
  }
  void Log(LogLevel, std::string_view message, log::Fields fields) override {
    const std::lock_guard lock(mutex_);
    logged_.push_back(log::FormatMessage(message, fields));
  }
  bool Alive() const noexcept override { return true; }
  bool Ready() const noexcept override { return true; }
  baton::Leadership LeadershipOf(ShardId shard) const noexcept override {
    return {shard, Term{}, false, false};
  }

  void Request(TransferRequest request, std::function<void(Result<MoveFact>)> handler) override {
    handler(Written(request));
  }
  void Request(PolicyRequest request, std::function<void(Status)> handler) override {
    handler(Set(request));
  }
  void Request(RetryRequest request, std::function<void(Result<std::uint32_t>)> handler) override {
    handler(Tried(request));
  }
  void Request(GroupChangeRequest request, std::function<void(Status)> handler) override {
    handler(Changed(request));
  }
  void Request(ReleaseRequest request, std::function<void(Status)> handler) override {
    handler(Released(request));
  }
  void Request(NodeChangeRequest request,
               std::function<void(Result<NodeChanged>)> handler) override {
    handler(NodeSet(request));
  }
  void PlanRebalance(std::function<void(Result<std::vector<MoveFact>>)> handler) override {
    handler(Plan());
  }
  std::shared_ptr<const History> history() const override { return kept; }
  void AddRouteObserver(std::shared_ptr<RouteObserver>) override {}
  void AddObserver(std::shared_ptr<Observer>) override {}
  std::map<std::pair<std::string, std::string>, CallStats> EtcdCalls() const override { return {}; }

 private:
  static MemberStatus MemberOf(const NodeId& node) {
    MemberStatus member;
    MemberFact& fact = member.fact;
    fact.node = node;
    fact.present = true;
    fact.session = fact.lease = SessionId{70 + node.back() - '0'};
    fact.ttl = std::chrono::seconds(10);
    fact.address = "127.0.0.1:740" + node.substr(node.size() - 1);
    fact.service_address = fact.address;
    fact.software_version = "0.1.0";
    return member;
  }
  static ShardStatus ShardOf(ShardId shard, const NodeId& leader) {
    ShardStatus status;
    status.shard = shard;
    status.leader = leader;
    status.address = "127.0.0.1:740" + leader.substr(leader.size() - 1);
    status.term = Term{800 + shard.value};
    status.state = ShardState::kLed;
    return status;
  }
  static bool Takes(const MemberStatus& member) {
    return member.fact.Live() && !member.drained_by_policy && member.fact.weight > 0;
  }

  /// Sets led, target, leaderless and failing from the shards.
  void Count() {
    status_.leaderless = 0;
    status_.worst_failing.clear();
    for (const ShardStatus& shard : status_.shards) {
      if (shard.failing) status_.worst_failing.push_back(shard);
    }
    status_.failing = static_cast<std::uint32_t>(status_.worst_failing.size());
    std::sort(status_.worst_failing.begin(), status_.worst_failing.end(), WorseFailing);
    std::map<NodeId, std::uint32_t> led;
    for (const ShardStatus& shard : status_.shards) {
      if (shard.leader.empty()) ++status_.leaderless;
      ++led[shard.leader];
    }
    const auto takers = static_cast<std::uint32_t>(
        std::count_if(status_.members.begin(), status_.members.end(), Takes));
    std::uint32_t place = 0;
    for (MemberStatus& member : status_.members) {
      member.led = led[member.fact.node];
      member.told_target = takers == 0 ? member.led : 0;
      if (!Takes(member)) continue;
      member.told_target =
          status_.shard_count / takers + (place++ < status_.shard_count % takers ? 1 : 0);
    }
  }

  MemberStatus* Find(const NodeId& node) {
    for (MemberStatus& member : status_.members) {
      if (member.fact.node == node) return &member;
    }
    return nullptr;
  }

  /// The moves that balance needs: from nodes above their target to nodes below it.
  std::vector<MoveFact> Needed() const {
    std::map<NodeId, std::int64_t> spare;
    for (const MemberStatus& member : status_.members) {
      spare[member.fact.node] = std::int64_t{member.told_target} - member.led;
    }
    std::vector<MoveFact> moves;
    for (const ShardStatus& shard : status_.shards) {
      const auto to = std::find_if(spare.begin(), spare.end(),
                                   [](const auto& entry) { return entry.second > 0; });
      if (to == spare.end()) break;
      if (shard.leader.empty() || spare[shard.leader] >= 0) continue;
      moves.push_back(MoveOf(shard, to->first));
      ++spare[shard.leader];
      --to->second;
    }
    return moves;
  }

  MoveFact MoveOf(const ShardStatus& shard, const NodeId& to) const {
    MoveFact move;
    move.shard = shard.shard;
    move.present = true;
    move.revision = status_.revision;
    move.ends = shard.term;
    move.from = shard.leader;
    move.to = to;
    return move;
  }

  /// One step: a move ends, or, if there is none, the request for a rebalance does.
  void Step() {
    ++status_.revision.value;
    for (ShardStatus& shard : status_.shards) {
      if (!shard.move) continue;
      Carry(shard);
      return;
    }
    const bool draining = std::any_of(
        status_.members.begin(), status_.members.end(),
        [](const MemberStatus& member) { return member.drained_by_policy && member.led > 0; });
    if (!draining && !status_.rebalance_requested) return;
    for (const MoveFact& move : Needed()) {
      status_.shards[move.shard.value].move = std::make_shared<const MoveFact>(move);
    }
    if (Needed().empty()) status_.rebalance_requested = false;
  }

  void Carry(ShardStatus& shard) {
    Transition transition;
    transition.shard = shard.shard;
    transition.reason = shard.move->reason;
    transition.from = shard.leader;
    transition.to = shard.move->to;
    transition.term = Term{status_.revision.value};
    transition.elect = std::chrono::milliseconds(7);
    shard.previous = shard.leader;
    shard.leader = shard.move->to;
    shard.address = "127.0.0.1:740" + shard.leader.substr(shard.leader.size() - 1);
    shard.term = transition.term;
    shard.reason = transition.reason;
    shard.move.reset();
    status_.recent.push_back(transition);
    Count();
    if (--moves_left_ == 0) frozen_ = true;
  }

  std::shared_ptr<const NodeStatus> NextStatus() {
    const std::lock_guard lock(mutex_);
    if (!frozen_) Step();
    return std::make_shared<const NodeStatus>(status_);
  }

  Result<MoveFact> Written(const TransferRequest& request) {
    const std::lock_guard lock(mutex_);
    transfers_.push_back(request);
    if (failure_) return *failure_;
    if (request.shard.value >= status_.shards.size()) {
      return Error{ErrorCode::kNotFound, "no shard " + std::to_string(request.shard.value)};
    }
    if (Find(request.to) == nullptr) return Error{ErrorCode::kNotFound, "no node " + request.to};
    ShardStatus& shard = status_.shards[request.shard.value];
    if (request.if_term && *request.if_term != shard.term) {
      return Error{ErrorCode::kFailedPrecondition,
                   "the term is " + std::to_string(shard.term.value)};
    }
    MoveFact move = MoveOf(shard, request.to);
    move.reason = Reason::kOperator;
    move.actor = request.actor;
    if (!request.dry_run) shard.move = std::make_shared<const MoveFact>(move);
    return move;
  }

  Result<std::uint32_t> Tried(const RetryRequest& request) {
    const std::lock_guard lock(mutex_);
    retries_.push_back(request);
    if (failure_) return *failure_;
    if (request.shard.value >= status_.shards.size()) {
      return Error{ErrorCode::kNotFound, "no shard " + std::to_string(request.shard.value)};
    }
    ShardStatus& shard = status_.shards[request.shard.value];
    if (!shard.failing) return Error{ErrorCode::kFailedPrecondition, "it is active"};
    const std::uint32_t attempts = shard.failing->attempts;
    if (request.dry_run) return attempts;
    if (next_try_) {
      shard.failing->attempts = attempts + 1;
      shard.failing->last_error = *next_try_;
    } else {
      shard.failing.reset();
      shard.state = ShardState::kLed;
    }
    Count();
    return attempts;
  }

  void SetLimits(const LimitsChange& limits) {
    if (limits.max_moves) status_.max_moves = *limits.max_moves;
    if (limits.rebalance_delay) status_.rebalance_delay = limits.rebalance_delay->delay;
    if (limits.cooldown) status_.cooldown = limits.cooldown->delay;
  }

  Status Set(const PolicyRequest& request) {
    const std::lock_guard lock(mutex_);
    policies_.push_back(request);
    if (failure_) return *failure_;
    using Verb = PolicyRequest::Verb;
    MemberStatus* member = Find(request.node);
    const bool names_node = request.verb == Verb::kDrain || request.verb == Verb::kUndrain;
    if (names_node && member == nullptr) {
      return Error{ErrorCode::kNotFound, "no node " + request.node};
    }
    if (request.dry_run) return Ok();
    switch (request.verb) {
      case Verb::kDrain: member->drained_by_policy = true; break;
      case Verb::kUndrain: member->drained_by_policy = false; break;
      case Verb::kPause: status_.paused = true; break;
      case Verb::kResume: status_.paused = false; break;
      case Verb::kApplyRebalance: status_.rebalance_requested = true; break;
      case Verb::kCancelRebalance: status_.rebalance_requested = false; break;
      case Verb::kSetExpectedNodes: status_.expected_nodes = request.number; break;
      case Verb::kSetLimits: SetLimits(request.limits); break;
    }
    Count();
    return Ok();
  }

  Status Changed(const GroupChangeRequest& request) {
    const std::lock_guard lock(mutex_);
    group_changes_.push_back(request);
    if (failure_) return *failure_;
    if (request.dry_run) return Ok();
    FailoverSettings& settings = status_.failover;
    settings.policy = request.failover.value_or(settings.policy);
    settings.delay = request.delay.value_or(settings.delay);
    settings.lock_delay = request.lock_delay.value_or(settings.lock_delay);
    if (request.placement) status_.placement = *request.placement;
    const std::uint32_t schema = request.placement ? kPlacementSchema : kFailoverSchema;
    status_.config_schema = std::max(status_.config_schema, schema);
    return Ok();
  }

  Status Released(const ReleaseRequest& request) {
    const std::lock_guard lock(mutex_);
    releases_.push_back(request);
    if (failure_) return *failure_;
    if (request.shard.value >= status_.shards.size()) {
      return Error{ErrorCode::kNotFound, "no shard " + std::to_string(request.shard.value)};
    }
    ShardStatus& shard = status_.shards[request.shard.value];
    if (!shard.leader.empty()) return Error{ErrorCode::kFailedPrecondition, "it is led"};
    if (!request.dry_run) shard.waits_for.clear();
    return Ok();
  }

  Result<NodeChanged> NodeSet(const NodeChangeRequest& request) {
    const std::lock_guard lock(mutex_);
    node_changes_.push_back(request);
    if (failure_) return *failure_;
    if (request.node != status_.node) {
      return Error{ErrorCode::kFailedPrecondition, "ask " + request.node};
    }
    MemberFact& fact = Find(request.node)->fact;
    const NodeSettings before{.weight = fact.weight, .labels = fact.labels};
    const Result<NodeSettings> after = SettingsAfter(before, request.change);
    if (!after) return after.error();
    const NodeChanged changed{.settings = *after, .differs = *after != before};
    if (request.dry_run) return changed;
    fact.weight = after->weight;
    fact.labels = after->labels;
    Count();
    return changed;
  }

  Result<std::vector<MoveFact>> Plan() {
    const std::lock_guard lock(mutex_);
    if (failure_) return *failure_;
    return Needed();
  }

  std::mutex mutex_;
  NodeStatus status_;  // guarded by mutex_, like everything below
  bool frozen_ = false;
  int moves_left_ = 0;  ///< 0 or below: no limit
  std::optional<Error> failure_;
  std::vector<PolicyRequest> policies_;
  std::vector<std::string> logged_;
  std::vector<TransferRequest> transfers_;
  std::vector<RetryRequest> retries_;
  std::vector<GroupChangeRequest> group_changes_;
  std::vector<ReleaseRequest> releases_;
  std::vector<NodeChangeRequest> node_changes_;
  std::optional<std::string> next_try_;
};

}  // namespace baton::runtime
