// state_json: `batonctl plan -f STATE.json`.
//
// Must hold: a refusal is one line. An answer is JSON. Each vacancy is claimed once or by nobody. A
// move starts at the shard's leader; there are at most as many moves as allowed, and they lead to
// the counts in `after`. With placement rules, nothing goes to a node that the rule forbids, and
// shards that nobody may lead go nowhere. The order of nodes changes nothing. Planning again from
// there finds nothing to do.
#include <algorithm>
#include <boost/json/parse.hpp>
#include <boost/json/serialize.hpp>
#include <map>
#include <optional>
#include <set>

#include "app/ctl/placement_file.h"
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

// Which rules count for which shards, and what labels nodes have.
class Rules {
 public:
  // For a state that the plan accepts, with `placement`.
  explicit Rules(const json::object& state) {
    const auto read = app::ParsePlacement("p", json::serialize(state.at("placement")));
    Must(read.ok(), "rules of a state that was taken are taken alone",
         read.ok() ? "" : read.error().message);
    rules_ = *read;
    for (const json::value& node : state.at("nodes").as_array()) AddNode(node.as_object());
  }

  // The number of the shard's rule, from 1; 0: none.
  std::size_t Of(std::int64_t shard) const {
    for (std::size_t r = 0; r < rules_.size(); ++r) {
      if (rules_[r].CountsFor(ShardId{static_cast<std::uint32_t>(shard)})) return r + 1;
    }
    return 0;
  }
  bool Allows(std::int64_t shard, const std::string& node) const {
    const std::size_t rule = Of(shard);
    if (rule == 0) return true;
    const auto& labels = labels_.at(node);
    const LabelTerms& require = rules_[rule - 1].require;
    return std::all_of(require.begin(), require.end(), [&](const LabelTerm& term) {
      const auto found = labels.find(term.label);
      return found != labels.end() &&
             std::count(term.values.begin(), term.values.end(), found->second) > 0;
    });
  }

 private:
  void AddNode(const json::object& node) {
    auto& labels = labels_[Text(node.at("id"))];
    labels["node"] = Text(node.at("id"));
    if (const json::value* zone = node.if_contains("zone")) labels["zone"] = Text(*zone);
    const json::value* given = node.if_contains("labels");
    if (given == nullptr) return;
    for (const auto& entry : given->as_object()) {
      labels[std::string(entry.key())] = Text(entry.value());
    }
  }

  Placement rules_;
  std::map<std::string, std::map<std::string, std::string>> labels_;  // by node
};

std::set<std::int64_t> NobodyMayLead(const json::object& plan, const Rules& rules) {
  std::set<std::int64_t> shards;
  for (const json::value& entry : plan.at("nobody_may_lead").as_array()) {
    const json::value& rule = entry.at("rule");
    for (const json::value& range : entry.at("shards").as_array()) {
      const std::string text = Text(range);
      const std::size_t dash = text.find('-');
      const std::int64_t first = std::stoll(text);
      const std::int64_t last = dash == text.npos ? first : std::stoll(text.substr(dash + 1));
      for (std::int64_t shard = first; shard <= last; ++shard) {
        shards.insert(shard);
        Must(rules.Of(shard) == (rule.is_null() ? 0 : rule.to_number<std::size_t>()),
             "a shard that nobody may lead is named with its rule", text);
      }
    }
  }
  return shards;
}

void MustKeepToRules(const json::object& state, const json::object& plan) {
  const bool ruled = state.contains("placement");
  Must(plan.contains("nobody_may_lead") == ruled, "with rules, and only then, nobody is named");
  if (!ruled) return;
  const Rules rules(state);
  const std::set<std::int64_t> nobody = NobodyMayLead(plan, rules);
  for (const char* part : {"claims", "moves"}) {
    for (const json::value& change : plan.at(part).as_array()) {
      const std::int64_t shard = Whole(change.at("shard"));
      const json::value& rule = change.at("rule");
      Must(rules.Of(shard) == (rule.is_null() ? 0 : rule.to_number<std::size_t>()),
           "each change names its shard's rule", json::serialize(change));
      Must(rules.Allows(shard, Text(change.at("to"))), "nothing goes to a node that is forbidden",
           json::serialize(change));
      Must(!nobody.contains(shard), "a shard that nobody may lead goes nowhere",
           json::serialize(change));
    }
  }
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
  MustKeepToRules(state, plan);
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
      {"other-field", R"({"shards":1,"nodes":[{"id":"a","rack":"z"}]})"},
      {"rules",
       R"({"shards":9,"nodes":[{"id":"a","zone":"x"},{"id":"b","zone":"y","labels":{"disk":"ssd"}},)"
       R"({"id":"c","state":"draining","zone":"x"},{"id":"d","weight":0}],"leaders":{"0":"c","1":"b",)"
       R"("3":"d","4":"a"},"placement":{"rules":[{"shards":["0-2"],"require":{"zone":["x"]}},)"
       R"({"shards":[3],"node":"z"},{"shards":"4-6","prefer":[{"disk":["nvme","ssd"]},)"
       R"({"zone":"x"}]}]},"limits":{"max_moves":2}})"},
      {"rules-nobody", R"({"shards":3,"nodes":[{"id":"a","state":"dead"}],"placement":{"rules":[)"
                       R"({"shards":["1"],"require":{"zone":["x"]}}]}})"},
      {"rules-wrong", R"({"shards":3,"nodes":[],"placement":{"rules":[{"spread":1.5}]}})"}};
}

}  // namespace baton::fuzz
