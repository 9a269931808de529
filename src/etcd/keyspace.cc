#include "etcd/keyspace.h"

#include <algorithm>
#include <charconv>
#include <cstdint>
#include <limits>
#include <utility>

#include "base/check.h"
#include "base/text_rules.h"
#include "etcd/records.h"

namespace baton::etcd {
namespace {

constexpr std::string_view kConfig = "config";
constexpr std::string_view kBalancer = "balancer";
constexpr std::string_view kDied = "died";
constexpr std::string_view kMembers = "members/";
constexpr std::string_view kShards = "shards/";
constexpr std::string_view kMoves = "moves/";
constexpr std::string_view kPolicy = "policy/";
constexpr std::string_view kRipe = "ripe/";
constexpr std::string_view kQuarantine = "quarantine/";
constexpr std::string_view kConfirmation = "confirmation";
constexpr std::string_view kRecovery = "recovery";

constexpr PolicyKind kPolicyKinds[] = {PolicyKind::kChanged,       PolicyKind::kDrain,
                                       PolicyKind::kExpectedNodes, PolicyKind::kLimits,
                                       PolicyKind::kPause,         PolicyKind::kRebalance};

std::string Concat(std::string_view a, std::string_view b, std::string_view c = {}) {
  std::string result;
  result.reserve(a.size() + b.size() + c.size());
  return result.append(a).append(b).append(c);
}

// The rest of `text` after `head`, if it begins so.
std::optional<std::string_view> After(std::string_view text, std::string_view head) {
  if (!text.starts_with(head)) return std::nullopt;
  return text.substr(head.size());
}

// Plain decimal without leading zeros: each shard has exactly one spelling, and so one key.
std::optional<ShardId> ParseShard(std::string_view text) {
  ShardId shard;
  if (text.empty() || (text.size() > 1 && text.front() == '0')) return std::nullopt;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), shard.value);
  if (error != std::errc{} || end != text.data() + text.size()) return std::nullopt;
  return shard;
}

// A policy's key below `policy/`; a drain's goes on with the node.
std::string_view WordOf(PolicyKind kind) {
  switch (kind) {
    case PolicyKind::kChanged: return "changed";
    case PolicyKind::kDrain: return "drain/";
    case PolicyKind::kExpectedNodes: return "expected-nodes";
    case PolicyKind::kLimits: return "limits";
    case PolicyKind::kPause: return "pause";
    case PolicyKind::kRebalance: return "rebalance";
  }
  return "";
}

// `text`: the key below `policy/`.
std::optional<PolicyName> ParsePolicy(std::string_view text) {
  for (const PolicyKind kind : kPolicyKinds) {
    const auto node = After(text, WordOf(kind));
    if (!node) continue;
    const bool known = kind == PolicyKind::kDrain ? IsName(*node) : node->empty();
    if (known) return PolicyName{kind, NodeId(*node)};
  }
  return std::nullopt;
}

// A key and its stored value; `stored` is null if the key is absent.
struct KeyState {
  const etcdserverpb::KeyValue* stored = nullptr;
  Revision revision;
};

Fact MakeConfig(const KeyState& state) {
  ConfigFact fact = state.stored ? DecodeConfig(state.stored->value()) : ConfigFact{};
  fact.present = state.stored != nullptr;
  fact.revision = state.revision;
  return fact;
}

Fact MakeMember(const KeyState& state, std::string_view node) {
  MemberFact fact;
  fact.node = node;
  if (state.stored) {
    fact = DecodeMember(state.stored->value(), fact.node);
    fact.create_revision = Revision{state.stored->create_revision()};
    fact.lease = SessionId{state.stored->lease()};
  }
  fact.present = state.stored != nullptr;
  fact.revision = state.revision;
  return fact;
}

RecordFact MakeRecord(const KeyState& state, std::optional<ShardId> shard) {
  RecordFact fact = state.stored ? DecodeRecord(state.stored->value(), shard) : RecordFact{};
  if (state.stored) {
    constexpr std::int64_t kMost = std::numeric_limits<std::uint32_t>::max();
    const std::int64_t version = std::clamp<std::int64_t>(state.stored->version(), 0, kMost);
    fact.version = static_cast<std::uint32_t>(version);
    fact.create_revision = Revision{state.stored->create_revision()};
  }
  fact.present = state.stored != nullptr;
  fact.revision = state.revision;
  return fact;
}

Fact MakeMove(const KeyState& state, ShardId shard) {
  MoveFact fact;
  if (state.stored) fact = DecodeMove(state.stored->value(), shard);
  fact.shard = shard;
  fact.present = state.stored != nullptr;
  fact.revision = state.revision;
  return fact;
}

Fact MakePolicy(const KeyState& state, const PolicyName& name) {
  PolicyFact fact;
  fact.name = name;
  if (state.stored) fact = DecodePolicy(state.stored->value(), name);
  fact.present = state.stored != nullptr;
  fact.revision = state.revision;
  return fact;
}

