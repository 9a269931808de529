#include "http/status_json.h"

#include <boost/json.hpp>

#include "base/escape.h"
#include "http/cause_json.h"
#include "runtime/history.h"
#include "runtime/rules_not_kept.h"

namespace baton::http {
namespace {
namespace json = boost::json;
using runtime::MemberStatus;
using runtime::NodeStatus;
using runtime::ShardStatus;

std::string Serialize(const json::value& value) { return SafeJson(json::serialize(value)); }

json::value NullIfEmpty(const std::string& text) {
  if (text.empty()) return nullptr;
  return json::value(text);
}

json::value NullIfZero(std::uint32_t number) {
  if (number == 0) return nullptr;
  return number;
}

std::int64_t Milliseconds(std::chrono::nanoseconds duration) {
  return std::chrono::duration_cast<std::chrono::milliseconds>(duration).count();
}

json::object MoveObject(const MoveFact& move) {
  json::object object{{"shard", move.shard.value},     {"from", NullIfEmpty(move.from)},
                      {"to", NullIfEmpty(move.to)},    {"reason", ToString(move.reason)},
                      {"phase", ToString(move.phase)}, {"ends_term", move.ends.value}};
  object["cause"] = CauseValue(move.cause);
  if (!move.actor.empty()) object["actor"] = move.actor;
  if (!move.void_reason.empty()) object["void_reason"] = move.void_reason;
  return object;
}

json::array MoveArray(const std::vector<MoveFact>& moves) {
  json::array array;
  array.reserve(moves.size());
  for (const MoveFact& move : moves) array.push_back(MoveObject(move));
  return array;
}

/// The fields that every list of shards has.
json::object ShardObject(const ShardStatus& shard) {
  return {{"shard", shard.shard.value},
          {"leader", NullIfEmpty(shard.leader)},
          {"address", NullIfEmpty(shard.address)},
          {"term", shard.term.value},
          {"state", ToString(shard.state)}};
}

json::object StandbyObject(const NodeId& node, const std::string& address, bool ready) {
  return {{"node", node}, {"address", NullIfEmpty(address)}, {"ready", ready}};
}

/// The shard's standbys with their addresses, as callers need them.
json::array StandbyArray(const ShardStatus& shard) {
  json::array array;
  if (shard.standbys == nullptr) return array;
  for (const runtime::StandbyStatus& standby : *shard.standbys) {
    array.push_back(StandbyObject(standby.node, standby.address, standby.ready));
  }
  return array;
}

json::value FailingValue(const ShardStatus& shard) {
  if (!shard.failing) return nullptr;
  return json::object{{"attempts", shard.failing->attempts},
                      {"lasted_ms", Milliseconds(shard.failing->lasted)},
                      {"last_error", shard.failing->last_error}};
}

json::object FailingObject(const ShardStatus& shard) {
  json::object object{{"shard", shard.shard.value}, {"leader", NullIfEmpty(shard.leader)}};
  object["failing"] = FailingValue(shard);
  return object;
}

/// Why nobody may claim it yet, or one node only.
void AddWaits(const ShardStatus& shard, TimePoint at, json::object* object) {
  (*object)["deaths"] = shard.deaths;
  (*object)["claims_wait_ms"] = Milliseconds(shard.claims_wait);
  (*object)["waits_for"] = NullIfEmpty(shard.waits_for);
  const auto others = runtime::OthersWait(shard, at);
  (*object)["others_wait_ms"] = others ? json::value(Milliseconds(*others)) : json::value(nullptr);
  (*object)["lock_wait_ms"] = Milliseconds(runtime::LockWait(shard, at));
  (*object)["rule"] = NullIfZero(shard.rule);
  (*object)["nobody_may_lead"] = shard.nobody_may_lead;
  (*object)["led_against_rule"] = shard.led_against_rule;
}

json::object TransitionObject(const Transition& transition) {
  json::object object{{"shard", transition.shard.value},
                      {"reason", ToString(transition.reason)},
                      {"from", NullIfEmpty(transition.from)},
                      {"to", NullIfEmpty(transition.to)},
                      {"term", transition.term.value},
                      {"elect_ms", Milliseconds(transition.elect)},
                      {"activate_ms", Milliseconds(transition.activate)}};
  if (transition.detect) {
    object["detect_ms"] = Milliseconds(*transition.detect);
  } else if (transition.detect_at_most) {
    object["detect_at_most_ms"] = Milliseconds(*transition.detect_at_most);
  } else if (runtime::DetectionUnknown(transition, {})) {
    const bool proven = transition.reason == Reason::kProcessDied;
    object[proven ? "detect_ms" : "detect_at_most_ms"] = nullptr;
  }
  if (!transition.actor.empty()) object["actor"] = transition.actor;
  object["cause"] = CauseValue(transition.cause);
  return object;
}

json::object LabelsObject(const Labels& labels) {
  json::object object;
  for (const auto& [name, value] : labels) object[name] = value;
  return object;
}

json::object MemberObject(const NodeStatus& status, const MemberStatus& member) {
  const MemberFact& fact = member.fact;
  return {{"node", fact.node},
          {"live", fact.Live()},
          {"state", ToString(fact.state)},
          {"drained", member.drained_by_policy},
          {"led", member.led},
          {"suspended", member.suspended},
          {"target", status.TargetOf(member)},
          {"weight", fact.weight},
          {"zone", NullIfEmpty(fact.zone)},
          {"labels", LabelsObject(fact.labels)},
          {"address", NullIfEmpty(fact.address)},
          {"http_address", NullIfEmpty(fact.http_address)},
          {"service_address", NullIfEmpty(fact.service_address)},
          {"version", NullIfEmpty(fact.software_version)},
          {"session", fact.session.value},
          {"ttl_ms", fact.ttl.count()},
          {"external", fact.external},
          {"failing", fact.failing},
          {"unhealthy", fact.unhealthy}};
}

json::array MemberArray(const NodeStatus& status) {
  json::array array;
  for (const MemberStatus& member : status.members) array.push_back(MemberObject(status, member));
  return array;
}

json::array DepartedArray(const NodeStatus& status) {
  json::array array;
  for (const runtime::DepartedMember& departed : status.departed) {
    json::object object{{"node", departed.node},
                        {"session", departed.session.value},
                        {"ago_ms", Milliseconds(departed.age)},
                        {"why", nullptr},
                        {"led", departed.led},
                        {"back", departed.back}};
    if (departed.why) object["why"] = ToString(*departed.why);
    array.push_back(std::move(object));
  }
  return array;
}

json::object CounterObject(const runtime::NodeCounters& counters) {
  json::object transitions;
  for (const auto& [reason, count] : counters.transitions) transitions[ToString(reason)] = count;
  json::object moves;
  for (const auto& [result, count] : counters.moves) moves[result] = count;
  return {{"transitions", std::move(transitions)},
          {"moves", std::move(moves)},
          {"renewals_confirmed", counters.renewals_confirmed},
          {"renewals_failed", counters.renewals_failed},
          {"watch_resyncs", counters.watch_resyncs},
          {"watch_stale_events", counters.watch_stale_events},
          {"records_quarantined", counters.records_quarantined},
          {"callbacks_timed_out", counters.callbacks_timed_out},
          {"callbacks_failed", counters.callbacks_failed},
          {"activation_failures", counters.activation_failures}};
}

json::object GroupObject(const NodeStatus& status) {
  return {{"group", status.group}, {"revision", status.revision.value}, {"stale", status.stale}};
}

const ShardStatus* FindShard(const NodeStatus& status, ShardId shard) {
  for (const ShardStatus& candidate : status.shards) {
    if (candidate.shard == shard) return &candidate;
  }
  return nullptr;
}

void AddNode(const NodeStatus& status, json::object* object) {
  json::object& out = *object;
  out["node"] = status.node;
  out["version"] = status.version;
  out["session"] = runtime::ToString(status.session);
  out["session_id"] = status.session_id.value;
  out["halted"] = status.halted ? json::value(status.halted->message) : json::value(nullptr);
  out["ready"] = status.ready;
  out["not_ready"] = NullIfEmpty(status.not_ready);
  out["view_age_ms"] = Milliseconds(status.view_age);
  out["renewal_age_ms"] = Milliseconds(status.renewal_age);
  out["ttl_ms"] = status.ttl.count();
}

void AddFailover(const NodeStatus& status, json::object* object) {
  const FailoverSettings& failover = status.failover;
  const bool after = failover.policy == FailoverPolicy::kAfter;
  (*object)["failover"] = ToString(failover.policy);
  (*object)["failover_delay_ms"] = after ? json::value(failover.delay.count()) : nullptr;
  (*object)["lock_delay_ms"] = failover.lock_delay.count();
  (*object)["placement_rules"] = status.placement.size();
  (*object)["config_schema"] = status.config_schema;
}

void AddLimits(const NodeStatus& status, json::object* object) {
  const auto delay = [](const std::optional<std::chrono::milliseconds>& set) {
    return set ? json::value(set->count()) : json::value(nullptr);
  };
  (*object)["max_moves"] = NullIfZero(status.max_moves);
  (*object)["rebalance_delay_ms"] = delay(status.rebalance_delay);
  (*object)["cooldown_ms"] = delay(status.cooldown);
}

void AddGroup(const NodeStatus& status, json::object* object) {
  json::object& out = *object;
  out["shard_count"] = status.shard_count;
  out["hash"] = ToString(status.hash);
  out["leaderless"] = status.leaderless;
  std::uint32_t suspended = 0;
  for (const MemberStatus& member : status.members) suspended += member.suspended;
  out["suspended"] = suspended;
  out["expected_nodes"] = NullIfZero(status.expected_nodes);
  AddLimits(status, object);
  AddFailover(status, object);
  out["waiting_after_deaths"] = status.waiting;
  out["waiting_by_settings"] = status.waiting_by_settings;
  out["nobody_may_lead"] = status.nobody_may_lead;
  out["led_against_rules"] = status.led_against_rules;
  out["without_ready_standby"] = status.without_ready_standby;
  out["without_ready_standby_ms"] = Milliseconds(status.without_ready_standby_for);
  out["standing_by"] = status.standing_by;
  out["ready_here"] = status.ready_here;
  out["balancer"] = NullIfEmpty(status.balancer);
  out["paused"] = status.paused;
  out["rebalance_requested"] = status.rebalance_requested;
  out["braking"] = status.braking;
}

json::array RuleArray(const NodeStatus& status) {
  json::array array;
  for (const auto& [number, gaps] : runtime::FindRulesNotKept(status)) {
    json::object object{{"rule", number}, {"require", nullptr}};
    if (number <= status.placement.size()) {
      object["require"] = TermWords(status.placement[number - 1].require);
    }
    object["nobody_may_lead"] = gaps.nobody_may_lead;
    object["led_against_rule"] = gaps.led_against_rule;
    object["without_ready_standby"] = gaps.without_ready_standby;
    object["fewer_standbys"] = gaps.fewer_standbys;
    object["fewer_ready_standbys"] = gaps.fewer_ready_standbys;
    object["not_apart"] = gaps.not_apart;
    array.push_back(std::move(object));
  }
  return array;
}

// Only the leader knows these states, and they change without a revision: a poll might miss their
// end.
ShardState StateOfRoute(const runtime::ViewRoute& route) {
  const bool own = route.state == ShardState::kActivating || route.state == ShardState::kSuspended;
  return own ? ShardState::kLed : route.state;
}

// Adds nothing to a route without standbys: there may be a million of them.
void AddStandbys(const runtime::ViewRoute& route, json::object* object) {
  if (route.standbys == nullptr) return;
  json::array array;
  for (const runtime::ViewStandby& standby : *route.standbys) {
    array.push_back(StandbyObject(standby.node->node, standby.node->address, standby.ready));
  }
  (*object)["standbys"] = std::move(array);
}

}  // namespace

// Shard by shard: as JSON values, 100,000 shards would take a hundred megabytes.
std::string ShardsJson(const NodeStatus& status) {
  std::string text = Serialize(GroupObject(status));
  text.back() = ',';  // replaces the closing brace
  text += "\"shards\":[";
  for (const ShardStatus& shard : status.shards) {
    if (text.back() != '[') text += ',';
    json::object object = ShardObject(shard);
    if (shard.failing) object["failing"] = FailingValue(shard);
    if (shard.standbys) object["standbys"] = StandbyArray(shard);
    text += Serialize(object);
  }
  return text += "]}";
}

boost::json::object ShardFields(const ShardStatus& shard, TimePoint at) {
  json::object object = ShardObject(shard);
  object["reason"] = ToString(shard.reason);
  object["cause"] = CauseValue(shard.cause);
  object["previous"] = NullIfEmpty(shard.previous);
  object["move"] = shard.move ? json::value(MoveObject(*shard.move)) : json::value(nullptr);
  object["quarantined"] = shard.quarantined;
  object["failing"] = FailingValue(shard);
  AddWaits(shard, at, &object);
  object["standbys"] = StandbyArray(shard);
  object["without_ready_standby"] = shard.without_ready_standby;
  return object;
}

std::optional<std::string> ShardJson(const NodeStatus& status, ShardId shard) {
  const ShardStatus* found = FindShard(status, shard);
  if (found == nullptr) return std::nullopt;
  json::object document = GroupObject(status);
  for (auto& field : ShardFields(*found, status.at)) document[field.key()] = field.value();
  json::array recent;
  for (const Transition& transition : status.recent) {
    if (transition.shard == shard) recent.push_back(TransitionObject(transition));
  }
  document["recent"] = std::move(recent);
  return Serialize(document);
}

std::optional<std::string> LookupJson(const NodeStatus& status, ShardId shard) {
  const ShardStatus* found = FindShard(status, shard);
  if (found == nullptr) return std::nullopt;
  json::object document = GroupObject(status);
  document["age_ms"] = Milliseconds(status.view_age);
  for (auto& field : ShardObject(*found)) document[field.key()] = field.value();
  document["standbys"] = StandbyArray(*found);
  return Serialize(document);
}

std::string RoutesJson(const RoutesStamp& stamp, const std::vector<runtime::ViewRoute>& routes) {
  const json::object head{{"group", stamp.group},
                          {"revision", stamp.revision.value},
                          {"age_ms", Milliseconds(stamp.age)},
                          {"stale", stamp.stale}};
  std::string text = Serialize(head);
  text.back() = ',';  // replaces the closing brace
  text += "\"routes\":[";
  for (const runtime::ViewRoute& route : routes) {
    if (text.back() != '[') text += ',';
    json::object object{{"shard", route.shard.value},
                        {"leader", nullptr},
                        {"address", nullptr},
                        {"term", route.term.value},
                        {"state", ToString(StateOfRoute(route))},
                        {"revision", route.revision.value}};
    if (route.leader != nullptr) {
      object["leader"] = route.leader->node;
      object["address"] = NullIfEmpty(route.leader->address);
    }
    AddStandbys(route, &object);
    text += Serialize(object);
  }
  return text += "]}";
}

std::string StatusJson(const NodeStatus& status, const std::vector<MoveFact>& moves) {
  json::object document = GroupObject(status);
  AddGroup(status, &document);
  AddNode(status, &document);
  document["nodes"] = MemberArray(status);
  document["departed"] = DepartedArray(status);
  json::array all = MoveArray(moves);
  for (const ShardStatus& shard : status.shards) {
    if (shard.move) all.push_back(MoveObject(*shard.move));
  }
  document["moves"] = std::move(all);
  document["rules_not_kept"] = RuleArray(status);
  document["failing"] = status.failing;
  json::array failing;
  for (const ShardStatus& shard : status.worst_failing) failing.push_back(FailingObject(shard));
  document["failing_shards"] = std::move(failing);
  document["untried"] = status.untried;
  document["stopping"] = status.stopping;
  json::array stopping;
  for (const runtime::StoppingShard& shard : status.longest_stopping) {
    stopping.push_back({{"shard", shard.shard.value}, {"lasted_ms", Milliseconds(shard.lasted)}});
  }
  document["stopping_shards"] = std::move(stopping);
  json::array recent;
  for (const Transition& transition : status.recent) recent.push_back(TransitionObject(transition));
  document["recent"] = std::move(recent);
  document["counters"] = CounterObject(status.counters);
  return Serialize(document);
}

std::string NodesJson(const NodeStatus& status) {
  json::object document = GroupObject(status);
  document["node"] = status.node;
  document["view_age_ms"] = Milliseconds(status.view_age);
  document["expected_nodes"] = NullIfZero(status.expected_nodes);
  document["nodes"] = MemberArray(status);
  document["departed"] = DepartedArray(status);
  return Serialize(document);
}

std::string GroupJson(const NodeStatus& status) {
  json::object document = GroupObject(status);
  document["expected_nodes"] = NullIfZero(status.expected_nodes);
  AddLimits(status, &document);
  AddFailover(status, &document);
  return Serialize(document);
}

std::string MovesJson(const std::vector<MoveFact>& moves) {
  return Serialize(json::object{{"moves", MoveArray(moves)}});
}

}  // namespace baton::http
