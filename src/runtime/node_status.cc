#include "runtime/node_status.h"

#include <algorithm>
#include <utility>

#include "core/may_claim.h"

namespace baton::runtime {

namespace {

std::string WhyNotReady(const core::Core& core, TimePoint now) {
  if (core.halted()) return "halted: " + core.halted()->message;
  if (!core.view().complete()) return "etcd has not been read yet";
  if (core.application() == core::ApplicationState::kAbsent) {
    return std::string(core.options().external ? kNoApplication : kApplicationSilent);
  }
  if (core.suspended(now)) return "suspended: no renewal was confirmed in time";
  if (!core.session().live(now)) return "no session yet";
  return {};
}

// A node knows more about its own shards than their records say.
ShardState OwnState(const core::Core& core, ShardId shard, TimePoint now) {
  const auto found = core.leaderships().held().find(shard);
  if (found == core.leaderships().held().end()) {
    // A claim of ours that etcd has not answered yet; a leadership of the session that this process
    // has lost, which is over though its record is still there; or one of another process.
    const SessionId session = core.view().record(shard).session;
    if (session == core.session().id()) return ShardState::kActivating;
    return session == core.session().lost() ? ShardState::kSuspended : ShardState::kLed;
  }
  if (!core.session().live(now)) return ShardState::kSuspended;
  const bool leading = std::holds_alternative<core::Leaderships::Leading>(found->second.phase);
  if (!found->second.activated && (leading || core.view().move(shard) == nullptr)) {
    return ShardState::kActivating;
  }
  return leading ? ShardState::kLed : ShardState::kMoving;
}

void AddDeaths(const core::View& view, TimePoint now, ShardStatus* status) {
  status->deaths = view.deaths().DeathsOf(status->shard, view.record(status->shard), now);
  const bool led = view.InForce(status->shard);
  const TimePoint until = led ? TimePoint::min() : view.deaths().WaitsUntil(status->shard);
  if (now >= until) return;
  const bool begun = until != TimePoint::max();
  status->claims_wait =
      begun ? until - now : core::DeathBackoff::WaitAfter(status->shard, status->deaths);
}

/// Whether the shard's owner is live, and can't take it back with the state directory that it has.
bool WaitsForDirectory(const core::View& view, ShardId shard, const NodeId& owner) {
  const MemberFact* member = view.member(owner);
  return member != nullptr && member->Live() && !core::SameDirectory(view, shard, *member);
}

/// Why a shard that nobody leads is not claimed at once, by the group's failover settings.
void AddWaits(const core::View& view, ShardStatus* status) {
  const ShardId shard = status->shard;
  const TimePoint others_from = core::OthersFrom(view, shard);
  if (others_from != TimePoint::min()) status->waits_for = core::OwnerOf(view, shard);
  status->waits_for_directory =
      !status->waits_for.empty() && WaitsForDirectory(view, shard, status->waits_for);
  const bool known = others_from != TimePoint::min() && others_from != TimePoint::max();
  if (known) status->others_from = others_from;
  const bool never_led = !view.record(shard).present && view.LastTerm(shard).value == 0;
  if (status->quarantined || never_led) return;
  const TimePoint until = core::LockedUntil(view, shard);
  if (until != TimePoint::min() && until != TimePoint::max()) status->locked_until = until;
}

/// Adds what the placement rules say of the shard, as far as it depends on the shard and its leader
/// alone.
void AddRule(const core::View& view, ShardStatus* status) {
  const core::ShardRules& rules = view.rules();
  const std::size_t number = rules.NumberOf(status->shard);
  if (number < rules.size()) status->rule = static_cast<std::uint32_t>(number + 1);
  const MemberFact* leader = status->leader.empty() ? nullptr : view.member(status->leader);
  status->led_against_rule = leader != nullptr && !rules.Allow(status->shard, *leader);
}

/// Costs nothing if no rule asks for standbys.
void AddStandbys(const core::View& view, ShardStatus* status) {
  if (view.standbys().empty()) return;
  std::vector<StandbyStatus> standbys;
  bool ready = false;
  for (const NodeId& node : view.StandbysOf(status->shard)) {
    const MemberFact* member = view.member(node);
    if (member == nullptr) continue;
    standbys.push_back({.node = node,
                        .address = member->service_address,
                        .ready = member->ReadyFor(status->shard)});
    ready = ready || standbys.back().ready;
  }
  status->without_ready_standby = !ready && view.standbys().Wanted(status->shard) > 0;
  if (standbys.empty()) return;
  status->standbys = std::make_shared<const std::vector<StandbyStatus>>(std::move(standbys));
}

std::vector<MemberStatus> MembersOf(const core::View& view, const StatusBoard& board) {
  std::vector<MemberStatus> members;
  for (const auto& [node, fact] : view.members()) {
    if (!fact.present) continue;
    MemberStatus member;
    member.fact = fact;
    std::vector<ShardId>().swap(member.fact.ready);  // frees it, too: it may be long
    member.drained_by_policy = view.policy({PolicyKind::kDrain, node}) != nullptr;
    member.led = view.LedBy(node);
    member.suspended = board.SuspendedBy(node);
    members.push_back(std::move(member));
  }
  return members;
}

std::vector<DepartedMember> DepartedOf(const core::View& view, TimePoint now) {
  std::vector<DepartedMember> departed;
  for (const core::Departure& left : view.departures().Lately(now)) {
    departed.push_back({.node = left.node,
                        .session = left.session,
                        .age = now - left.seen_at,
                        .why = left.why,
                        .led = left.led,
                        .back = left.back});
  }
  return departed;
}

NodeCounters CountersOf(const core::Core& core) {
  const auto& leaderships = core.leaderships().counters();
  const auto& incoming = core.incoming_moves().counters();
  const auto& balancer = core.balancer().counters();
  NodeCounters counters;
  counters.moves = {
      {"done", leaderships.moves_done},
      {"refused", leaderships.moves_refused},
      {"timed_out", leaderships.moves_timed_out + incoming.timed_out + balancer.timed_out},
      {"void", balancer.voided}};
  counters.renewals_confirmed = core.session().counters().confirmed;
  counters.renewals_failed = core.session().counters().failed;
  counters.records_quarantined = core.damaged_records();
  counters.callbacks_timed_out = leaderships.callbacks_timed_out + incoming.timed_out;
  counters.callbacks_failed = leaderships.callbacks_failed + incoming.failed;
  counters.activation_failures = core.leaderships().failed().total();
  counters.requests_refused = core.requests().refused();
  return counters;
}

// Linear in the shards that fail. REQUIRES: the status has all shards.
void AddFailing(const core::Core& core, TimePoint now, NodeStatus* status) {
  const core::FailedActivations& failed = core.leaderships().failed();
  const auto& failures = failed.failures();
  status->failing = static_cast<std::uint32_t>(failures.size());
  // Before its first success a healthy node, too, tries only some shards at once.
  if (failed.failing() || !failures.empty()) {
    status->untried = static_cast<std::uint32_t>(failed.untried().size());
  }
  std::vector<ShardId> worst;
  for (const auto& [shard, failure] : failures) {
    status->shards[shard.value].failing = FailingActivation{
        .attempts = failure.failures, .lasted = now - failure.since, .last_error = failure.error};
    worst.push_back(shard);
  }
  const std::size_t listed = std::min(worst.size(), kMaxFailingListed);
  const auto worse = [&](ShardId left, ShardId right) {
    return WorseFailing(status->shards[left.value], status->shards[right.value]);
  };
  std::partial_sort(worst.begin(), worst.begin() + static_cast<std::ptrdiff_t>(listed), worst.end(),
                    worse);
  worst.resize(listed);
  for (const ShardId shard : worst) {
    status->worst_failing.push_back(status->shards[shard.value]);
  }
}

// Linear in the shards whose `lost` runs.
void AddStopping(const core::Core& core, TimePoint now, NodeStatus* status) {
  std::vector<StoppingShard>& longest = status->longest_stopping;
  for (const auto& [shard, lost] : core.leaderships().stopping().shards()) {
    const Duration lasted = now - lost.front().began;
    if (lasted > core.options().callback_timeout) longest.push_back({shard, lasted});
  }
  status->stopping = static_cast<std::uint32_t>(longest.size());
  const auto listed = std::min(longest.size(), kMaxStoppingListed);
  std::partial_sort(longest.begin(), longest.begin() + static_cast<std::ptrdiff_t>(listed),
                    longest.end(), LongerStopping);
  longest.resize(listed);
}

}  // namespace

SessionPhase SessionPhaseOf(const core::Core& core, TimePoint now) {
  if (core.halted()) return SessionPhase::kHalted;
  if (core.finished()) return SessionPhase::kEnded;
  if (core.draining()) return SessionPhase::kDraining;
  if (core.session().live(now)) return SessionPhase::kLive;
  return core.suspended(now) ? SessionPhase::kSuspended : SessionPhase::kOpening;
}

ShardStatus ShardOf(const core::View& view, ShardId shard, TimePoint now) {
  const RecordFact& record = view.record(shard);
  ShardStatus status;
  status.shard = shard;
  AddDeaths(view, now, &status);
  AddStandbys(view, &status);
  status.reason = record.reason;
  // a record that was released by force names nobody else
  const bool resigned = record.leader.empty() && !record.resigned_by.empty();
  status.previous = resigned ? record.resigned_by : record.previous;
  status.quarantined = record.present && record.readability != Readability::kReadable;
  const MoveFact* move = view.move(shard);
  if (move != nullptr && view.LiveMove(*move)) {
    status.move = std::make_shared<const MoveFact>(*move);
  }
  if (!view.InForce(record)) {
    AddRule(view, &status);
    AddWaits(view, &status);
    if (record.leader.empty()) return status;
    status.previous = record.leader;  // its session is gone
    status.reason = core::VacancyReason(view, record);
    return status;
  }
  status.leader = record.leader;
  status.cause = record.cause;
  status.term = record.term();
  status.address = view.member(record.leader)->service_address;
  status.state = ShardState::kLed;
  if (status.move) status.state = ShardState::kMoving;
  AddRule(view, &status);
  return status;
}

ShardStatus ShardOf(const core::Core& core, ShardId shard, TimePoint now) {
  ShardStatus status = ShardOf(core.view(), shard, now);
  if (status.leader.empty() || status.leader != core.options().self.node) return status;
  const ShardState own = OwnState(core, shard, now);
  if (own != ShardState::kLed) status.state = own;
  return status;
}

void AddView(const core::View& view, const Looks& looks, StatusBoard& board, NodeStatus* status) {
  status->at = looks.now;
  status->revision = view.revision();
  if (view.InForce(view.balancer())) status->balancer = view.balancer().leader;
  status->paused = view.policy({PolicyKind::kPause}) != nullptr;
  status->rebalance_requested = view.policy({PolicyKind::kRebalance}) != nullptr;
  const PolicyFact* expected = view.policy({PolicyKind::kExpectedNodes});
  if (expected != nullptr) status->expected_nodes = expected->expected_nodes;
  const PolicyFact* limits = view.policy({PolicyKind::kLimits});
  if (limits != nullptr) {
    status->max_moves = limits->max_moves;
    status->rebalance_delay = limits->rebalance_delay;
    status->cooldown = limits->cooldown;
  }
  status->failover = view.failover();
  status->placement = view.rules().placement();
  status->config_schema = view.config().schema;
  status->departed = DepartedOf(view, looks.now);
  status->shards = board.Shards(view, looks.now, looks.shard);
  status->waiting = board.waiting();
  status->nobody_may_lead = board.nobody_may_lead();
  status->led_against_rules = board.led_against_rules();
  status->without_ready_standby = board.without_ready_standby();
  if (status->without_ready_standby > 0) {
    status->without_ready_standby_for = looks.now - board.without_ready_standby_since();
  }
  if (view.complete()) {
    status->members = MembersOf(view, board);
    status->assignment = board.Assignment(view, looks.settle, looks.now);
  }
  status->leaderless = view.shard_count();
  for (const auto& [node, member] : view.members()) status->leaderless -= view.LedBy(node);
  for (const ShardId shard : board.may_wait_by_settings()) {
    const ShardStatus& each = std::as_const(status->shards)[shard.value];
    const bool waits = each.claims_wait.count() == 0 && WaitsBySettings(each, looks.now);
    status->waiting_by_settings += waits ? 1 : 0;
  }
}

NodeStatus StatusOf(const core::Core& core, TimePoint now, StatusBoard& board) {
  const core::View& view = core.view();
  const core::CoreOptions& options = core.options();
  NodeStatus status;
  status.session = SessionPhaseOf(core, now);
  status.session_id = core.session().id();
  status.not_ready = WhyNotReady(core, now);
  const TimePoint renewed = core.session().last_renewed();
  status.renewal_age = renewed == TimePoint::min() ? Duration{0} : now - renewed;
  status.ttl = core.session().ttl();
  status.braking = core.succession().braking();
  const auto shard_of = [&](ShardId shard) { return ShardOf(core, shard, now); };
  AddView(view, {.shard = shard_of, .settle = options.settle, .now = now}, board, &status);
  AddFailing(core, now, &status);
  AddStopping(core, now, &status);
  status.standing_by = static_cast<std::uint32_t>(core.standby_duties().size());
  status.ready_here = static_cast<std::uint32_t>(core.standby_duties().ready());
  status.counters = CountersOf(core);
  return status;
}

}  // namespace baton::runtime
