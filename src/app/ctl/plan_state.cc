#include "app/ctl/plan_state.h"

#include <algorithm>
#include <charconv>
#include <cstddef>
#include <initializer_list>
#include <limits>
#include <map>
#include <optional>
#include <unordered_map>
#include <utility>
#include <vector>

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <boost/json/serialize.hpp>
#include <boost/json/value.hpp>

#include "app/ctl/json_document.h"
#include "app/ctl/placement_file.h"
#include "app/ctl/ruled_group.h"
#include "base/limits.h"
#include "base/placement.h"
#include "base/text_rules.h"
#include "core/assignment.h"

namespace baton::app {
namespace {

namespace json = boost::json;
using core::kNobody;
using core::MemberIndex;

constexpr std::size_t kMaxRuleBytes = 1 << 20;

struct State {
  std::vector<MemberFact> facts;     ///< of the nodes that are not dead
  std::vector<bool> draining;        ///< of the same nodes
  std::vector<MemberIndex> leaders;  ///< by shard
  /// By shard, the nodes that are ready standbys; nullopt: the state does not say.
  std::optional<std::vector<std::vector<MemberIndex>>> ready;
  std::optional<Placement> placement;
  std::size_t max_moves = std::numeric_limits<std::size_t>::max();
};

// The nodes by id; dead nodes have no index.
using NodeIndexes = std::unordered_map<NodeId, MemberIndex>;

Error Wrong(const std::string& path, const std::string& what, const std::string& expected) {
  return {ErrorCode::kInvalidArgument, fmt::format("{}: {}; expected {}", path, what, expected)};
}

std::string QuoteText(std::string_view text) {
  return Quote(json::value(json::string_view(text.data(), text.size())));
}

Status RefuseOtherFields(const json::object& object, const std::string& path,
                         std::initializer_list<std::string_view> honoured) {
  for (const auto& field : object) {
    const std::string_view name(field.key().data(), field.key().size());
    if (std::find(honoured.begin(), honoured.end(), name) != honoured.end()) continue;
    std::string names;
    for (const std::string_view known : honoured) {
      names += (names.empty() ? "" : ", ") + std::string(known);
    }
    return Wrong(path, fmt::format("field {} is not known", QuoteText(name)),
                 honoured.size() == 1 ? "only " + names : "only these: " + names);
  }
  return Ok();
}

Result<std::uint32_t> ReadNumber(const json::value& value, const std::string& path,
                                 std::uint32_t least, std::uint32_t greatest) {
  std::optional<std::uint64_t> number;
  if (value.is_uint64()) number = value.get_uint64();
  if (value.is_int64() && value.get_int64() >= 0) {
    number = static_cast<std::uint64_t>(value.get_int64());
  }
  if (number && *number >= least && *number <= greatest) {
    return static_cast<std::uint32_t>(*number);
  }
  return Wrong(path, "is " + Quote(value),
               fmt::format("a whole number from {} to {}", least, greatest));
}

Result<NodeId> ReadNodeId(const json::object& node, const std::string& path) {
  const std::string expected = kNameRule;
  const json::value* id = node.if_contains("id");
  if (id == nullptr) return Wrong(path + ".id", "is missing", expected);
  if (!id->is_string()) return Wrong(path + ".id", "is " + Quote(*id), expected);
  NodeId text(id->get_string().data(), id->get_string().size());
  if (!IsName(text)) return Wrong(path + ".id", "is " + Quote(*id), expected);
  return text;
}

Result<MemberState> ReadMemberState(const json::object& node, const std::string& path) {
  const json::value* value = node.if_contains("state");
  if (value == nullptr) return MemberState::kActive;
  for (const MemberState state :
       {MemberState::kActive, MemberState::kDraining, MemberState::kDead}) {
    if (value->is_string() && value->get_string() == ToString(state)) return state;
  }
  return Wrong(path + ".state", "is " + Quote(*value), "\"active\", \"draining\" or \"dead\"");
}

// An optional name; empty if it is not there.
Result<std::string> ReadName(const json::value* value, const std::string& path) {
  if (value == nullptr) return std::string();
  std::string text;
  if (value->is_string()) text.assign(value->get_string().data(), value->get_string().size());
  if (!IsName(text)) return Wrong(path, "is " + Quote(*value), kNameRule);
  return text;
}

Result<Labels> ReadLabels(const json::object& node, const std::string& path) {
  Labels labels;
  const json::value* value = node.if_contains("labels");
  if (value == nullptr) return labels;
  if (!value->is_object()) return Wrong(path, "is " + Quote(*value), "an object of labels");
  for (const auto& field : value->get_object()) {
    const std::string name(field.key().data(), field.key().size());
    if (!IsLabelName(name)) return Wrong(path, "has " + QuoteText(name), kLabelNameRule);
    Result<std::string> text = ReadName(&field.value(), path + "." + name);
    if (!text) return text.error();
    labels[name] = *std::move(text);
  }
  if (const Status sound = CheckLabels(labels); !sound) {
    return Error{ErrorCode::kInvalidArgument, fmt::format("{}: {}", path, sound.error().message)};
  }
  return labels;
}

Result<MemberFact> ReadFact(const json::object& node, const std::string& path) {
  MemberFact fact;
  Result<NodeId> id = ReadNodeId(node, path);
  if (!id) return id.error();
  fact.node = *std::move(id);
  if (const json::value* given = node.if_contains("weight")) {
    const Result<std::uint32_t> number =
        ReadNumber(*given, path + ".weight", 0, std::numeric_limits<std::uint32_t>::max());
    if (!number) return number.error();
    fact.weight = number.value();
  }
  const Result<MemberState> state = ReadMemberState(node, path);
  if (!state) return state.error();
  fact.state = state.value();
  Result<std::string> zone = ReadName(node.if_contains("zone"), path + ".zone");
  if (!zone) return zone.error();
  fact.zone = *std::move(zone);
  Result<Labels> labels = ReadLabels(node, path + ".labels");
  if (!labels) return labels.error();
  fact.labels = *std::move(labels);
  return fact;
}

Status ReadNode(const json::value& value, const std::string& path, State& state,
                NodeIndexes& indexes) {
  if (!value.is_object()) return Wrong(path, "is " + Quote(value), "an object with an \"id\"");
  const json::object& node = value.get_object();
  if (Status status = RefuseOtherFields(node, path, {"id", "weight", "state", "zone", "labels"});
      !status) {
    return status;
  }
  Result<MemberFact> fact = ReadFact(node, path);
  if (!fact) return fact.error();

  const bool dead = fact->state == MemberState::kDead;
  const auto index = dead ? kNobody : static_cast<MemberIndex>(state.facts.size());
  if (!indexes.emplace(fact->node, index).second) {
    return Wrong(path + ".id", fmt::format("is {} again", QuoteText(fact->node)), "each id once");
  }
  if (dead) return Ok();
  state.draining.push_back(fact->state == MemberState::kDraining);
  state.facts.push_back(*std::move(fact));
  return Ok();
}

Status ReadNodes(const json::object& document, State& state, NodeIndexes& indexes) {
  const json::value* value = document.if_contains("nodes");
  if (value == nullptr) return Wrong("nodes", "is missing", "an array of nodes");
  if (!value->is_array()) return Wrong("nodes", "is " + Quote(*value), "an array of nodes");
  const json::array& nodes = value->get_array();
  if (nodes.size() > kMaxPlanNodes) {
    return Wrong("nodes", fmt::format("has {} nodes", nodes.size()),
                 "at most " + std::to_string(kMaxPlanNodes));
  }
  for (std::size_t i = 0; i < nodes.size(); ++i) {
    Status status = ReadNode(nodes[i], fmt::format("nodes[{}]", i), state, indexes);
    if (!status) return status;
  }
  return Ok();
}

// A number or truth would lose its form on its way through YAML; whole numbers don't.
bool HasOddValue(const json::value& value) {
  if (value.is_array()) {
    const json::array& all = value.get_array();
    return std::any_of(all.begin(), all.end(), HasOddValue);
  }
  if (value.is_object()) {
    const json::object& all = value.get_object();
    return std::any_of(all.begin(), all.end(),
                       [](const auto& field) { return HasOddValue(field.value()); });
  }
  return value.is_double() || value.is_bool();
}

// The file of `placement set` may be JSON, too. Here it is read rule by rule, so that the path
// names the rule: lines and numbers within a text of one rule mean nothing in the document.
Result<PlacementRule> ReadRule(const json::value& value, const std::string& path) {
  if (HasOddValue(value)) return Wrong(path, "has a fraction or a truth", "texts as values");
  const std::string text = json::serialize(json::object{{"rules", json::array{value}}});
  if (text.size() > kMaxRuleBytes) {
    return Wrong(path, fmt::format("has {} bytes", text.size()),
                 "at most " + std::to_string(kMaxRuleBytes));
  }
  Result<Placement> read = ParsePlacement(path, text);
  if (read) return std::move(read->front());
  std::string message = read.error().message;
  for (const std::string& place : {path + ":1:", path + ": rule 1:"}) {
    if (message.starts_with(place)) message.replace(0, place.size(), path + ":");
  }
  return Error{ErrorCode::kInvalidArgument, std::move(message)};
}

Status ReadPlacement(const json::object& document, State& state) {
  const json::value* value = document.if_contains("placement");
  if (value == nullptr) return Ok();
  constexpr const char* kForm = "an object with \"rules\", as `placement get -o json` prints it";
  if (!value->is_object()) return Wrong("placement", "is " + Quote(*value), kForm);
  const json::object& placement = value->get_object();
  if (Status status = RefuseOtherFields(placement, "placement", {"rules"}); !status) return status;
  const json::value* rules = placement.if_contains("rules");
  if (rules == nullptr) return Wrong("placement.rules", "is missing", "an array of rules");
  if (!rules->is_array()) {
    return Wrong("placement.rules", "is " + Quote(*rules), "an array of rules");
  }
  if (rules->get_array().size() > kMaxPlacementRules) {
    return Wrong("placement.rules", fmt::format("has {} rules", rules->get_array().size()),
                 "at most " + std::to_string(kMaxPlacementRules));
  }
  state.placement.emplace();
  for (std::size_t i = 0; i < rules->get_array().size(); ++i) {
    Result<PlacementRule> rule =
        ReadRule(rules->get_array()[i], fmt::format("placement.rules[{}]", i));
    if (!rule) return rule.error();
    state.placement->push_back(*std::move(rule));
  }
  if (const Status sound = CheckPlacement(*state.placement); !sound) {
    return Error{ErrorCode::kInvalidArgument, "placement: " + sound.error().message};
  }
  return Ok();
}

// Reads a shard's number from a key: digits without leading zeros, below `shards`.
std::optional<std::uint32_t> ParseShard(std::string_view text, std::size_t shards) {
  std::uint32_t number = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  const bool whole = error == std::errc{} && end == text.data() + text.size();
  const bool plain = text == "0" || (!text.empty() && text.front() != '0');
  if (!whole || !plain || number >= shards) return std::nullopt;
  return number;
}

Error NoSuchShard(const std::string& path, std::string_view key, const State& state) {
  return Wrong(path, QuoteText(key) + " is not one of the shards",
               fmt::format("numbers from \"0\" to \"{}\"", state.leaders.size() - 1));
}

Status ReadLeaders(const json::object& document, const NodeIndexes& indexes, State& state) {
  const json::value* value = document.if_contains("leaders");
  if (value == nullptr) return Ok();
  if (!value->is_object()) {
    return Wrong("leaders", "is " + Quote(*value), "an object of shard numbers and node ids");
  }
  for (const auto& field : value->get_object()) {
    const std::string_view key(field.key().data(), field.key().size());
    const std::optional<std::uint32_t> shard = ParseShard(key, state.leaders.size());
    if (!shard) return NoSuchShard("leaders", key, state);
    if (field.value().is_null()) continue;
    if (!field.value().is_string()) {
      return Wrong(fmt::format("leaders[{}]", QuoteText(key)), "is " + Quote(field.value()),
                   "a node's id or null");
    }
    const json::string& leader = field.value().get_string();
    const auto found = indexes.find(NodeId(leader.data(), leader.size()));
    if (found != indexes.end()) state.leaders[*shard] = found->second;
  }
  return Ok();
}

Status ReadReady(const json::object& document, const NodeIndexes& indexes, State& state) {
  const json::value* value = document.if_contains("ready");
  if (value == nullptr) return Ok();
  if (!value->is_object()) {
    return Wrong("ready", "is " + Quote(*value), "an object of shard numbers and lists of nodes");
  }
  state.ready.emplace(state.leaders.size());
  for (const auto& field : value->get_object()) {
    const std::string_view key(field.key().data(), field.key().size());
    const std::optional<std::uint32_t> shard = ParseShard(key, state.leaders.size());
    if (!shard) return NoSuchShard("ready", key, state);
    const std::string path = fmt::format("ready[{}]", QuoteText(key));
    if (!field.value().is_array()) {
      return Wrong(path, "is " + Quote(field.value()), "an array of node ids");
    }
    for (const json::value& id : field.value().get_array()) {
      if (!id.is_string()) return Wrong(path, "has " + Quote(id), "an array of node ids");
      const auto node = indexes.find(NodeId(id.get_string().data(), id.get_string().size()));
      if (node == indexes.end() || node->second == kNobody) continue;
      (*state.ready)[*shard].push_back(node->second);
    }
  }
  return Ok();
}

Status ReadLimits(const json::object& document, State& state) {
  const json::value* value = document.if_contains("limits");
  if (value == nullptr) return Ok();
  if (!value->is_object()) {
    return Wrong("limits", "is " + Quote(*value), "an object with \"max_moves\"");
  }
  const json::object& limits = value->get_object();
  if (Status status = RefuseOtherFields(limits, "limits", {"max_moves"}); !status) return status;
  if (const json::value* moves = limits.if_contains("max_moves")) {
    const Result<std::uint32_t> number =
        ReadNumber(*moves, "limits.max_moves", 0, std::numeric_limits<std::uint32_t>::max());
    if (!number) return number.error();
    state.max_moves = number.value();
  }
  return Ok();
}

Result<State> ReadState(const json::value& value) {
  if (!value.is_object()) {
    return Wrong("document", "is " + Quote(value), "an object with \"shards\" and \"nodes\"");
  }
  const json::object& document = value.get_object();
  if (Status status = RefuseOtherFields(
          document, "document", {"shards", "nodes", "leaders", "ready", "placement", "limits"});
      !status) {
    return status.error();
  }
  const json::value* shards = document.if_contains("shards");
  if (shards == nullptr) return Wrong("shards", "is missing", "the number of shards");
  const Result<std::uint32_t> count = ReadNumber(*shards, "shards", 1, kMaxShards);
  if (!count) return count.error();

  State state;
  state.leaders.resize(count.value(), kNobody);
  NodeIndexes indexes;
  if (Status status = ReadNodes(document, state, indexes); !status) return status.error();
  if (Status status = ReadLeaders(document, indexes, state); !status) return status.error();
  if (Status status = ReadReady(document, indexes, state); !status) return status.error();
  if (Status status = ReadPlacement(document, state); !status) return status.error();
  if (Status status = ReadLimits(document, state); !status) return status.error();
  return state;
}

// Writes the answer. It escapes neither words nor node ids nor labels: these consist of letters,
// digits, '-', '_', '.' and '/'.
class Planner {
 public:
  explicit Planner(const State& state)
      : state_(state), group_(GroupOf(state)), ruled_(state.placement.has_value()) {
    for (std::uint32_t s = 0; s < state.leaders.size(); ++s) {
      RuledShard shard{.shard = ShardId{s}, .leader = state.leaders[s], .ready = {}};
      if (state.ready) shard.ready = (*state.ready)[s];
      group_.AddShard(shard);
    }
  }

