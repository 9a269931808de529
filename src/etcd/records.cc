#include "etcd/records.h"

#include <google/protobuf/stubs/logging.h>

#include <algorithm>
#include <limits>
#include <optional>
#include <vector>

#include "base/limits.h"
#include "base/text_rules.h"
#include "baton/v1/records.pb.h"
#include "etcd/ready_gaps.h"
#include "etcd/stored_cause.h"
#include "etcd/stored_placement.h"
#include "etcd/stored_text.h"

namespace baton::etcd {
namespace {

namespace pb = ::baton::v1;

// The records' enums have the same order as ours, each one higher (their zero is "unspecified").
template <typename Stored, typename Ours>
Stored Store(Ours value) {
  return static_cast<Stored>(static_cast<int>(value) + 1);
}

// An unknown or missing value reads as `otherwise`.
template <typename Ours, typename Stored>
Ours Load(Stored stored, int count, Ours otherwise) {
  const int value = static_cast<int>(stored);
  return value >= 1 && value <= count ? static_cast<Ours>(value - 1) : otherwise;
}

constexpr int kMemberStateCount = 3;
constexpr int kHashFunctionCount = 3;
constexpr int kMovePhaseCount = 3;
constexpr int kFailoverCount = 3;
constexpr std::int64_t kLatestSecond = 253'402'300'799;  // the end of the year 9999
constexpr std::int64_t kLongestTtlMs = std::chrono::milliseconds(kLongestTtl).count();

bool Known(int stored, int count) { return stored >= 1 && stored <= count; }

// Concatenated serializations merge, by protobuf's definition.
template <typename Message>
std::string Serialize(const Message& message, const std::string& unknown_fields) {
  std::string bytes;
  message.SerializeToString(&bytes);
  return bytes + unknown_fields;
}

// The newest schema of each kind of record that this version reads.
template <typename Message>
constexpr std::uint32_t kNewest = kSchema;
template <>
constexpr std::uint32_t kNewest<pb::ConfigRecord> = kConfigSchema;

// Parses `value`; `sound` checks a parsed record of a known schema.
template <typename Message, typename Predicate>
Readability Parse(std::string_view value, Message& message, Predicate sound) {
  // Otherwise protobuf writes to stderr about text that is not UTF-8, and may wait there for a slow
  // reader: on the thread that renews the lease.
  const google::protobuf::LogSilencer silence;
  if (value.size() > static_cast<std::size_t>(std::numeric_limits<int>::max()) ||
      !message.ParseFromArray(value.data(), static_cast<int>(value.size())) ||
      message.schema() == 0) {
    return Readability::kDamaged;
  }
  if (message.schema() > kNewest<Message>) return Readability::kNewerSchema;
  return sound(message) ? Readability::kReadable : Readability::kDamaged;
}

// Whether the record says how the group fails over. What a schema 1 has in these fields, versions
// that do not know them have kept: nobody keeps to it.
bool SaysFailover(const pb::ConfigRecord& config) { return config.schema() >= kFailoverSchema; }
// The same for the rules of placement.
bool SaysPlacement(const pb::ConfigRecord& config) { return config.schema() >= kPlacementSchema; }

bool IsSetting(std::int64_t milliseconds) {
  return milliseconds >= 0 && milliseconds <= kLongestDurationOption.count();
}

// Of a limit, or of a time that a guard measured. Nullopt: no version writes such a value, and it
// does not count.
template <typename Unit>
std::optional<Unit> DelayOf(Unit delay) {
  if (delay.count() < 0 || delay > kLongestDurationFlag) return std::nullopt;
  return delay;
}

bool SoundFailover(const pb::ConfigRecord& config) {
  return config.failover() >= 0 && config.failover() <= kFailoverCount &&
         IsSetting(config.failover_delay_ms()) && IsSetting(config.lock_delay_ms()) &&
         config.before_settings() >= 0;
}

Placement PlacementOf(const pb::ConfigRecord& config) {
  return SaysPlacement(config) ? LoadPlacement(config) : Placement{};
}

bool Sound(const pb::ConfigRecord& config) {
  return config.shards() > 0 && Known(config.hash_function(), kHashFunctionCount) &&
         (!SaysFailover(config) || SoundFailover(config)) &&
         (!SaysPlacement(config) || CheckPlacement(PlacementOf(config)).ok());
}

FailoverSettings FailoverOf(const pb::ConfigRecord& config) {
  if (!SaysFailover(config)) return {};
  FailoverSettings settings{
      .policy = Load(config.failover(), kFailoverCount, FailoverPolicy::kImmediate),
      .lock_delay = std::chrono::milliseconds(config.lock_delay_ms())};
  if (settings.policy == FailoverPolicy::kAfter) {
    settings.delay = std::chrono::milliseconds(config.failover_delay_ms());
  }
  return settings;
}

bool Sound(const pb::MemberRecord& member, const NodeId& node) {
  return member.node() == node && member.session() > 0 && member.ttl_ms() >= 0 &&
         member.ttl_ms() <= kLongestTtlMs && Known(member.state(), kMemberStateCount);
}

// One label, from any text; empty: it can't be used, or not beside the others.
Labels LabelOf(const std::string& text, const Labels& others) {
  const std::size_t equals = text.find('=');
  if (equals == std::string::npos) return {};
  Labels label{{text.substr(0, equals), text.substr(equals + 1)}};
  const bool fits = others.size() < kMaxLabels && !others.contains(label.begin()->first);
  return fits && CheckLabels(label) ? label : Labels{};
}

void TakeLabels(const pb::MemberRecord& record, MemberFact* fact) {
  if (record.labels_session() != record.session()) return;
  for (const std::string& text : record.labels()) {
    Labels label = LabelOf(text, fact->labels);
    fact->unusable_text = fact->unusable_text || label.empty();
    fact->labels.merge(label);
  }
}

// A list that can't be used counts as empty: then these shards go to other nodes, as if nobody had
// loaded them. If the whole record counted as damaged, a healthy leader would lose its shards.
void TakeReady(const pb::MemberRecord& record, MemberFact* fact) {
  if (record.ready_session() != record.session()) return;
  const auto& gaps = record.ready_gaps();
  std::optional<std::vector<ShardId>> ready =
      ShardsOf({gaps.data(), static_cast<std::size_t>(gaps.size())});
  fact->unusable_text = fact->unusable_text || !ready;
  if (ready) fact->ready = *std::move(ready);
}

// Takes a member's texts as far as everybody who reads them can bear them: routers, batonctl, the
// page. Nodes write no others, but everybody who may write to etcd can.
void TakeTexts(const pb::MemberRecord& record, MemberFact* fact) {
  const auto take = [fact](const std::string& text, bool usable) {
    fact->unusable_text = fact->unusable_text || !usable;
    return usable ? text : std::string();
  };
  const auto address = [&](const std::string& text) { return take(text, IsAddressText(text)); };
  fact->address = address(record.address());
  fact->http_address = address(record.http_address());
  fact->service_address = address(record.service_address());
  fact->zone = take(record.zone(), record.zone().empty() || IsName(record.zone()));
  TakeLabels(record, fact);
  const std::string& version = record.software_version();
  fact->software_version = take(version, version.size() <= kLongestName && IsVisibleAscii(version));
}

// An older version keeps the fields and changes the session: then they say nothing.
DeathTally TallyOf(const pb::LeadershipRecord& record) {
  if (record.counted_session() != record.session()) return {};
  const std::int64_t begun = std::clamp<std::int64_t>(record.begun_at(), 0, kLatestSecond);
  return {.deaths = record.deaths(), .begun = WallTime(std::chrono::seconds(begun))};
}

// Nobody leads and nobody resigned: an operator has released the shard of a dead leader. If its
// record was damaged, nobody may know who that was.
bool ForceReleased(const pb::LeadershipRecord& record) {
  return record.has_shard() && record.leader().empty() && record.resigned_by().empty() &&
         record.previous().empty() == (record.session() == 0) &&
         record.reason() == pb::RECORD_REASON_OPERATOR;
}

bool IsNameOrEmpty(const std::string& name) { return name.empty() || IsName(name); }

// A leader has a session; without a leader, the session and the node that led last are there.
bool Sound(const pb::LeadershipRecord& record, std::optional<ShardId> shard) {
  if (record.has_shard() != shard.has_value()) return false;
  if (shard && record.shard() != shard->value) return false;
  if (record.session() < 0) return false;
  for (const std::string* name : {&record.leader(), &record.resigned_by(), &record.previous()}) {
    if (!IsNameOrEmpty(*name)) return false;
  }
  if (ForceReleased(record)) return true;
  return record.session() > 0 && record.leader().empty() != record.resigned_by().empty();
}

bool Sound(const pb::MoveRecord& move, ShardId shard) {
  if (move.shard() != shard.value || move.ends_term() <= 0) return false;
  if (!IsName(move.from()) || !IsName(move.to()) || move.from() == move.to()) return false;
  if (!Known(move.phase(), kMovePhaseCount) || move.prepared_session() < 0) return false;
  return move.phase() != pb::RECORD_MOVE_PHASE_PREPARED || move.prepared_session() > 0;
}

}  // namespace

std::string EncodeConfig(const ConfigFact& config) {
  pb::ConfigRecord record;
  record.set_schema(config.schema == 0 ? kSchema : config.schema);
  record.set_shards(config.shards);
  record.set_hash_function(Store<pb::RecordHashFunction>(config.hash));
  record.set_cluster_id(config.cluster_id);
  if (SaysFailover(record)) {
    record.set_failover(Store<pb::RecordFailover>(config.failover.policy));
    if (config.failover.policy == FailoverPolicy::kAfter) {
      record.set_failover_delay_ms(config.failover.delay.count());
    }
    record.set_lock_delay_ms(config.failover.lock_delay.count());
    record.set_actor(config.actor);
    record.set_before_settings(config.before_settings.value);
  }
  if (SaysPlacement(record)) StorePlacement(config.placement, &record);
  return Serialize(record, config.unknown_fields);
}

std::string EncodeMember(const MemberFact& member) {
  pb::MemberRecord record;
  record.set_schema(kSchema);
  record.set_node(member.node);
  record.set_session(member.session.value);
  record.set_ttl_ms(member.ttl.count());
  record.set_state(Store<pb::RecordMemberState>(member.state));
  if (member.state == MemberState::kDead) {
    record.set_dead_reason(Store<pb::RecordReason>(member.dead_reason));
  }
  record.set_address(member.address);
  record.set_http_address(member.http_address);
  record.set_service_address(member.service_address);
  record.set_zone(member.zone);
  record.set_weight(member.weight);
  record.set_software_version(member.software_version);
  record.set_protocol_version(member.protocol_version);
  record.set_division_version(member.assignment_version);
  record.set_external(member.external);
  if (member.failing) record.set_failing_session(member.session.value);
  if (member.unhealthy) record.set_unhealthy_session(member.session.value);
  if (member.directory != 0) {
    record.set_directory(member.directory);
    record.set_directory_session(member.session.value);
  }
  for (const auto& [name, value] : member.labels) record.add_labels(name + "=" + value);
  if (!member.labels.empty()) record.set_labels_session(member.session.value);
  const std::vector<std::uint32_t> gaps = GapsOf(member.ready);
  record.mutable_ready_gaps()->Assign(gaps.begin(), gaps.end());
  if (!gaps.empty()) record.set_ready_session(member.session.value);
  return Serialize(record, member.unknown_fields);
}

std::string EncodeRecord(const RecordFact& fact, std::optional<ShardId> shard) {
  pb::LeadershipRecord record;
  record.set_schema(kSchema);
  if (shard) record.set_shard(shard->value);
  record.set_leader(fact.leader);
  record.set_session(fact.session.value);
  record.set_resigned_by(fact.resigned_by);
  record.set_previous(fact.previous);
  record.set_reason(Store<pb::RecordReason>(fact.reason));
  record.set_actor(fact.actor);
  if (fact.tally != DeathTally{}) {
    record.set_deaths(fact.tally.deaths);
    record.set_begun_at(fact.tally.begun.time_since_epoch().count());
    record.set_counted_session(fact.session.value);
  }
  if (fact.directory != 0 && (!fact.leader.empty() || !fact.resigned_by.empty())) {
    record.set_directory(fact.directory);
    record.set_directory_session(fact.session.value);
  }
  if (fact.cause != Cause{} && !fact.leader.empty()) {
    StoreCause(fact.cause, &record);
    record.set_cause_session(fact.session.value);
  }
  if (fact.released && fact.leader.empty()) record.set_released_session(fact.session.value);
  return Serialize(record, fact.unknown_fields);
}

std::string EncodeMove(const MoveFact& move) {
  pb::MoveRecord record;
  record.set_schema(kSchema);
  record.set_shard(move.shard.value);
  record.set_ends_term(move.ends.value);
  record.set_from(move.from);
  record.set_to(move.to);
  record.set_reason(Store<pb::RecordReason>(move.reason));
  record.set_actor(move.actor);
  record.set_phase(Store<pb::RecordMovePhase>(move.phase));
  record.set_prepared_session(move.prepared_session.value);
  record.set_void_reason(move.void_reason);
  StoreCause(move.cause, &record);
  return Serialize(record, move.unknown_fields);
}

std::string EncodePolicy(const PolicyFact& policy) {
  pb::PolicyRecord record;
  record.set_schema(kSchema);
  record.set_actor(policy.actor);
  record.set_max_moves(policy.max_moves);
  record.set_expected_nodes(policy.expected_nodes);
  record.set_change(policy.change);
  if (policy.rebalance_delay) record.set_rebalance_delay_ms(policy.rebalance_delay->count());
  if (policy.cooldown) record.set_cooldown_ms(policy.cooldown->count());
  return Serialize(record, policy.unknown_fields);
}

std::string EncodeDeath(const DeathFact& death) {
  pb::DeathRecord record;
  record.set_schema(kSchema);
  record.set_node(death.node);
  record.set_session(death.session.value);
  if (death.detect) {
    record.set_detect_us(
        std::chrono::duration_cast<std::chrono::microseconds>(*death.detect).count());
  }
  return record.SerializeAsString();
}

std::string EncodeRipe(const RipeFact& ripe) {
  pb::RipeRecord record;
  record.set_schema(kSchema);
  record.set_node(ripe.node);
  record.set_up_to(ripe.up_to.value);
  return record.SerializeAsString();
}

ConfigFact DecodeConfig(std::string_view value) {
  pb::ConfigRecord record;
  ConfigFact fact;
  fact.readability = Parse(value, record, [](const auto& parsed) { return Sound(parsed); });
  fact.schema = record.schema();
  if (fact.readability != Readability::kReadable) return fact;
  fact.shards = record.shards();
  fact.hash = Load(record.hash_function(), kHashFunctionCount, HashFunction::kMurmur2);
  fact.cluster_id = record.cluster_id();
  fact.failover = FailoverOf(record);
  fact.placement = PlacementOf(record);
  if (SaysFailover(record)) {
    fact.actor = KeptWords(record.actor());
    fact.before_settings = Revision{record.before_settings()};
  }
  fact.unknown_fields = KeptFields(record);
  return fact;
}

MemberFact DecodeMember(std::string_view value, const NodeId& node) {
  pb::MemberRecord record;
  MemberFact fact;
  fact.node = node;
  fact.readability = Parse(value, record, [&](const auto& parsed) { return Sound(parsed, node); });
  if (fact.readability != Readability::kReadable) return fact;
  fact.session = SessionId{record.session()};
  fact.state = Load(record.state(), kMemberStateCount, MemberState::kActive);
  fact.dead_reason = Load(record.dead_reason(), kReasonCount, Reason::kProcessDied);
  fact.ttl = std::chrono::milliseconds(record.ttl_ms());
  TakeTexts(record, &fact);
  TakeReady(record, &fact);
  fact.weight = record.weight();
  fact.protocol_version = record.protocol_version();
  fact.assignment_version = record.division_version();
  fact.external = record.external();
  const auto says = [&](std::int64_t session) {
    return session != 0 && session == record.session();
  };
  fact.failing = says(record.failing_session());
  fact.unhealthy = says(record.unhealthy_session());
  if (says(record.directory_session())) fact.directory = record.directory();
  fact.unknown_fields = KeptFields(record);
  return fact;
}

RecordFact DecodeRecord(std::string_view value, std::optional<ShardId> shard) {
  pb::LeadershipRecord record;
  RecordFact fact;
  fact.readability = Parse(value, record, [&](const auto& parsed) { return Sound(parsed, shard); });
  if (fact.readability != Readability::kReadable) {
    fact.damaged_value = KeptBytes(value);
    return fact;
  }
  fact.leader = record.leader();
  fact.session = SessionId{record.session()};
  fact.resigned_by = record.resigned_by();
  fact.previous = record.previous();
  fact.reason = Load(record.reason(), kReasonCount, Reason::kStartup);
  fact.actor = KeptWords(record.actor());
  fact.tally = TallyOf(record);
  const bool of_somebody = !fact.leader.empty() || !fact.resigned_by.empty();
  if (of_somebody && record.directory_session() == record.session()) {
    fact.directory = record.directory();
  }
  if (!fact.leader.empty() && record.cause_session() == record.session()) {
    fact.cause = LoadCause(record);
  }
  fact.released =
      fact.leader.empty() && record.session() != 0 && record.released_session() == record.session();
  fact.unknown_fields = KeptFields(record);
  return fact;
}

MoveFact DecodeMove(std::string_view value, ShardId shard) {
  pb::MoveRecord record;
  MoveFact fact;
  fact.shard = shard;
  fact.readability = Parse(value, record, [&](const auto& parsed) { return Sound(parsed, shard); });
  if (fact.readability != Readability::kReadable) return fact;
  fact.ends = Term{record.ends_term()};
  fact.from = record.from();
  fact.to = record.to();
  fact.reason = Load(record.reason(), kReasonCount, Reason::kRebalance);
  fact.actor = KeptWords(record.actor());
  fact.phase = Load(record.phase(), kMovePhaseCount, MovePhase::kPlanned);
  fact.prepared_session = SessionId{record.prepared_session()};
  fact.void_reason = KeptWords(record.void_reason());
  fact.cause = LoadCause(record);
  fact.unknown_fields = KeptFields(record);
  return fact;
}

PolicyFact DecodePolicy(std::string_view value, const PolicyName& name) {
  pb::PolicyRecord record;
  PolicyFact fact;
  fact.name = name;
  const auto readability = Parse(value, record, [](const auto&) { return true; });
  if (readability != Readability::kReadable) return fact;
  fact.actor = KeptWords(record.actor());
  fact.max_moves = record.max_moves();
  fact.expected_nodes = record.expected_nodes();
  fact.change = KeptWords(record.change());
  if (record.has_rebalance_delay_ms()) {
    fact.rebalance_delay = DelayOf(std::chrono::milliseconds(record.rebalance_delay_ms()));
  }
  if (record.has_cooldown_ms()) {
    fact.cooldown = DelayOf(std::chrono::milliseconds(record.cooldown_ms()));
  }
  fact.unknown_fields = KeptFields(record);
  return fact;
}

DeathFact DecodeDeath(std::string_view value) {
  pb::DeathRecord record;
  DeathFact fact;
  const auto readability = Parse(value, record, [](const pb::DeathRecord& death) {
    return IsName(death.node()) && death.session() > 0;
  });
  if (readability != Readability::kReadable) return fact;
  fact.node = record.node();
  fact.session = SessionId{record.session()};
  if (record.has_detect_us()) fact.detect = DelayOf(std::chrono::microseconds(record.detect_us()));
  return fact;
}

RipeFact DecodeRipe(std::string_view value, const NodeId& node) {
  pb::RipeRecord record;
  RipeFact fact;
  fact.node = node;
  const auto readability = Parse(value, record, [&](const pb::RipeRecord& ripe) {
    return ripe.node() == node && ripe.up_to() > 0;
  });
  if (readability == Readability::kReadable) fact.up_to = Revision{record.up_to()};
  return fact;
}

}  // namespace baton::etcd
