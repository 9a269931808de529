// records: the value of each kind of key, as Keyspace::Decode reads it.
//
// Must hold: every value gives its key's fact, with its key's revisions. A readable record makes
// sense, and reads as the same after it is written again, with the fields that this version does
// not know. Its names are names, and its words and all bytes that it keeps have a bound.
#include <google/protobuf/unknown_field_set.h>

#include "base/limits.h"
#include "base/placement.h"
#include "base/text_rules.h"
#include "baton/v1/records.pb.h"
#include "etcd/keyspace.h"
#include "etcd/records.h"
#include "etcd/stored_text.h"
#include "fuzz/targets.h"

namespace baton::fuzz {
namespace {

namespace pb = ::baton::v1;

constexpr ShardId kShard{3};
constexpr Revision kRevision{700};

const etcd::Keyspace& Keys() {
  static const etcd::Keyspace keys(etcd::kDefaultPrefix, "orders");
  return keys;
}

etcdserverpb::KeyValue Stored(const std::string& key, std::string_view value) {
  etcdserverpb::KeyValue stored;
  stored.set_key(key);
  stored.set_value(value.data(), value.size());
  stored.set_mod_revision(kRevision.value);
  stored.set_create_revision(600);
  stored.set_lease(77);
  return stored;
}

template <typename Which>
Which DecodeAs(const std::string& key, std::string_view value) {
  const etcd::Decoded decoded = Keys().Decode(Stored(key, value));
  Must(decoded.fact.has_value() && !decoded.stray, "a key of ours gives a fact", key);
  const auto* fact = std::get_if<Which>(&*decoded.fact);
  Must(fact != nullptr, "a key gives the fact of its kind", key);
  return *fact;
}

// The unknown fields of the parsed record.
template <typename Record>
std::string Unknown(std::string_view value) {
  Record record;
  Must(record.ParseFromArray(value.data(), static_cast<int>(value.size())),
       "what is readable is a record");
  std::string bytes;
  record.GetReflection()->GetUnknownFields(record).SerializeToString(&bytes);
  return bytes;
}

template <typename Record>
void MustKeepUnknown(std::string_view before, const std::string& after) {
  std::string fields = Unknown<Record>(before);
  if (fields.size() > etcd::kMaxStoredText) fields.clear();
  Must(fields == Unknown<Record>(after), "unknown fields survive a rewrite, up to a bound");
}

void MustBeWords(const std::string& words) {
  Must(words.size() <= etcd::kLongestWords, "words have a bound", words);
  Must(etcd::KeptWords(words) == words, "words are one line", words);
}

void MustExplain(const Cause& cause) {
  Must(static_cast<int>(cause.kind) < kCauseCount, "a cause is one that this version knows");
  Must(cause.kind != CauseKind::kUnknown || cause == Cause{}, "an unknown cause says nothing");
  Must(cause.detail.size() <= kLongestCauseDetail && IsVisibleAscii(cause.detail),
       "a cause's detail can be shown", cause.detail);
  Must(CauseWords(cause).empty() == (cause.kind == CauseKind::kUnknown), "a cause has words");
}

void MustRead(const RecordFact& fact, std::string_view value) {
  Must(fact.present && fact.revision == kRevision, "a record has its key's revision");
  const bool readable = fact.readability == Readability::kReadable;
  Must(readable || fact.damaged_value == value.substr(0, etcd::kMaxStoredText),
       "an unreadable record keeps its first bytes");
  if (!readable) return;
  for (const NodeId& node : {fact.leader, fact.resigned_by, fact.previous}) {
    Must(node.empty() || IsName(node), "a record's nodes have names", node);
  }
  MustBeWords(fact.actor);
  const bool nobodys = fact.previous.empty() && fact.reason == Reason::kOperator;
  Must(fact.session.value > 0 || (fact.session.value == 0 && nobodys),
       "a readable record names a session, unless an operator released a damaged one");
  Must(fact.leader.empty() || fact.resigned_by.empty(), "who leads has not resigned");
  const bool forced = fact.leader.empty() && fact.resigned_by.empty();
  Must(!forced ||
           (fact.reason == Reason::kOperator && fact.previous.empty() == (fact.session.value == 0)),
       "a record names a leader, or who resigned, or whom an operator took the shard from");
  Must(fact.session.value > 0 || forced, "who led or resigned did so in a session");
  Must(fact.directory == 0 || !fact.leader.empty() || !fact.resigned_by.empty(),
       "a directory is a leader's, or of who resigned");
  MustExplain(fact.cause);
  Must(!fact.leader.empty() || fact.cause == Cause{}, "a cause is a leader's");
  Must(!fact.released || (fact.leader.empty() && fact.session.value > 0),
       "who has stopped leads no more, and is known");
}

void RunShard(std::string_view value) {
  const auto read = DecodeAs<ShardRecordFact>(Keys().ShardKey(kShard), value);
  Must(read.shard == kShard, "a record's fact is of its key's shard");
  MustRead(read.record, value);
  if (read.record.readability != Readability::kReadable) return;
  const std::string again = etcd::EncodeRecord(read.record, kShard);
  const auto reread = DecodeAs<ShardRecordFact>(Keys().ShardKey(kShard), again);
  Must(etcd::EncodeRecord(reread.record, kShard) == again, "a record reads as it was written");
  Must(reread.record.cause == read.record.cause, "a record has the same cause after a rewrite");
  MustKeepUnknown<pb::LeadershipRecord>(value, again);
}

void RunBalancer(std::string_view value) {
  const auto read = DecodeAs<BalancerFact>(Keys().BalancerKey(), value);
  MustRead(read.record, value);
  if (read.record.readability != Readability::kReadable) return;
  const std::string again = etcd::EncodeRecord(read.record, std::nullopt);
  const auto reread = DecodeAs<BalancerFact>(Keys().BalancerKey(), again);
  Must(etcd::EncodeRecord(reread.record, std::nullopt) == again,
       "a balancer's record reads as it was written");
  MustKeepUnknown<pb::LeadershipRecord>(value, again);
}

void RunMember(std::string_view value) {
  const std::string key = Keys().MemberKey("n1");
  const auto read = DecodeAs<MemberFact>(key, value);
  Must(read.node == "n1" && read.present && read.revision == kRevision,
       "a member's fact is of its key");
  if (read.readability != Readability::kReadable) {
    Must(!read.Live(), "an unreadable member does not take part");
    return;
  }
  Must(read.ttl >= std::chrono::milliseconds(0) && read.ttl <= etcd::kLongestTtl,
       "a member's TTL is one that can be waited for", std::to_string(read.ttl.count()));
  for (const std::string& address : {read.address, read.http_address, read.service_address}) {
    Must(IsAddressText(address), "a member's address can be used", address);
  }
  Must(CheckLabels(read.labels).ok(), "a member's labels can be used");
  Must(read.ready.size() <= kMaxReadyReported, "a member is ready for so many shards at most");
  for (std::size_t i = 0; i < read.ready.size(); ++i) {
    Must(read.ready[i].value < kMaxShards && (i == 0 || read.ready[i - 1] < read.ready[i]),
         "a member's ready shards are shards in order");
  }
  const std::string again = etcd::EncodeMember(read);
  const auto reread = DecodeAs<MemberFact>(key, again);
  Must(etcd::EncodeMember(reread) == again, "a member reads as it was written");
  Must(reread.Live() == read.Live(), "a member lives after a rewrite as before");
  Must(reread.labels == read.labels, "a member has the same labels after a rewrite");
  Must(reread.ready == read.ready, "a member is ready for the same shards after a rewrite");
  MustKeepUnknown<pb::MemberRecord>(value, again);
}

void RunMove(std::string_view value) {
  const std::string key = Keys().MoveKey(kShard);
  const auto read = DecodeAs<MoveFact>(key, value);
  Must(read.shard == kShard && read.present && read.revision == kRevision,
       "a move's fact is of its key");
  if (read.readability != Readability::kReadable) return;
  Must(read.from != read.to && IsName(read.from) && IsName(read.to), "a move has two ends");
  MustBeWords(read.actor);
  MustBeWords(read.void_reason);
  Must(read.phase != MovePhase::kPrepared || read.prepared_session.value > 0,
       "a prepared move names the session that prepared");
  MustExplain(read.cause);
  const std::string again = etcd::EncodeMove(read);
  const auto reread = DecodeAs<MoveFact>(key, again);
  Must(etcd::EncodeMove(reread) == again, "a move reads as it was written");
  Must(reread.cause == read.cause, "a move has the same cause after a rewrite");
  MustKeepUnknown<pb::MoveRecord>(value, again);
}

void RunConfigKey(std::string_view value) {
  const auto read = DecodeAs<ConfigFact>(Keys().ConfigKey(), value);
  Must(read.present && read.revision == kRevision, "a config has its key's revision");
  if (read.readability != Readability::kReadable) {
    Must(read.shards == 0, "nothing of an unreadable config is used");
    return;
  }
  Must(read.shards > 0, "a readable config has shards");
  const FailoverSettings& failover = read.failover;
  Must(read.schema >= kFailoverSchema || (failover == FailoverSettings{} && read.actor.empty() &&
                                          read.Incarnation() == kRevision),
       "only a newer config says how the group fails over, and who set it");
  Must(read.before_settings.value >= 0, "a config's incarnation is a revision");
  for (const std::chrono::milliseconds time : {failover.delay, failover.lock_delay}) {
    Must(time.count() >= 0 && time <= kLongestDurationOption,
         "a config's times are ones that can be waited for", std::to_string(time.count()));
  }
  Must(read.schema >= kPlacementSchema || read.placement.empty(),
       "only a newer config has rules of placement");
  Must(CheckPlacement(read.placement).ok(), "a readable config's rules are ones to keep to");
  MustBeWords(read.actor);
  const std::string again = etcd::EncodeConfig(read);
  const auto reread = DecodeAs<ConfigFact>(Keys().ConfigKey(), again);
  Must(etcd::EncodeConfig(reread) == again, "a config reads as it was written");
  Must(reread.placement == read.placement, "a config has the same rules after a rewrite");
}

// The key names the policy, so any value will do.
void RunPolicy(std::string_view value) {
  const auto read = DecodeAs<PolicyFact>(Keys().PolicyKey({PolicyKind::kLimits}), value);
  Must(read.present && read.name == PolicyName{PolicyKind::kLimits} && read.revision == kRevision,
       "a policy's fact is of its key");
  MustBeWords(read.actor);
  MustBeWords(read.change);
  const std::string again = etcd::EncodePolicy(read);
  const auto reread = DecodeAs<PolicyFact>(Keys().PolicyKey({PolicyKind::kLimits}), again);
  Must(reread.actor == read.actor && reread.change == read.change && reread.OrdersTheSame(read),
       "a policy reads as it was written");
}

void RunDeath(std::string_view value) {
  const auto read = DecodeAs<DeathFact>(Keys().DeathKey(), value);
  Must(read.present && read.revision == kRevision, "a death has its key's revision");
  Must((read.session.value > 0) == !read.node.empty(), "a death is somebody's, or says nothing");
  if (read.node.empty()) return;
  const auto reread = DecodeAs<DeathFact>(Keys().DeathKey(), etcd::EncodeDeath(read));
  Must(reread.node == read.node && reread.session == read.session && reread.detect == read.detect,
       "a death reads as it was written");
}

void RunRipe(std::string_view value) {
  const auto read = DecodeAs<RipeFact>(Keys().RipeKey("n1"), value);
  Must(read.node == "n1" && read.present && read.revision == kRevision,
       "a ripe node is that of the key");
  Must(read.up_to.value >= 0, "what is ripe has terms");
  if (read.up_to.value == 0) return;
  const auto reread = DecodeAs<RipeFact>(Keys().RipeKey("n1"), etcd::EncodeRipe(read));
  Must(reread.up_to == read.up_to, "a ripe node's mark reads as it was written");
}

constexpr void (*kKinds[])(std::string_view) = {RunShard,     RunBalancer, RunMember, RunMove,
                                                RunConfigKey, RunPolicy,   RunDeath,  RunRipe};

RecordFact Led() {
  RecordFact record;
  record.leader = "n1";
  record.session = SessionId{77};
  record.previous = "n2";
  record.reason = Reason::kRebalance;
  record.actor = "me";
  record.directory = 99;
  return record;
}

MemberFact Member() {
  MemberFact member;
  member.node = "n1";
  member.session = SessionId{77};
  member.ttl = std::chrono::seconds(10);
  member.address = "127.0.0.1:7400";
  member.zone = "a";
  member.labels = {{"disk", "ssd"}, {"example.org/rack", "r7"}};
  member.software_version = "0.1.0";
  member.directory = 99;
  return member;
}

MoveFact Move() {
  MoveFact move;
  move.shard = kShard;
  move.ends = Term{500};
  move.from = "n1";
  move.to = "n2";
  move.phase = MovePhase::kPrepared;
  move.prepared_session = SessionId{78};
  return move;
}

// `kind`: an index in kKinds.
std::string SeedOf(int kind, const std::string& value) {
  return std::string(1, static_cast<char>(kind)) + value;
}

// Records by somebody who may write one key: too long ones.
std::vector<Seed> SeedsBeyondBounds() {
  RecordFact misnamed = Led();
  misnamed.leader = std::string(129, 'n');
  RecordFact wordy = Led();
  wordy.actor = std::string(255, 'x') + "\xc3\xa9 and\nmore";
  MoveFact wordy_move = Move();
  wordy_move.actor = wordy_move.void_reason = wordy.actor;
  MoveFact misnamed_move = Move();
  misnamed_move.to = "n 2";
  ConfigFact wordy_config;
  wordy_config.shards = 12;
  wordy_config.schema = kFailoverSchema;
  wordy_config.actor = wordy.actor;
  const std::string fat = "\xFA\x07\x84\x20" + std::string(4100, 'x');
  return {{"shard-newer-field-too-long", SeedOf(0, etcd::EncodeRecord(Led(), kShard) + fat)},
          {"shard-damaged-too-long", SeedOf(0, fat + "\xff")},
          {"shard-name-too-long", SeedOf(0, etcd::EncodeRecord(misnamed, kShard))},
          {"shard-words-too-long", SeedOf(0, etcd::EncodeRecord(wordy, kShard))},
          {"move-bad-name", SeedOf(3, etcd::EncodeMove(misnamed_move))},
          {"move-words-too-long", SeedOf(3, etcd::EncodeMove(wordy_move))},
          {"config-words-too-long", SeedOf(4, etcd::EncodeConfig(wordy_config))},
          {"policy-words-too-long",
           SeedOf(5, etcd::EncodePolicy({.actor = wordy.actor, .change = wordy.actor}))}};
}

}  // namespace

void RunRecords(std::string_view bytes) {
  Input input(bytes);
  const auto kind = kKinds[input.Choice(std::size(kKinds))];
  kind(input.Rest());
}

std::vector<Seed> RecordsSeeds() {
  RecordFact explained = Led();
  explained.cause = {.kind = CauseKind::kReadyStandby, .rule = 2, .detail = "zone=b"};
  RecordFact unusable_cause = explained;
  unusable_cause.cause.detail = "a\x1b[2J b";
  MoveFact explained_move = Move();
  explained_move.cause = {.kind = CauseKind::kDrain, .detail = "n1"};
  RecordFact resigned = Led();
  resigned.leader.clear();
  resigned.resigned_by = "n1";
  resigned.released = true;
  RecordFact forced = Led();
  forced.leader.clear();
  forced.reason = Reason::kOperator;
  RecordFact proven = forced;
  proven.released = true;
  RecordFact unknown = forced;
  unknown.previous.clear();
  unknown.session = {};
  MemberFact patient = Member();
  patient.ttl = std::chrono::milliseconds::max();
  MemberFact unusable = Member();
  unusable.address = std::string(513, 'x');
  unusable.service_address = "a b:1";
  ConfigFact config;
  config.shards = 12;
  config.cluster_id = 99;
  ConfigFact slow = config;
  slow.schema = kFailoverSchema;
  slow.failover = {.policy = FailoverPolicy::kAfter,
                   .delay = std::chrono::minutes(10),
                   .lock_delay = std::chrono::seconds(5)};
  slow.actor = "me";
  slow.before_settings = Revision{40};
  ConfigFact ruled = slow;
  ruled.schema = kPlacementSchema;
  ruled.placement = {{.shards = {{.first = 0, .last = 5}, {.first = 9, .last = 9}},
                      .require = {{"zone", {"a", "b"}}, {"disk", {"ssd"}}},
                      .prefer = {{{"zone", {"a"}}}, {{"node", {"n1"}}}}},
                     {.shards = {}, .require = {}, .prefer = {{{"zone", {"b"}}}}}};
  ConfigFact warm = ruled;
  warm.placement = {{.shards = {}, .require = {}, .prefer = {}, .standbys = 2, .spread = "zone"}};
  MemberFact ready = Member();
  ready.ready = {ShardId{0}, ShardId{1}, ShardId{7}, ShardId{900}};
  pb::MemberRecord confused;
  confused.ParseFromString(etcd::EncodeMember(ready));
  confused.set_ready_gaps(2, 0);
  pb::MemberRecord labelled;
  labelled.ParseFromString(etcd::EncodeMember(Member()));
  for (const char* text : {"zone=b", "disk=hdd", "gpu", "Gpu=yes"}) labelled.add_labels(text);
  const std::string newer = "\xFA\x07\x05later";  // field 127, bytes
  std::vector<Seed> seeds = SeedsBeyondBounds();
  const Seed within[] = {
      {"shard", SeedOf(0, etcd::EncodeRecord(Led(), kShard))},
      {"shard-cause", SeedOf(0, etcd::EncodeRecord(explained, kShard))},
      {"shard-cause-unusable", SeedOf(0, etcd::EncodeRecord(unusable_cause, kShard))},
      {"shard-resigned", SeedOf(0, etcd::EncodeRecord(resigned, kShard))},
      {"shard-force-released", SeedOf(0, etcd::EncodeRecord(forced, kShard))},
      {"shard-force-released-proven", SeedOf(0, etcd::EncodeRecord(proven, kShard))},
      {"shard-force-released-damaged", SeedOf(0, etcd::EncodeRecord(unknown, kShard))},
      {"shard-newer-field", SeedOf(0, etcd::EncodeRecord(Led(), kShard) + newer)},
      {"balancer", SeedOf(1, etcd::EncodeRecord(Led(), std::nullopt))},
      {"member", SeedOf(2, etcd::EncodeMember(Member()))},
      {"member-unusable-text", SeedOf(2, etcd::EncodeMember(unusable))},
      {"member-unusable-labels", SeedOf(2, labelled.SerializeAsString())},
      {"member-ready", SeedOf(2, etcd::EncodeMember(ready))},
      {"member-ready-unusable", SeedOf(2, confused.SerializeAsString())},
      {"member-ttl-of-ages", SeedOf(2, etcd::EncodeMember(patient))},
      {"move", SeedOf(3, etcd::EncodeMove(Move()))},
      {"move-cause", SeedOf(3, etcd::EncodeMove(explained_move))},
      {"config", SeedOf(4, etcd::EncodeConfig(config))},
      {"config-failover", SeedOf(4, etcd::EncodeConfig(slow))},
      {"config-placement", SeedOf(4, etcd::EncodeConfig(ruled))},
      {"config-standbys", SeedOf(4, etcd::EncodeConfig(warm))},
      {"policy", SeedOf(5, etcd::EncodePolicy({.actor = "me", .max_moves = 7}))},
      {"policy-limits", SeedOf(5, etcd::EncodePolicy({.actor = "me",
                                                      .max_moves = 7,
                                                      .rebalance_delay = std::chrono::seconds(30),
                                                      .cooldown = std::chrono::minutes(10)}))},
      {"died", SeedOf(6, etcd::EncodeDeath({.node = "n1", .session = SessionId{77}}))},
      {"ripe", SeedOf(7, etcd::EncodeRipe({.node = "n1", .up_to = Revision{700}}))}};
  seeds.insert(seeds.end(), std::begin(within), std::end(within));
  return seeds;
}

}  // namespace baton::fuzz