  std::string Plan() {
    const std::string before = Counts();
    const std::string claims = Claims(group_.Claim());
    const std::string moves = Moves(group_.Balance(state_.max_moves));
    return fmt::format(R"({{"claims":[{}],"moves":[{}],"before":{},"after":{}{}}})", claims, moves,
                       before, Counts(),
                       ruled_ ? fmt::format(R"(,"nobody_may_lead":[{}])", Nobody()) : "");
  }

 private:
  static RuledGroup GroupOf(const State& state) {
    std::vector<RuledNode> nodes;
    for (std::size_t n = 0; n < state.facts.size(); ++n) {
      nodes.push_back({.fact = &state.facts[n], .draining = state.draining[n]});
    }
    const auto shards = static_cast<std::uint32_t>(state.leaders.size());
    return {state.placement.value_or(Placement{}), shards, nodes};
  }

  const NodeId& IdOf(MemberIndex node) const { return group_.members()[node].id; }

  std::string Counts() const {
    std::map<std::string_view, std::size_t> counts;
    for (const core::AssignmentShard& shard : group_.shards()) {
      if (shard.leader != kNobody) ++counts[IdOf(shard.leader)];
    }
    std::string text;
    for (const auto& [id, count] : counts) {
      text += fmt::format(R"({}"{}":{})", text.empty() ? "" : ",", id, count);
    }
    return fmt::format("{{{}}}", text);
  }