Fact MakeDeath(const KeyState& state) {
  DeathFact fact;
  if (state.stored) fact = DecodeDeath(state.stored->value());
  fact.present = state.stored != nullptr;
  fact.revision = state.revision;
  return fact;
}

Fact MakeRipe(const KeyState& state, std::string_view node) {
  RipeFact fact;
  fact.node = node;
  if (state.stored) fact = DecodeRipe(state.stored->value(), fact.node);
  fact.present = state.stored != nullptr;
  fact.revision = state.revision;
  return fact;
}

// `name`: the key without the group's prefix.
std::optional<Fact> MakeFact(std::string_view name, const KeyState& state) {
  if (name == kConfig) return MakeConfig(state);
  if (name == kDied) return MakeDeath(state);
  if (name == kBalancer) return BalancerFact{MakeRecord(state, std::nullopt)};
  if (const auto node = After(name, kMembers)) {
    if (IsName(*node)) return MakeMember(state, *node);
  } else if (const auto record = After(name, kShards)) {
    if (const auto shard = ParseShard(*record)) {
      return ShardRecordFact{*shard, MakeRecord(state, shard)};
    }
  } else if (const auto move = After(name, kMoves)) {
    if (const auto shard = ParseShard(*move)) return MakeMove(state, *shard);
  } else if (const auto policy = After(name, kPolicy)) {
    if (const auto parsed = ParsePolicy(*policy)) return MakePolicy(state, *parsed);
  } else if (const auto ripe = After(name, kRipe)) {
    if (IsName(*ripe)) return MakeRipe(state, *ripe);
  }
  return std::nullopt;
}

Decoded DecodeState(std::string_view begin, std::string_view key, const KeyState& state) {
  const auto name = After(key, begin);
  if (!name) return Decoded{.fact = std::nullopt, .stray = true};
  if (name->starts_with(kQuarantine) || *name == kRecovery) return Decoded{};
  Decoded decoded{.fact = MakeFact(*name, state), .stray = false};
  decoded.stray = !decoded.fact.has_value();
  return decoded;
}

}  // namespace

Status Keyspace::Validate(std::string_view prefix, std::string_view group) {
  if (prefix.size() < 2 || prefix.front() != '/' || prefix.back() == '/') {
    return Error{ErrorCode::kInvalidArgument,
                 Concat("etcd prefix '", prefix, "' must begin with '/' and not end with one")};
  }
  if (!IsName(group)) {
    return Error{ErrorCode::kInvalidArgument,
                 Concat(Concat("group '", group, "' must be "), kNameRule)};
  }
  return Ok();
}

Keyspace::Keyspace(std::string_view prefix, std::string_view group) {
  BATON_CHECK(Validate(prefix, group).ok());
  begin_ = Concat(Concat(prefix, "/"), group, "/");
  end_ = begin_;
  end_.back() = '0';  // the character after '/'
}

std::string Keyspace::ConfigKey() const { return Concat(begin_, kConfig); }

std::string Keyspace::MemberKey(std::string_view node) const {
  return Concat(begin_, kMembers, node);
}

std::string Keyspace::MembersPrefix() const { return Concat(begin_, kMembers); }

std::string Keyspace::ShardKey(ShardId shard) const {
  return Concat(begin_, kShards, std::to_string(shard.value));
}

std::string Keyspace::BalancerKey() const { return Concat(begin_, kBalancer); }

std::string Keyspace::RecordKey(std::optional<ShardId> shard) const {
  return shard ? ShardKey(*shard) : BalancerKey();
}

std::string Keyspace::MoveKey(ShardId shard) const {
  return Concat(begin_, kMoves, std::to_string(shard.value));
}

std::string Keyspace::PolicyKey(const PolicyName& policy) const {
  return Concat(Concat(begin_, kPolicy), WordOf(policy.kind), policy.node);
}

std::string Keyspace::DeathKey() const { return Concat(begin_, kDied); }

std::string Keyspace::RipeKey(std::string_view node) const { return Concat(begin_, kRipe, node); }

std::string Keyspace::QuarantineKey(std::optional<ShardId> shard) const {
  return Concat(begin_, kQuarantine, shard ? std::to_string(shard->value) : kBalancer);
}

std::string Keyspace::QuarantinePrefix() const { return Concat(begin_, kQuarantine); }
std::string Keyspace::ConfirmationKey() const { return Concat(begin_, kConfirmation); }
std::string Keyspace::RecoveryKey() const { return Concat(begin_, kRecovery); }

Decoded Keyspace::Decode(const etcdserverpb::KeyValue& stored) const {
  return DecodeState(begin_, stored.key(), {&stored, Revision{stored.mod_revision()}});
}

Decoded Keyspace::DecodeAbsent(std::string_view key, Revision revision) const {
  return DecodeState(begin_, key, {nullptr, revision});
}

}  // namespace baton::etcd
