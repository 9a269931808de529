// state_json: `batonctl plan -f STATE.json`.
//
// Must hold: a refusal is one line. An answer is JSON. Each vacancy is claimed once or by nobody. A
// move starts at the shard's leader; there are at most as many moves as allowed, and they lead to
// the counts in `after`. The order of nodes changes nothing. Planning again from there finds
// nothing to do.
#include <algorithm>
#include <boost/json/parse.hpp>
#include <boost/json/serialize.hpp>
#include <map>
#include <optional>
#include <set>

#include "app/ctl/plan_state.h"
#include "fuzz/targets.h"

namespace baton::fuzz {
namespace {

namespace json = boost::json;

// More takes seconds and tests nothing new.
constexpr std::int64_t kMaxShards = 20'000;

using Leaders = std::map<std::int64_t, std::string>;  // by shard; vacancies are absent
using Counts = std::map<std::string, std::int64_t>;

std::string Text(const json::value& value) {
  return {value.as_string().data(), value.as_string().size()};
}

std::int64_t Whole(const json::value& value) { return value.to_number<std::int64_t>(); }

// For a state that the plan accepts.
Leaders LeadersOf(const json::object& state) {
  std::set<std::string> alive;
  for (const json::value& node : state.at("nodes").as_array()) {
    const json::value* word = node.as_object().if_contains("state");
    if (word == nullptr || Text(*word) != "dead") alive.insert(Text(node.as_object().at("id")));
  }
  Leaders leaders;
  const json::value* given = state.if_contains("leaders");
  if (given == nullptr) return leaders;
  for (const auto& entry : given->as_object()) {
    if (entry.value().is_null() || !alive.contains(Text(entry.value()))) continue;
    leaders[std::stoll(std::string(entry.key()))] = Text(entry.value());
  }
  return leaders;
}

Counts CountsOf(const Leaders& leaders) {
  Counts counts;
  for (const auto& [shard, leader] : leaders) ++counts[leader];
  return counts;
}

Counts CountsOf(const json::value& given) {
  Counts counts;
  for (const auto& entry : given.as_object()) {
    counts[std::string(entry.key())] = Whole(entry.value());
  }
  return counts;
}

void Carry(const json::object& plan, std::int64_t shards, Leaders& leaders) {
  for (const json::value& claim : plan.at("claims").as_array()) {
    const std::int64_t shard = Whole(claim.at("shard"));
    Must(shard >= 0 && shard < shards, "a claim is of a shard there is");
    Must(leaders.emplace(shard, Text(claim.at("to"))).second, "what is claimed was vacant");
  }
  for (const json::value& move : plan.at("moves").as_array()) {
    const auto found = leaders.find(Whole(move.at("shard")));
    Must(found != leaders.end() && found->second == Text(move.at("from")),
         "a move goes off the shard's leader");
    Must(Text(move.at("to")) != found->second, "a move goes elsewhere");
    found->second = Text(move.at("to"));
  }
}

json::object WithLeaders(json::object state, const Leaders& leaders) {
  json::object given;
  for (const auto& [shard, leader] : leaders) given[std::to_string(shard)] = leader;
  state["leaders"] = std::move(given);
  return state;
}

std::string Planned(const json::object& state) {
  const auto plan = app::PlanFromState(json::serialize(state));
  Must(plan.ok(), "a state that was taken is taken in other words",
       plan.ok() ? "" : plan.error().message);
  return plan.value();
}

void MustNotDependOnOrder(json::object state, const std::string& answer) {
  json::array& nodes = state.at("nodes").as_array();
  std::reverse(nodes.begin(), nodes.end());
  Must(Planned(state) == answer, "the order of nodes changes nothing", answer);
}

std::optional<std::int64_t> LimitOf(const json::object& state) {
  const json::value* limits = state.if_contains("limits");
  if (limits == nullptr) return std::nullopt;
  const json::value* most = limits->as_object().if_contains("max_moves");
  if (most == nullptr) return std::nullopt;
  return Whole(*most);
}

void Judge(const json::object& state, const std::string& answer) {
  const json::object plan = json::parse(answer).as_object();
  const std::int64_t shards = Whole(state.at("shards"));
  Leaders leaders = LeadersOf(state);
  Must(CountsOf(plan.at("before")) == CountsOf(leaders), "`before` counts the state given", answer);
  Carry(plan, shards, leaders);
  Must(CountsOf(plan.at("after")) == CountsOf(leaders), "`after` counts what comes of it", answer);
  const auto limit = LimitOf(state);
  const auto moves = static_cast<std::int64_t>(plan.at("moves").as_array().size());
  Must(!limit || moves <= *limit, "no more moves than allowed", answer);
  MustNotDependOnOrder(state, answer);
  if (limit && moves == *limit) return;
  const json::object rest = json::parse(Planned(WithLeaders(state, leaders))).as_object();
  Must(rest.at("claims").as_array().empty() && rest.at("moves").as_array().empty(),
       "once a plan is carried out nothing is left to do", json::serialize(rest));
}

// A state with so many shards that planning it repeatedly would take seconds.
bool IsGreat(std::string_view bytes) {
  json::error_code error;
  const json::value value = json::parse({bytes.data(), bytes.size()}, error);
  if (error || !value.is_object()) return false;
  const json::value* shards = value.get_object().if_contains("shards");
  return shards != nullptr &&
         ((shards->is_int64() && shards->get_int64() > kMaxShards) || shards->is_uint64());
}

}  // namespace

void RunStateJson(std::string_view bytes) {
  if (IsGreat(bytes)) return;
  const auto answer = app::PlanFromState(bytes);
  if (!answer) return MustBeOneLine(answer.error().message);
  MustBeJson(answer.value());
  Must(answer.value().find('\n') == std::string::npos, "an answer is one line", answer.value());
  Judge(json::parse({bytes.data(), bytes.size()}).as_object(), answer.value());
}

std::vector<Seed> StateJsonSeeds() {
  return {
      {"vacancies", R"({"shards":5,"nodes":[{"id":"a"},{"id":"b","weight":2}]})"},
      {"imbalance", R"({"shards":4,"nodes":[{"id":"a"},{"id":"b"}],)"
                    R"("leaders":{"0":"a","1":"a","2":"a","3":null},"limits":{"max_moves":1}})"},
      {"drain", R"({"shards":3,"nodes":[{"id":"a","state":"draining"},{"id":"b"},)"
                R"({"id":"c","state":"dead"}],"leaders":{"0":"a","1":"c","2":"b"}})"},
      {"weights", R"({"shards":9,"nodes":[{"id":"a","weight":4294967295},{"id":"b","weight":0},)"
                  R"({"id":"c","weight":4294967295}]})"},
      {"repeated-key", R"({"shards":1,"shards":2,"nodes":[]})"},
      {"other-field", R"({"shards":1,"nodes":[{"id":"a","zone":"z"}]})"}};
}

}  // namespace baton::fuzz