  // A rule's number, from 1; null for 0.
  static std::string RuleWord(std::uint32_t rule) {
    return rule == 0 ? "null" : std::to_string(rule);
  }
  // Only with rules, so that answers to states without rules stay as they were.
  std::string RuleField(ShardId shard) const {
    return ruled_ ? fmt::format(R"(,"rule":{})", RuleWord(group_.RuleOf(shard))) : "";
  }

  std::string WhyField(const Cause& cause) const {
    return ruled_ ? fmt::format(R"(,"why":"{}")", ToString(cause.kind)) : "";
  }

  // Only if the state says who is ready.
  std::string ReadyField(const core::PlannedClaim& claim) const {
    if (!state_.ready) return "";
    const bool ready = group_.shards()[claim.shard.value].standby == claim.to;
    return fmt::format(R"(,"ready_standby":{})", ready);
  }

  std::string Claims(const std::vector<core::PlannedClaim>& claims) const {
    std::string text;
    for (const core::PlannedClaim& claim : claims) {
      text += text.empty() ? "" : ",";
      text +=
          fmt::format(R"({{"shard":{},"to":"{}"{}{}{}}})", claim.shard.value, IdOf(claim.to),
                      WhyField(group_.CauseOf(claim)), RuleField(claim.shard), ReadyField(claim));
    }
    return text;
  }

