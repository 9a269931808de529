#include "runtime/admin/status_proto.h"

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <map>

#include "runtime/admin/cause_proto.h"
#include "runtime/admin/placement_proto.h"
#include "runtime/admin/proto_time.h"

namespace baton::runtime {
namespace {

// A message's enum is ours plus one, because zero is unspecified. Checked here, used below.
static_assert(v1::TransitionStatus::REASON_STARTUP == static_cast<int>(Reason::kStartup) + 1);
static_assert(v1::TransitionStatus::REASON_RESUMED == static_cast<int>(Reason::kResumed) + 1);
static_assert(v1::TransitionStatus::REASON_RESUMED == kReasonCount);
static_assert(v1::MoveStatus::PHASE_PLANNED == static_cast<int>(MovePhase::kPlanned) + 1);
static_assert(v1::MoveStatus::PHASE_VOID == static_cast<int>(MovePhase::kVoid) + 1);
static_assert(v1::ShardStatus::STATE_LED == static_cast<int>(ShardState::kLed) + 1);
static_assert(v1::ShardStatus::STATE_LEADERLESS == static_cast<int>(ShardState::kLeaderless) + 1);
static_assert(v1::MemberStatus::STATE_ACTIVE == static_cast<int>(MemberState::kActive) + 1);
static_assert(v1::MemberStatus::STATE_DEAD == static_cast<int>(MemberState::kDead) + 1);
static_assert(v1::NodeStatus::SESSION_OPENING == static_cast<int>(SessionPhase::kOpening) + 1);
static_assert(v1::NodeStatus::SESSION_RELAY == static_cast<int>(SessionPhase::kRelay) + 1);
static_assert(v1::NodeStatus::HASH_MURMUR2 == static_cast<int>(HashFunction::kMurmur2) + 1);
static_assert(v1::NodeStatus::HASH_MODULO == static_cast<int>(HashFunction::kModulo) + 1);
static_assert(v1::FailoverSettings::POLICY_IMMEDIATE ==
              static_cast<int>(FailoverPolicy::kImmediate) + 1);
static_assert(v1::FailoverSettings::POLICY_NEVER == static_cast<int>(FailoverPolicy::kNever) + 1);
static_assert(v1::HaltStatus::CODE_INVALID_ARGUMENT ==
              static_cast<int>(ErrorCode::kInvalidArgument) + 1);
static_assert(v1::HaltStatus::CODE_INTERNAL == static_cast<int>(ErrorCode::kInternal) + 1);

template <typename Message, typename Ours>
Message Shifted(Ours ours) {
  return static_cast<Message>(static_cast<int>(ours) + 1);
}

/// `last` is the greatest value known here; every other value becomes `fallback`.
template <typename Ours, typename Message>
Ours Unshifted(Message message, Ours last, Ours fallback) {
  const int value = static_cast<int>(message) - 1;
  if (value < 0 || value > static_cast<int>(last)) return fallback;
  return static_cast<Ours>(value);
}

Reason ReasonOf(v1::TransitionStatus::Reason reason) {
  return Unshifted(reason, Reason::kResumed, Reason::kOperator);
}

v1::TransitionStatus::Reason ReasonOf(Reason reason) {
  return Shifted<v1::TransitionStatus::Reason>(reason);
}

std::chrono::milliseconds MillisecondsOf(const google::protobuf::Duration& duration) {
  return std::chrono::duration_cast<std::chrono::milliseconds>(NanosecondsOf(duration));
}

void ToProto(const MemberStatus& member, std::uint32_t target, v1::MemberStatus* out) {
  const MemberFact& fact = member.fact;
  out->set_node(fact.node);
  out->set_live(fact.Live());
  out->set_state(Shifted<v1::MemberStatus::State>(fact.state));
  out->set_drained(member.drained_by_policy);
  out->set_led(member.led);
  out->set_target(target);
  out->set_weight(fact.weight);
  out->set_zone(fact.zone);
  out->set_address(fact.address);
  out->set_http_address(fact.http_address);
  out->set_service_address(fact.service_address);
  out->set_software_version(fact.software_version);
  out->set_session(fact.session.value);
  *out->mutable_ttl() = DurationOf(fact.ttl);
  out->set_external(fact.external);
  out->set_suspended(member.suspended);
  out->set_failing(member.fact.failing);
  out->set_unhealthy(member.fact.unhealthy);
  out->mutable_labels()->insert(fact.labels.begin(), fact.labels.end());
}

void ToProto(const FailoverSettings& settings, v1::FailoverSettings* out) {
  out->set_policy(FailoverPolicyOf(settings.policy));
  if (settings.delay.count() > 0) *out->mutable_delay() = DurationOf(settings.delay);
  if (settings.lock_delay.count() > 0) *out->mutable_lock_delay() = DurationOf(settings.lock_delay);
}

// A node of an older version sends nothing, and fails over at once.
FailoverSettings FromProto(const v1::FailoverSettings& message) {
  return {.policy = Unshifted(
              message.policy(), FailoverPolicy::kNever,
              message.policy() == 0 ? FailoverPolicy::kImmediate : FailoverPolicy::kNever),
          .delay = MillisecondsOf(message.delay()),
          .lock_delay = MillisecondsOf(message.lock_delay())};
}

MemberStatus FromProto(const v1::MemberStatus& message) {
  MemberStatus member;
  MemberFact& fact = member.fact;
  fact.node = message.node();
  fact.present = message.live();
  fact.session = SessionId{message.session()};
  fact.lease = message.live() ? fact.session : SessionId{};
  fact.state = Unshifted(message.state(), MemberState::kDead, MemberState::kDead);
  fact.weight = message.weight();
  fact.zone = message.zone();
  fact.address = message.address();
  fact.http_address = message.http_address();
  fact.service_address = message.service_address();
  fact.software_version = message.software_version();
  fact.ttl = MillisecondsOf(message.ttl());
  fact.external = message.external();
  member.drained_by_policy = message.drained();
  member.led = message.led();
  member.told_target = message.target();
  member.suspended = message.suspended();
  member.fact.failing = message.failing();
  member.fact.unhealthy = message.unhealthy();
  fact.labels = Labels(message.labels().begin(), message.labels().end());
  return member;
}

void ToProto(const std::vector<StandbyStatus>& standbys, v1::ShardStatus* out) {
  for (const StandbyStatus& standby : standbys) {
    v1::StandbyStatus& added = *out->add_standbys();
    added.set_node(standby.node);
    added.set_ready(standby.ready);
    added.set_address(standby.address);
  }
}

/// Null: the shard has none.
std::shared_ptr<const std::vector<StandbyStatus>> StandbysOf(const v1::ShardStatus& message) {
  if (message.standbys().empty()) return nullptr;
  auto standbys = std::make_shared<std::vector<StandbyStatus>>();
  for (const v1::StandbyStatus& standby : message.standbys()) {
    standbys->push_back(
        {.node = standby.node(), .address = standby.address(), .ready = standby.ready()});
  }
  return standbys;
}

void ToProto(const DepartedMember& departed, v1::DepartedMember* out) {
  out->set_node(departed.node);
  out->set_session(departed.session.value);
  *out->mutable_age() = DurationOf(departed.age);
  if (departed.why) out->set_why(ReasonOf(*departed.why));
  out->set_led(departed.led);
  out->set_back(departed.back);
}

DepartedMember FromProto(const v1::DepartedMember& message) {
  DepartedMember departed;
  departed.node = message.node();
  departed.session = SessionId{message.session()};
  departed.age = NanosecondsOf(message.age());
  if (message.why() != v1::TransitionStatus::REASON_UNSPECIFIED) {
    departed.why = ReasonOf(message.why());
  }
  departed.led = message.led();
  departed.back = message.back();
  return departed;
}

void ToProto(const NodeCounters& counters, v1::CounterStatus* out) {
  for (const auto& [reason, count] : counters.transitions) {
    (*out->mutable_transitions())[ToString(reason)] = count;
  }
  for (const auto& [result, count] : counters.moves) (*out->mutable_moves())[result] = count;
  out->set_renewals_confirmed(counters.renewals_confirmed);
  out->set_renewals_failed(counters.renewals_failed);
  out->set_watch_resyncs(counters.watch_resyncs);
  out->set_watch_stale_events(counters.watch_stale_events);
  out->set_records_quarantined(counters.records_quarantined);
  out->set_callbacks_timed_out(counters.callbacks_timed_out);
  out->set_callbacks_failed(counters.callbacks_failed);
  out->set_activation_failures(counters.activation_failures);
}

NodeCounters FromProto(const v1::CounterStatus& message) {
  NodeCounters counters;
  for (int i = 0; i < kReasonCount; ++i) {
    const auto reason = static_cast<Reason>(i);
    const auto found = message.transitions().find(ToString(reason));
    if (found != message.transitions().end()) counters.transitions[reason] = found->second;
  }
  for (const auto& [result, count] : message.moves()) counters.moves[result] = count;
  counters.renewals_confirmed = message.renewals_confirmed();
  counters.renewals_failed = message.renewals_failed();
  counters.watch_resyncs = message.watch_resyncs();
  counters.watch_stale_events = message.watch_stale_events();
  counters.records_quarantined = message.records_quarantined();
  counters.callbacks_timed_out = message.callbacks_timed_out();
  counters.callbacks_failed = message.callbacks_failed();
  counters.activation_failures = message.activation_failures();
  return counters;
}

void NodeToProto(const NodeStatus& status, v1::NodeStatus* out) {
  out->set_group(status.group);
  out->set_node(status.node);
  out->set_version(status.version);
  out->set_session(Shifted<v1::NodeStatus::Session>(status.session));
  out->set_session_id(status.session_id.value);
  if (status.halted) {
    out->mutable_halted()->set_code(Shifted<v1::HaltStatus::Code>(status.halted->code));
    out->mutable_halted()->set_message(status.halted->message);
  }
  out->set_ready(status.ready);
  out->set_not_ready(status.not_ready);
  *out->mutable_view_age() = DurationOf(status.view_age);
  out->set_stale(status.stale);
  *out->mutable_renewal_age() = DurationOf(status.renewal_age);
  *out->mutable_ttl() = DurationOf(status.ttl);
}

void NodeFromProto(const v1::NodeStatus& message, NodeStatus* status) {
  status->group = message.group();
  status->node = message.node();
  status->version = message.version();
  status->session = Unshifted(message.session(), SessionPhase::kRelay, SessionPhase::kOpening);
  status->session_id = SessionId{message.session_id()};
  if (message.has_halted()) {
    const ErrorCode code =
        Unshifted(message.halted().code(), ErrorCode::kInternal, ErrorCode::kInternal);
    status->halted = Error{code, message.halted().message()};
  }
  status->ready = message.ready();
  status->not_ready = message.not_ready();
  status->view_age = NanosecondsOf(message.view_age());
  status->stale = message.stale();
  status->renewal_age = NanosecondsOf(message.renewal_age());
  status->ttl = MillisecondsOf(message.ttl());
}

}  // namespace

v1::MoveStatus ToProto(const MoveFact& move) {
  v1::MoveStatus out;
  out.set_shard(move.shard.value);
  out.set_ends_term(move.ends.value);
  out.set_from(move.from);
  out.set_to(move.to);
  out.set_reason(ReasonOf(move.reason));
  out.set_actor(move.actor);
  out.set_phase(Shifted<v1::MoveStatus::Phase>(move.phase));
  out.set_void_reason(move.void_reason);
  out.set_revision(move.revision.value);
  SetCause(move.cause, &out);
  return out;
}

MoveFact FromProto(const v1::MoveStatus& message) {
  MoveFact move;
  move.shard = ShardId{message.shard()};
  move.revision = Revision{message.revision()};
  move.present = true;
  move.ends = Term{message.ends_term()};
  move.from = message.from();
  move.to = message.to();
  move.reason = ReasonOf(message.reason());
  move.actor = message.actor();
  move.phase = Unshifted(message.phase(), MovePhase::kVoid, MovePhase::kPlanned);
  move.void_reason = message.void_reason();
  move.cause = FromProto(message.cause());
  return move;
}

v1::ShardStatus ToProto(const ShardStatus& shard, TimePoint at) {
  v1::ShardStatus out;
  out.set_shard(shard.shard.value);
  out.set_leader(shard.leader);
  out.set_address(shard.address);
  out.set_term(shard.term.value);
  out.set_state(Shifted<v1::ShardStatus::State>(shard.state));
  out.set_reason(ReasonOf(shard.reason));
  out.set_previous(shard.previous);
  if (shard.move) *out.mutable_move() = ToProto(*shard.move);
  out.set_quarantined(shard.quarantined);
  if (shard.failing) {
    out.mutable_failing()->set_attempts(shard.failing->attempts);
    *out.mutable_failing()->mutable_lasted() = DurationOf(shard.failing->lasted);
    out.mutable_failing()->set_last_error(shard.failing->last_error);
  }
  out.set_deaths(shard.deaths);
  if (shard.claims_wait.count() > 0) *out.mutable_claims_wait() = DurationOf(shard.claims_wait);
  out.set_waits_for(shard.waits_for);
  out.set_waits_for_directory(shard.waits_for_directory);
  if (const auto wait = OthersWait(shard, at)) *out.mutable_others_wait() = DurationOf(*wait);
  const auto lock_wait = LockWait(shard, at);
  if (lock_wait.count() > 0) *out.mutable_lock_wait() = DurationOf(lock_wait);
  out.set_rule(shard.rule);
  out.set_nobody_may_lead(shard.nobody_may_lead);
  out.set_led_against_rule(shard.led_against_rule);
  out.set_without_ready_standby(shard.without_ready_standby);
  if (shard.standbys) ToProto(*shard.standbys, &out);
  SetCause(shard.cause, &out);
  return out;
}

TimePoint TimePointOf(const google::protobuf::Duration& wait) {
  return TimePoint{} + std::chrono::duration_cast<Duration>(NanosecondsOf(wait));
}

ShardStatus FromProto(const v1::ShardStatus& message) {
  ShardStatus shard;
  shard.shard = ShardId{message.shard()};
  shard.leader = message.leader();
  shard.address = message.address();
  shard.term = Term{message.term()};
  shard.state = Unshifted(message.state(), ShardState::kLeaderless, ShardState::kLeaderless);
  shard.reason = ReasonOf(message.reason());
  shard.previous = message.previous();
  if (message.has_move()) {
    shard.move = std::make_shared<const MoveFact>(FromProto(message.move()));
  }
  shard.quarantined = message.quarantined();
  if (message.has_failing()) {
    shard.failing = FailingActivation{.attempts = message.failing().attempts(),
                                      .lasted = NanosecondsOf(message.failing().lasted()),
                                      .last_error = message.failing().last_error()};
  }
  shard.deaths = message.deaths();
  shard.claims_wait = NanosecondsOf(message.claims_wait());
  shard.waits_for = message.waits_for();
  shard.waits_for_directory = message.waits_for_directory();
  // NodeStatus::at is the clock's zero in a status that comes from another process.
  if (message.has_others_wait()) shard.others_from = TimePointOf(message.others_wait());
  if (message.has_lock_wait()) shard.locked_until = TimePointOf(message.lock_wait());
  shard.rule = message.rule();
  shard.nobody_may_lead = message.nobody_may_lead();
  shard.led_against_rule = message.led_against_rule();
  shard.without_ready_standby = message.without_ready_standby();
  shard.standbys = StandbysOf(message);
  shard.cause = FromProto(message.cause());
  return shard;
}

v1::TransitionStatus ToProto(const Transition& transition) {
  v1::TransitionStatus out;
  out.set_shard(transition.shard.value);
  out.set_reason(ReasonOf(transition.reason));
  out.set_from(transition.from);
  out.set_to(transition.to);
  out.set_term(transition.term.value);
  out.set_actor(transition.actor);
  *out.mutable_elect() = DurationOf(transition.elect);
  *out.mutable_activate() = DurationOf(transition.activate);
  if (transition.detect_at_most) {
    *out.mutable_detect_at_most() = DurationOf(*transition.detect_at_most);
  }
  if (transition.detect) *out.mutable_detect() = DurationOf(*transition.detect);
  SetCause(transition.cause, &out);
  return out;
}

Transition FromProto(const v1::TransitionStatus& message) {
  Transition transition;
  transition.shard = ShardId{message.shard()};
  transition.reason = ReasonOf(message.reason());
  transition.from = message.from();
  transition.to = message.to();
  transition.term = Term{message.term()};
  transition.actor = message.actor();
  transition.elect = NanosecondsOf(message.elect());
  transition.activate = NanosecondsOf(message.activate());
  if (message.has_detect_at_most()) {
    transition.detect_at_most = NanosecondsOf(message.detect_at_most());
  }
  if (message.has_detect()) transition.detect = NanosecondsOf(message.detect());
  transition.cause = FromProto(message.cause());
  return transition;
}

v1::FailoverSettings::Policy FailoverPolicyOf(FailoverPolicy policy) {
  return Shifted<v1::FailoverSettings::Policy>(policy);
}

std::optional<FailoverPolicy> FailoverPolicyOf(v1::FailoverSettings::Policy policy) {
  if (!v1::FailoverSettings::Policy_IsValid(policy) || policy == 0) return std::nullopt;
  return Unshifted(policy, FailoverPolicy::kNever, FailoverPolicy::kNever);
}

void ToProto(const NodeStatus& status, bool with_shards, v1::NodeStatus* out) {
  NodeToProto(status, out);
  out->set_shard_count(status.shard_count);
  out->set_hash(Shifted<v1::NodeStatus::Hash>(status.hash));
  out->set_revision(status.revision.value);
  out->set_balancer(status.balancer);
  out->set_paused(status.paused);
  out->set_rebalance_requested(status.rebalance_requested);
  out->set_braking(status.braking);
  out->set_leaderless(status.leaderless);
  out->set_expected_nodes(status.expected_nodes);
  out->set_max_moves(status.max_moves);
  if (status.rebalance_delay) *out->mutable_rebalance_delay() = DurationOf(*status.rebalance_delay);
  if (status.cooldown) *out->mutable_cooldown() = DurationOf(*status.cooldown);
  ToProto(status.failover, out->mutable_failover());
  out->set_config_schema(status.config_schema);
  if (!status.placement.empty()) ToProto(status.placement, out->mutable_placement());
  for (const DepartedMember& departed : status.departed) ToProto(departed, out->add_departed());
  out->set_waiting_after_deaths(status.waiting);
  out->set_waiting_by_settings(status.waiting_by_settings);
  out->set_nobody_may_lead(status.nobody_may_lead);
  out->set_led_against_rules(status.led_against_rules);
  out->set_without_ready_standby(status.without_ready_standby);
  out->set_standing_by(status.standing_by);
  out->set_ready_here(status.ready_here);
  for (const MemberStatus& member : status.members) {
    ToProto(member, status.TargetOf(member), out->add_members());
  }
  for (const Transition& transition : status.recent) *out->add_recent() = ToProto(transition);
  ToProto(status.counters, out->mutable_counters());
  out->set_failing(status.failing);
  out->set_untried(status.untried);
  out->set_stopping(status.stopping);
  for (const auto& [shard, lasted] : status.longest_stopping)
    (*out->mutable_longest_stopping())[shard.value] = DurationOf(lasted);
  for (const ShardStatus& shard : status.worst_failing)
    *out->add_worst_failing() = ToProto(shard, status.at);
  if (!with_shards) return;
  out->mutable_shards()->Reserve(static_cast<int>(status.shards.size()));
  for (const ShardStatus& shard : status.shards) *out->add_shards() = ToProto(shard, status.at);
}

namespace {

// A message from elsewhere may have shards in any order, and twice.
void AddShards(const v1::NodeStatus& message, NodeStatus* status) {
  std::map<std::uint32_t, const v1::ShardStatus*> shards;
  for (const auto& shard : message.shards()) shards.try_emplace(shard.shard(), &shard);
  for (const auto& [number, shard] : shards) status->shards.push_back(runtime::FromProto(*shard));
}

}  // namespace

NodeStatus FromProto(const v1::NodeStatus& message) {
  NodeStatus status;
  NodeFromProto(message, &status);
  status.shard_count = message.shard_count();
  status.hash = Unshifted(message.hash(), HashFunction::kModulo, HashFunction::kMurmur2);
  status.revision = Revision{message.revision()};
  status.balancer = message.balancer();
  status.paused = message.paused();
  status.rebalance_requested = message.rebalance_requested();
  status.braking = message.braking();
  status.leaderless = message.leaderless();
  status.expected_nodes = message.expected_nodes();
  status.max_moves = message.max_moves();
  if (message.has_rebalance_delay()) {
    status.rebalance_delay = MillisecondsOf(message.rebalance_delay());
  }
  if (message.has_cooldown()) status.cooldown = MillisecondsOf(message.cooldown());
  status.failover = FromProto(message.failover());
  status.config_schema = message.config_schema();
  status.placement = FromProto(message.placement());
  for (const auto& departed : message.departed()) status.departed.push_back(FromProto(departed));
  status.waiting = message.waiting_after_deaths();
  status.waiting_by_settings = message.waiting_by_settings();
  status.nobody_may_lead = message.nobody_may_lead();
  status.led_against_rules = message.led_against_rules();
  status.without_ready_standby = message.without_ready_standby();
  status.standing_by = message.standing_by();
  status.ready_here = message.ready_here();
  for (const auto& member : message.members()) status.members.push_back(FromProto(member));
  AddShards(message, &status);
  for (const auto& transition : message.recent()) status.recent.push_back(FromProto(transition));
  status.counters = FromProto(message.counters());
  status.failing = message.failing();
  status.untried = message.untried();
  status.stopping = message.stopping();
  for (const auto& [shard, lasted] : message.longest_stopping())
    status.longest_stopping.push_back({ShardId{shard}, NanosecondsOf(lasted)});
  std::sort(status.longest_stopping.begin(), status.longest_stopping.end(), LongerStopping);
  for (const auto& shard : message.worst_failing()) {
    // A message from elsewhere may lack what makes a shard failing, and WorseFailing needs it.
    if (shard.has_failing()) status.worst_failing.push_back(FromProto(shard));
  }
  return status;
}

std::vector<MoveFact> LiveMoves(const NodeStatus& status) {
  std::vector<MoveFact> moves;
  for (const ShardStatus& shard : status.shards) {
    if (shard.move) moves.push_back(*shard.move);
  }
  return moves;
}

}  // namespace baton::runtime
