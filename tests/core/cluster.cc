#include "core/cluster.h"

#include <algorithm>

namespace baton::test {
namespace {

constexpr Duration kCallBound = seconds(1);  // the runtime's deadline of unary calls

std::uint64_t Mix(std::uint64_t& state) {  // splitmix64
  state += 0x9e3779b97f4a7c15ull;
  std::uint64_t z = state;
  z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9ull;
  z = (z ^ (z >> 27)) * 0x94d049bb133111ebull;
  return z ^ (z >> 31);
}

WriteResult Denied() {
  return {.outcome = Outcome::kRefused, .detail = "permission denied", .permanent = true};
}

}  // namespace

Cluster::Cluster(ClusterOptions options) : options_(std::move(options)), random_(options_.seed) {
  for (int i = 1; i <= options_.nodes; ++i) {
    const NodeId id = "n" + std::to_string(i);
    nodes_[id].id = id;
  }
  noticed_ = store_.revision();
}

std::uint64_t Cluster::Random(std::uint64_t below) { return below == 0 ? 0 : Mix(random_) % below; }

Duration Cluster::Latency() {
  const auto spread = std::uint64_t((options_.latency_most - options_.latency_least).count());
  return options_.latency_least + Duration(static_cast<std::int64_t>(Random(spread + 1)));
}

std::vector<NodeId> Cluster::names() const {
  std::vector<NodeId> result;
  for (const auto& [id, node] : nodes_) result.push_back(id);
  return result;
}

// ---- processes ---------------------------------------------------------------------------------

void Cluster::Start(const NodeId& id, bool proof) {
  Node& node = nodes_[id];
  node.id = id;
  Kill(id);
  core::CoreOptions options;
  options.shards = options_.shards;
  options.self.node = id;
  options.self.address = id + ":7400";
  options.has_listener = options_.listener;
  if (proof && node.recorded.value != 0) options.proven_dead = {node.recorded};
  options.highest_committed = node.highest;
  options.random = [this] { return Mix(random_); };
  options.wall_clock = [this, id] { return WallClockOf(id); };
  options_.tune(options);
  node.core = std::make_unique<core::Core>(std::move(options));
  node.paused = false;
  node.finished.reset();
  node.halted.reset();
  node.wake_at = now_;
  ReadSnapshot(node);
  Wake(node);
}

void Cluster::StartAll() {
  for (const NodeId& id : names()) Start(id);
}

void Cluster::Kill(const NodeId& id) {
  Node& node = nodes_.at(id);
  if (node.core) node.highest = std::max(node.highest, node.core->highest_committed());
  node.core.reset();
  ++node.generation;
  node.inbox.clear();
  node.deadline = TimePoint::min();
  node.leads.clear();
  node.unanswered = 0;
  ++node.stream;
  node.watching = node.stuck = node.watch_scheduled = false;
  node.callbacks.clear();
  node.given_away.clear();
  node.sent.clear();
  node.last_term.clear();
}

void Cluster::Pause(const NodeId& id) { nodes_.at(id).paused = true; }

void Cluster::Resume(const NodeId& id) {
  Node& node = nodes_.at(id);
  node.paused = false;
  std::deque<core::Event> waiting;
  waiting.swap(node.inbox);
  for (core::Event& event : waiting) Deliver(id, std::move(event));
  node.wake_at = now_;
  Wake(node);
}

core::RequestId Cluster::Transfer(const NodeId& via, core::TransferRequested ask) {
  ask.request = next_request_++;
  if (ask.actor.empty()) ask.actor = "alice";
  Deliver(via, ask);
  return ask.request;
}

core::RequestId Cluster::Policy(const NodeId& via, const PolicyName& name, bool present,
                                TimePoint answer_by) {
  const core::RequestId request = next_request_++;
  Deliver(via, core::PolicyRequested{request, name, present, "alice", answer_by});
  return request;
}

// ---- faults ------------------------------------------------------------------------------------

void Cluster::CutOff(const NodeId& id, bool cut) { nodes_.at(id).cut = cut; }
void Cluster::Outage(bool out) {
  outage_ = out;
  if (out) return;
  store_.ElectLeader(now_);  // leases continue from here, with their full TTL
  ScheduleWatches();
}
// The others elect a new leader; the old one does not know, and knows only its own raft term.
void Cluster::LieToKeepAlives(const NodeId& id, bool lie) {
  Node& node = nodes_.at(id);
  node.lied_term = lie ? store_.raft_term : 0;
  if (lie) store_.ElectLeader(now_);
  ScheduleWatches();
}
void Cluster::StickWatch(const NodeId& id) { nodes_.at(id).stuck = true; }
void Cluster::HoldWatch(const NodeId& id, bool hold) {
  nodes_.at(id).watch_held = hold;
  if (!hold) {
    noticed_ = Revision{};
    ScheduleWatches();
  }
}
void Cluster::LoseReplies(const NodeId& id, bool lose) { nodes_.at(id).lose_replies = lose; }
void Cluster::HoldWrites(const NodeId& id) { nodes_.at(id).hold_writes = true; }
void Cluster::LetWrites(const NodeId& id) {
  Node& node = nodes_.at(id);
  node.hold_writes = false;
  std::vector<std::function<void()>> waiting;
  waiting.swap(node.held_writes);
  for (const auto& write : waiting) write();
  ScheduleWatches();
}
void Cluster::Behave(const NodeId& id, core::CallbackKind kind, Behaviour behaviour) {
  nodes_.at(id).behaviour[{kind, std::nullopt}] = behaviour;
}
void Cluster::Behave(const NodeId& id, core::CallbackKind kind, ShardId shard,
                     Behaviour behaviour) {
  nodes_.at(id).behaviour[{kind, shard}] = behaviour;
}

void Cluster::RevokeLeaseOf(const NodeId& id) {
  const SessionId session = store_.Member(id).lease;
  broken_sessions_.insert(session);
  store_.Revoke(session);
  ScheduleWatches();
}
void Cluster::DeleteMember(const NodeId& id) {
  broken_sessions_.insert(store_.Member(id).lease);
  store_.Delete("members/" + id);
  ScheduleWatches();
}
void Cluster::DeleteRecord(ShardId shard) {
  store_.Delete(ShardKey(shard));
  broken_records_[shard] = store_.revision();
  ScheduleWatches();
}
void Cluster::DeletePolicies() {
  for (const Fact& fact : store_.Read().facts) {
    if (std::holds_alternative<PolicyFact>(fact)) store_.Delete(KeyOf(fact));
  }
  ScheduleWatches();
}
void Cluster::DamageRecord(ShardId shard, Readability readability) {
  RecordFact garbage;
  garbage.present = true;
  garbage.readability = readability;
  garbage.damaged_value = "garbage";
  store_.Put(ShardRecordFact{shard, garbage});
  broken_records_[shard] = store_.revision();
  ScheduleWatches();
}

// ---- time --------------------------------------------------------------------------------------

void Cluster::At(TimePoint at, std::function<void()> then) {
  queue_.push({std::max(at, now_), order_++, std::move(then)});
}

void Cluster::Wake(Node& node) {
  if (!node.core || node.wake_at == TimePoint::max()) return;
  const TimePoint at = std::max(node.wake_at, now_);
  At(at, [this, id = node.id, generation = node.generation, at] {
    Node& woken = nodes_.at(id);
    if (woken.generation != generation || !woken.core || woken.paused) return;
    if (woken.wake_at > at) return;  // an event came before and asked for a later time
    Step(woken, core::Tick{});
  });
}

bool Cluster::Next(TimePoint until) {
  if (queue_.empty() || queue_.top().at > until) return false;
  const Scheduled next = queue_.top();
  queue_.pop();
  now_ = next.at;
  next.then();
  return true;
}

void Cluster::Run(Duration length) {
  const TimePoint until = now_ + length;
  while (violations_.size() < 20 && Next(until)) {
  }
  now_ = until;
}

bool Cluster::RunUntil(const std::function<bool()>& done, Duration most) {
  const TimePoint until = now_ + most;
  while (!done()) {
    if (violations_.size() >= 20) return false;
    if (!Next(until)) {
      now_ = until;
      return done();
    }
  }
  return true;
}

bool Cluster::Up() {
  StartAll();
  return RunUntil([&] { return Settled(); }, seconds(30));
}

// ---- steps and actions -------------------------------------------------------------------------

void Cluster::Deliver(const NodeId& id, core::Event event) {
  Node& node = nodes_.at(id);
  if (!node.core) return;
  if (on_event) on_event(id, event);
  if (node.paused) {
    node.inbox.push_back(std::move(event));
    return;
  }
  Step(node, event);
}

void Cluster::DeliverLater(Node& node, Duration delay, core::Event event) {
  At(now_ + delay, [this, id = node.id, generation = node.generation, event = std::move(event)] {
    Arrive(id, generation, event);
  });
}

void Cluster::Arrive(const NodeId& id, std::uint64_t generation, core::Event event) {
  if (nodes_.at(id).generation == generation) Deliver(id, std::move(event));
}

void Cluster::Step(Node& node, const core::Event& event) {
  ++steps_;
  if (node.stepped_at != now_) node.steps_at_this_instant = 0;
  node.stepped_at = now_;
  // Thousands of callbacks may well return at one instant.
  if (!std::holds_alternative<core::CallbackReturned>(event)) ++node.steps_at_this_instant;
  if (node.steps_at_this_instant == 200) Violation(node.id + " steps without end at one instant");
  if (node.steps_at_this_instant > 1000) {
    node.paused = true;
    return;
  }
  if (const auto* answered = std::get_if<core::WriteAnswered>(&event)) Settle(node, *answered);
  const core::Output output = node.core->Step(now_, event);
  const std::uint64_t generation = node.generation;
  for (const core::Action& action : output.actions) {
    node.asked.emplace_back(now_, action);
    if (on_action) on_action(node.id, action);
    Perform(node, action);
    if (node.generation != generation) return;
  }
  node.highest = std::max(node.highest, node.core->highest_committed());
  if (options_.checks) {
    for (const std::string& text : core::FindViolations(*node.core)) {
      Violation(node.id + ": " + text);
    }
    Check(node, output.actions.empty());
  }
  if (node.finished) {
    const std::optional<bool> finished = node.finished;
    Kill(node.id);
    node.finished = finished;
    return;
  }
  node.wake_at = output.wake_at;
  Wake(node);
  ScheduleWatches();
}

void Cluster::Perform(Node& node, const core::Action& action) {
  using namespace core;  // NOLINT: the whole alphabet of actions
  if (const auto* grant = std::get_if<GrantLease>(&action)) {
    Call(
        node,
        [this, grant = *grant]() -> Event {
          const bool granted = store_.Grant(grant.lease, grant.ttl, now_);
          const bool there = granted || store_.LeaseLives(grant.lease);
          return LeaseGranted{grant.operation, there ? Outcome::kDone : Outcome::kRefused,
                              grant.ttl, ""};
        },
        LeaseGranted{grant->operation, Outcome::kUnknown, seconds(0), "lost"}, false);
  } else if (const auto* revoke = std::get_if<RevokeLease>(&action)) {
    // A predecessor's lease that is proven dead is not the one by which this process leads.
    for (const auto& [shard, led] : node.leads) {
      if (revoke->lease == node.recorded && Leads(node.id, shard))
        Violation(node.id + " revokes its lease and leads " + Text(shard));
    }
    Call(
        node,
        [this, revoke = *revoke]() -> Event {
          const bool revoked = store_.Revoke(revoke.lease);
          return LeaseRevoked{revoke.operation, revoked ? Outcome::kDone : Outcome::kRefused};
        },
        LeaseRevoked{revoke->operation, Outcome::kUnknown}, true);
  } else if (const auto* record = std::get_if<RecordSession>(&action)) {
    node.recorded = record->session;
  } else if (const auto* send = std::get_if<core::SendKeepAlive>(&action)) {
    SendKeepAlive(node, *send);
  } else if (const auto* confirm = std::get_if<ConfirmSession>(&action)) {
    Confirm(node, *confirm);
  } else if (const auto* submit = std::get_if<SubmitWrite>(&action)) {
    CheckWrite(node, *submit);
    Submit(node, *submit);
  } else if (std::holds_alternative<ProbeWatch>(action)) {
    At(now_ + 2 * Latency(), [this, id = node.id, generation = node.generation] {
      Node& probed = nodes_.at(id);
      if (probed.generation != generation || probed.stuck || probed.watch_held || probed.cut ||
          outage_)
        return;
      DeliverWatch(id, generation);
      if (probed.generation == generation && probed.core) Deliver(id, WatchProven{probed.cursor});
    });
  } else if (const auto* ask = std::get_if<AskRevision>(&action)) {
    const RevisionAnswered answer{ask->known, store_.revision()};
    if (!node.cut && !outage_) DeliverLater(node, Latency(), answer);
  } else if (std::holds_alternative<ReopenWatch>(action)) {
    node.stuck = false;
    noticed_ = Revision{};
  } else if (std::holds_alternative<AuditView>(action)) {
    if (node.cut || outage_) return;
    Snapshot snapshot = store_.Read();
    snapshot.wall = WallClockOf(node.id);
    DeliverLater(node, Latency(), SnapshotRead{snapshot, kClusterId});
  } else if (const auto* set = std::get_if<SetLeadership>(&action)) {
    CheckPublished(node, *set);
    if (set->term.value == 0) {
      node.leads.erase(set->shard);
    } else {
      node.leads[set->shard] = {set->term, set->activated};
    }
  } else if (const auto* deadline = std::get_if<SetDeadline>(&action)) {
    node.deadline = deadline->deadline;
  } else if (const auto* callback = std::get_if<RunCallback>(&action)) {
    Enqueue(node, *callback);
  } else if (const auto* report = std::get_if<ReportTransition>(&action)) {
    CheckReport(node, report->transition);
    transitions_.emplace_back(node.id, report->transition);
  } else if (const auto* halt = std::get_if<HaltNode>(&action)) {
    node.halted = halt->why;
  } else if (const auto* finished = std::get_if<Finished>(&action)) {
    node.finished = finished->drained;
  } else if (const auto* transfer = std::get_if<AnswerTransfer>(&action)) {
    transfers_.emplace(transfer->request, transfer->result);
  } else if (const auto* policy = std::get_if<AnswerChange>(&action)) {
    policies_.emplace(policy->request, policy->result);
  }
}

// ---- calls -------------------------------------------------------------------------------------

// `apply` runs when the request reaches etcd, if it does; its event is the answer. `may_wait`: it
// may also run long after the caller gave up.
void Cluster::Call(Node& node, std::function<core::Event()> apply, core::Event unknown,
                   bool may_wait) {
  const NodeId id = node.id;
  const std::uint64_t generation = node.generation;
  if (may_wait && node.hold_writes) {
    node.held_writes.push_back([apply] { apply(); });
    return DeliverLater(node, kCallBound, std::move(unknown));
  }
  if (node.cut || outage_ || Chance(faults.lose_request)) {
    return DeliverLater(node, kCallBound, std::move(unknown));
  }
  const bool lose_reply = Chance(faults.lose_reply) || (may_wait && node.lose_replies);
  const bool late = may_wait && Chance(faults.late);
  const Duration there = late ? milliseconds(200 + Random(6000)) : Latency();
  if (may_wait && Chance(faults.duplicate)) {
    At(now_ + there + milliseconds(Random(4000)), [this, apply] {
      apply();
      ScheduleWatches();
    });
  }
  if (lose_reply || late) DeliverLater(node, kCallBound, std::move(unknown));
  const Duration back = Latency();
  At(now_ + there, [this, id, generation, apply = std::move(apply), lose_reply, late, back] {
    core::Event answer = apply();
    ScheduleWatches();
    if (lose_reply || late) return;
    At(now_ + back,
       [this, id, generation, answer = std::move(answer)] { Arrive(id, generation, answer); });
  });
}

void Cluster::Submit(Node& node, const core::SubmitWrite& submit) {
  if (node.kept_for) {
    return DeliverLater(
        node, *node.kept_for,
        core::WriteAnswered{submit.operation, WriteResult{.detail = "kept", .never_sent = true}});
  }
  Call(
      node,
      [this, submit, denied = node.denied && node.denied(*submit.write)]() -> core::Event {
        if (full_ && store_.Puts(*submit.write)) {
          return core::WriteAnswered{submit.operation, WriteResult{.detail = "no space"}};
        }
        return core::WriteAnswered{submit.operation,
                                   denied ? Denied() : store_.Execute(*submit.write)};
      },
      core::WriteAnswered{submit.operation, WriteResult{.detail = "lost"}}, true);
}

void Cluster::Confirm(Node& node, const core::ConfirmSession& confirm) {
  core::ConfirmAnswered unknown{.operation = confirm.operation, .revision = {}, .read_back = {}};
  Call(
      node,
      [this, confirm]() -> core::Event {
        core::ConfirmAnswered answer{
            .operation = confirm.operation, .revision = {}, .read_back = {}};
        answer.outcome = Outcome::kDone;
        answer.passed = store_.SessionHolds(confirm.guard);
        answer.revision = store_.revision();
        answer.raft_term = store_.raft_term;
        if (!answer.passed) answer.read_back = {store_.Get("members/" + confirm.guard.node)};
        return answer;
      },
      std::move(unknown), false);
}

// Answers carry no number: an answer counts for the one unanswered keepalive of its stream.
void Cluster::SendKeepAlive(Node& node, const core::SendKeepAlive& send) {
  if (send.fresh_stream) {
    ++node.stream;
  } else if (node.unanswered != 0) {
    Violation(node.id + " sends a second keepalive on a stream");
  }
  node.unanswered = send.operation;
  const NodeId id = node.id;
  const std::uint64_t generation = node.generation;
  const std::uint64_t stream = node.stream;
  const bool lost = node.cut || outage_ || Chance(faults.lose_request);
  const auto answer = [this, id, generation, stream](seconds ttl, std::uint64_t raft_term) {
    At(now_ + Latency(), [this, id, generation, stream, ttl, raft_term] {
      Node& answered = nodes_.at(id);
      if (answered.generation != generation || answered.stream != stream) return;
      const core::OperationId operation = std::exchange(answered.unanswered, 0);
      Deliver(id, core::KeepAliveAnswered{operation, ttl, raft_term});
    });
  };
  if (node.lied_term != 0) return answer(seconds(10), node.lied_term);
  if (lost) {
    if (Random(2) == 0) return;  // silence
    At(now_ + milliseconds(300), [this, id, generation, stream] {
      Node& ended = nodes_.at(id);
      if (ended.generation != generation || ended.stream != stream) return;
      Deliver(id, core::KeepAliveEnded{std::exchange(ended.unanswered, 0)});
    });
    return;
  }
  const bool lost_answer = Chance(faults.lose_reply);
  const Duration slow = Chance(faults.late) ? milliseconds(Random(4000)) : Duration{0};
  At(now_ + Latency() + slow, [this, lease = send.lease, answer, lost_answer] {
    const seconds ttl = store_.KeepAlive(lease, now_);
    ScheduleWatches();
    if (!lost_answer) answer(ttl, store_.raft_term);
  });
}

// ---- callbacks: in order for each shard --------------------------------------------------------

Behaviour Cluster::BehaviourOf(const Node& node, core::CallbackKind kind, ShardId shard) const {
  for (const auto& key :
       {std::pair{kind, std::optional(shard)}, std::pair{kind, std::optional<ShardId>{}}}) {
    if (const auto found = node.behaviour.find(key); found != node.behaviour.end())
      return found->second;
  }
  return Behaviour::kReturns;
}

void Cluster::Enqueue(Node& node, const core::RunCallback& callback) {
  auto& queue = node.callbacks[callback.shard];
  queue.push_back({callback.operation, callback.kind});
  if (queue.size() == 1) RunNext(node.id, node.generation, callback.shard);
}

void Cluster::RunNext(const NodeId& id, std::uint64_t generation, ShardId shard) {
  Node& node = nodes_.at(id);
  if (node.generation != generation || node.callbacks[shard].empty()) return;
  const Callback next = node.callbacks[shard].front();
  const Behaviour behaviour = BehaviourOf(node, next.kind, shard);
  if (behaviour == Behaviour::kHangs) return;
  const bool ok = behaviour == Behaviour::kReturns && !Chance(faults.fail_callback);
  const Duration length =
      milliseconds(1 + Random(5)) +
      (Chance(faults.slow_callback) ? milliseconds(Random(8000)) : milliseconds(0));
  At(now_ + length, [this, id, generation, shard, next, ok] {
    Node& returned = nodes_.at(id);
    if (returned.generation != generation) return;
    returned.callbacks[shard].pop_front();
    RunNext(id, generation, shard);
    Deliver(id, core::CallbackReturned{next.operation, shard, ok});
  });
}

// ---- watches and leases ------------------------------------------------------------------------

void Cluster::ReadSnapshot(Node& node) {
  At(now_ + Latency(), [this, id = node.id, generation = node.generation] {
    Node& reader = nodes_.at(id);
    if (reader.generation != generation || !reader.core) return;
    if (reader.cut || outage_) {
      At(now_ + kCallBound, [this, id, generation] {
        if (nodes_.at(id).generation == generation) ReadSnapshot(nodes_.at(id));
      });
      return;
    }
    Snapshot snapshot = store_.Read();
    snapshot.wall = WallClockOf(id);
    // Answers to writes may overtake it.
    At(now_ + 2 * Latency(), [this, id, generation, snapshot] {
      Node& read = nodes_.at(id);
      if (read.generation != generation) return;
      read.cursor = snapshot.revision;
      read.watching = true;
      noticed_ = Revision{};
      Deliver(id, core::SnapshotRead{snapshot, kClusterId});
      ScheduleWatches();
    });
  });
}

void Cluster::ScheduleWatches() {
  ExpireLeases();
  if (noticed_ == store_.revision()) return;
  noticed_ = store_.revision();
  for (auto& [name, node] : nodes_) {
    if (!node.core || !node.watching || node.watch_scheduled) continue;
    node.watch_scheduled = true;
    const auto spread = static_cast<std::uint64_t>(options_.watch_delay_most.count());
    At(now_ + Duration(static_cast<std::int64_t>(Random(spread + 1))),
       [this, id = name, generation = node.generation] { DeliverWatch(id, generation); });
  }
}

void Cluster::DeliverWatch(const NodeId& id, std::uint64_t generation) {
  Node& node = nodes_.at(id);
  if (node.generation != generation || !node.core) return;
  node.watch_scheduled = false;
  if (!node.watching || node.stuck || node.watch_held) return;
  if (node.cut || outage_) {
    node.watch_scheduled = true;
    At(now_ + milliseconds(100), [this, id, generation] { DeliverWatch(id, generation); });
    return;
  }
  if (node.cursor < store_.compacted()) {
    node.watching = false;
    return ReadSnapshot(node);
  }
  if (node.cursor >= store_.revision()) return;
  Changes changes = store_.ChangesAfter(node.cursor);
  node.cursor = changes.revision;
  Deliver(id, core::ChangesSeen{std::move(changes)});
}

void Cluster::ExpireLeases() {
  if (outage_) return;
  const TimePoint next = store_.NextExpiry();
  if (next == TimePoint::max() || next == expiry_scheduled_) return;
  expiry_scheduled_ = next;
  const auto spread = static_cast<std::uint64_t>(options_.expiry_late_most.count());
  const Duration late{static_cast<std::int64_t>(Random(spread + 1))};
  At(next + late, [this] {
    expiry_scheduled_ = TimePoint::max();
    if (!outage_) store_.Expire(now_, Duration{0});
    ScheduleWatches();
  });
}

}  // namespace baton::test