  std::string Moves(const std::vector<core::PlannedMove>& moves) const {
    std::string text;
    for (const core::PlannedMove& move : moves) {
      text += text.empty() ? "" : ",";
      text += fmt::format(R"({{"shard":{},"from":"{}","to":"{}","reason":"{}")", move.shard.value,
                          IdOf(move.from), IdOf(move.to), ToString(move.reason));
      text += WhyField(group_.CauseOf(move)) + RuleField(move.shard) + "}";
    }
    return text;
  }

  // The shards that nobody may begin to lead, by rule; those without a rule come first.
  std::string Nobody() const {
    std::map<std::uint32_t, std::vector<ShardRange>> nobody;
    for (std::uint32_t s = 0; s < state_.leaders.size(); ++s) {
      const ShardId shard{s};
      if (group_.NobodyMayLead(shard)) AddToRanges(shard, nobody[group_.RuleOf(shard)]);
    }
    std::string text;
    for (const auto& [rule, ranges] : nobody) {
      text += fmt::format(R"({}{{"rule":{},"require":"{}","shards":["{}"]}})",
                          text.empty() ? "" : ",", RuleWord(rule),
                          rule == 0 ? "any node" : TermWords((*state_.placement)[rule - 1].require),
                          fmt::join(RangeTexts(ranges), R"(",")"));
    }
    return text;
  }

  const State& state_;
  RuledGroup group_;
  const bool ruled_;
};

}  // namespace

Result<std::string> PlanFromState(std::string_view json) {
  if (json.size() > kMaxPlanBytes) {
    return Wrong("document", fmt::format("has {} bytes", json.size()),
                 "at most " + std::to_string(kMaxPlanBytes));
  }
  const Result<boost::json::value> document = ParseJsonDocument(json);
  if (!document) return document.error();
  const Result<State> state = ReadState(document.value());
  if (!state) return state.error();
  return Planner(*state).Plan();
}

}  // namespace baton::app
