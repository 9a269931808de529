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
#include <boost/json/value.hpp>

#include "app/ctl/json_document.h"
#include "base/limits.h"
#include "base/text_rules.h"
#include "core/assignment.h"

namespace baton::app {
namespace {

namespace json = boost::json;
using core::AssignmentInput;
using core::kNobody;
using core::MemberIndex;

struct State {
  AssignmentInput view;
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

Status ReadNode(const json::value& value, const std::string& path, AssignmentInput& view,
                NodeIndexes& indexes) {
  if (!value.is_object()) return Wrong(path, "is " + Quote(value), "an object with an \"id\"");
  const json::object& node = value.get_object();
  if (Status status = RefuseOtherFields(node, path, {"id", "weight", "state"}); !status) {
    return status;
  }
  const Result<NodeId> id = ReadNodeId(node, path);
  if (!id) return id.error();
  std::uint32_t weight = 1;
  if (const json::value* given = node.if_contains("weight")) {
    const Result<std::uint32_t> number =
        ReadNumber(*given, path + ".weight", 0, std::numeric_limits<std::uint32_t>::max());
    if (!number) return number.error();
    weight = number.value();
  }
  const Result<MemberState> state = ReadMemberState(node, path);
  if (!state) return state.error();

  const bool dead = state.value() == MemberState::kDead;
  const auto index = dead ? kNobody : static_cast<MemberIndex>(view.members.size());
  if (!indexes.emplace(id.value(), index).second) {
    return Wrong(path + ".id", fmt::format("is {} again", QuoteText(id.value())), "each id once");
  }
  if (dead) return Ok();
  view.members.push_back(
      {.id = id.value(), .weight = weight, .draining = state.value() == MemberState::kDraining});
  return Ok();
}

Status ReadNodes(const json::object& document, AssignmentInput& view, NodeIndexes& indexes) {
  const json::value* value = document.if_contains("nodes");
  if (value == nullptr) return Wrong("nodes", "is missing", "an array of nodes");
  if (!value->is_array()) return Wrong("nodes", "is " + Quote(*value), "an array of nodes");
  const json::array& nodes = value->get_array();
  if (nodes.size() > kMaxPlanNodes) {
    return Wrong("nodes", fmt::format("has {} nodes", nodes.size()),
                 "at most " + std::to_string(kMaxPlanNodes));
  }
  for (std::size_t i = 0; i < nodes.size(); ++i) {
    Status status = ReadNode(nodes[i], fmt::format("nodes[{}]", i), view, indexes);
    if (!status) return status;
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

Status ReadLeaders(const json::object& document, const NodeIndexes& indexes,
                   AssignmentInput& view) {
  const json::value* value = document.if_contains("leaders");
  if (value == nullptr) return Ok();
  if (!value->is_object()) {
    return Wrong("leaders", "is " + Quote(*value), "an object of shard numbers and node ids");
  }
  for (const auto& field : value->get_object()) {
    const std::string_view key(field.key().data(), field.key().size());
    const std::optional<std::uint32_t> shard = ParseShard(key, view.shards.size());
    if (!shard) {
      return Wrong("leaders", QuoteText(key) + " is not one of the shards",
                   fmt::format("numbers from \"0\" to \"{}\"", view.shards.size() - 1));
    }
    if (field.value().is_null()) continue;
    if (!field.value().is_string()) {
      return Wrong(fmt::format("leaders[{}]", QuoteText(key)), "is " + Quote(field.value()),
                   "a node's id or null");
    }
    const json::string& leader = field.value().get_string();
    const auto found = indexes.find(NodeId(leader.data(), leader.size()));
    if (found != indexes.end()) view.shards[*shard].leader = found->second;
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
  if (Status status =
          RefuseOtherFields(document, "document", {"shards", "nodes", "leaders", "limits"});
      !status) {
    return status.error();
  }
  const json::value* shards = document.if_contains("shards");
  if (shards == nullptr) return Wrong("shards", "is missing", "the number of shards");
  const Result<std::uint32_t> count = ReadNumber(*shards, "shards", 1, kMaxShards);
  if (!count) return count.error();

  State state;
  state.view.shards.resize(count.value());
  NodeIndexes indexes;
  if (Status status = ReadNodes(document, state.view, indexes); !status) return status.error();
  if (Status status = ReadLeaders(document, indexes, state.view); !status) return status.error();
  if (Status status = ReadLimits(document, state); !status) return status.error();
  return state;
}

// The functions below escape neither words nor node ids: these consist of letters, digits, '-', '_'
// and '.'.

std::string WriteCounts(const AssignmentInput& view) {
  std::map<std::string_view, std::size_t> counts;
  for (const core::AssignmentShard& shard : view.shards) {
    if (shard.leader != kNobody) ++counts[view.members[shard.leader].id];
  }
  std::string text;
  for (const auto& [id, count] : counts) {
    text += fmt::format(R"({}"{}":{})", text.empty() ? "" : ",", id, count);
  }
  return fmt::format("{{{}}}", text);
}

std::string WriteClaims(const AssignmentInput& view,
                        const std::vector<core::PlannedClaim>& claims) {
  std::string text;
  for (const core::PlannedClaim& claim : claims) {
    text += text.empty() ? "" : ",";
    text +=
        fmt::format(R"({{"shard":{},"to":"{}"}})", claim.shard.value, view.members[claim.to].id);
  }
  return fmt::format("[{}]", text);
}

std::string WriteMoves(const AssignmentInput& view, const std::vector<core::PlannedMove>& moves) {
  std::string text;
  for (const core::PlannedMove& move : moves) {
    text += text.empty() ? "" : ",";
    text +=
        fmt::format(R"({{"shard":{},"from":"{}","to":"{}","reason":"{}"}})", move.shard.value,
                    view.members[move.from].id, view.members[move.to].id, ToString(move.reason));
  }
  return fmt::format("[{}]", text);
}

std::string Plan(State state) {
  AssignmentInput& view = state.view;
  const std::string before = WriteCounts(view);
  const std::vector<core::PlannedClaim> claims = core::Assign(view).claims;
  for (const core::PlannedClaim& claim : claims) {
    view.shards[claim.shard.value] = {.leader = claim.to};
  }
  const std::vector<core::PlannedMove> moves = core::PlanMoves(view, {}, state.max_moves);
  for (const core::PlannedMove& move : moves) {
    view.shards[move.shard.value] = {.leader = move.to};
  }
  return fmt::format(R"({{"claims":{},"moves":{},"before":{},"after":{}}})",
                     WriteClaims(view, claims), WriteMoves(view, moves), before, WriteCounts(view));
}

}  // namespace

Result<std::string> PlanFromState(std::string_view json) {
  if (json.size() > kMaxPlanBytes) {
    return Wrong("document", fmt::format("has {} bytes", json.size()),
                 "at most " + std::to_string(kMaxPlanBytes));
  }
  const Result<boost::json::value> document = ParseJsonDocument(json);
  if (!document) return document.error();
  Result<State> state = ReadState(document.value());
  if (!state) return state.error();
  return Plan(std::move(state).value());
}

}  // namespace baton::app
