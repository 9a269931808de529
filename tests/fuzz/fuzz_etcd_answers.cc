// etcd_answers: etcd's answer (TxnResponse) to each kind of write, flat and nested, and to the
// grant of a lease.
//
// Must hold: an answer of any shape gives the outcome of each item of the write, or of none. There
// are no facts beyond what was asked or answered. A granted lease lasts longer than 0 s, and no
// longer than a member's record can hold.
#include <algorithm>

#include <limits>

#include "etcd/guarded_txn.h"
#include "etcd/guarded_write.h"
#include "etcd/records.h"
#include "etcd/server_answers.h"
#include "fuzz/targets.h"

namespace baton::fuzz {
namespace {

using etcdserverpb::TxnResponse;

constexpr SessionId kSession{77};

const etcd::Keyspace& Keys() {
  static const etcd::Keyspace keys(etcd::kDefaultPrefix, "orders");
  return keys;
}

MemberFact Member() {
  MemberFact member;
  member.node = "n1";
  member.session = kSession;
  return member;
}

SessionGuard Us() { return {.node = "n1", .session = kSession, .create_revision = Revision{5}}; }

ClaimBatch Claims() {
  ClaimBatch batch{.guard = Us(), .config = Revision{40}, .claims = {}};
  for (std::uint32_t i = 0; i < 3; ++i) {
    batch.claims.push_back(
        {.shard = ShardId{i},
         .read = Revision{i},
         .dead = SessionRef{"n2", SessionId{78}},
         .quarantined = i == 2 ? std::optional<std::string>("x") : std::nullopt});
  }
  return batch;
}

TransferBatch Transfers() {
  TransferBatch batch{.from = "n1", .transfers = {}};
  for (std::uint32_t i = 0; i < 2; ++i) {
    batch.transfers.push_back({.shard = ShardId{i},
                               .term = Term{100 + i},
                               .move_read = Revision{200 + i},
                               .to = {"n2", SessionId{78}}});
  }
  return batch;
}

MoveBatch Moves() {
  MoveBatch batch{
      .balancer_term = Term{50}, .target = std::nullopt, .moves = {}, .policies = Revision{12}};
  MoveFact move;
  move.shard = ShardId{1};
  move.present = true;
  move.ends = Term{100};
  move.from = "n1";
  move.to = "n2";
  batch.moves.push_back({.move = move, .read = Revision{0}});
  move.present = false;
  move.shard = ShardId{2};
  batch.moves.push_back({.move = move, .read = Revision{9}});
  return batch;
}

const std::vector<Write>& Writes() {
  static const std::vector<Write> writes = {
      ConfigCreate{},
      ConfigMend{.config = {}, .read = Revision{40}, .guard = Us()},
      MemberCreate{Member()},
      MemberTakeover{.member = Member(), .read = Revision{30}},
      MemberUpdate{.member = Member(), .guard = Us()},
      Claims(),
      Transfers(),
      AbandonBatch{.abandons = {{.shard = ShardId{1}, .term = Term{100}}}},
      ResignBatch{
          .from = {"n1", kSession},
          .resigns = {{.shard = ShardId{1}, .term = Term{100}}, {.shard = {}, .term = Term{101}}}},
      Moves(),
      PolicyWrite{.policy = {.name = {PolicyKind::kPause}, .present = true}, .read = Revision{0}},
      ConfigChange{.config = {}, .read = Revision{40}, .members = Revision{50}},
      RipeMark{.node = "n2", .up_to = Revision{30}, .read = Revision{20}},
      ForceRelease{.shard = ShardId{1},
                   .term = Term{100},
                   .dead = {"n2", SessionId{66}},
                   .actor = "me",
                   .tally = {},
                   .unknown_fields = {}},
      RipeMark{.node = "n2", .up_to = {}, .read = Revision{20}},
      ForceRelease{.shard = ShardId{1},
                   .term = Term{100},
                   .dead = {},
                   .actor = "me",
                   .tally = {},
                   .unknown_fields = {},
                   .quarantined = "garbage"}};
  return writes;
}

std::size_t ResponsesIn(const TxnResponse& answer) {
  std::size_t count = 0;
  for (const auto& response : answer.responses()) {
    ++count;
    if (!response.has_response_txn()) continue;
    count += static_cast<std::size_t>(response.response_txn().responses_size());
  }
  return count;
}

std::size_t EffectsOf(const etcd::GuardedWrite& write) {
  std::size_t count = 0;
  for (const etcd::GuardedItem& item : write.items) count += item.effects.size();
  return count;
}

void Judge(const etcd::GuardedWrite& write, const etcd::PortionAnswer& read,
           const TxnResponse& answer) {
  Must(read.items.empty() || read.items.size() == write.items.size(),
       "an answer says the fate of each item, or of none");
  for (const Outcome outcome : read.items) {
    Must(answer.succeeded() || outcome != Outcome::kDone, "what was refused is not done");
  }
  Must(!answer.succeeded() || !read.shared_refused, "what succeeded was not refused");
  const bool refused =
      std::find(read.items.begin(), read.items.end(), Outcome::kRefused) != read.items.end();
  Must(!refused || !read.why.empty(), "a refusal has words");
  Must(read.facts.size() <= EffectsOf(write) + ResponsesIn(answer),
       "facts are no more than what was asked or answered");
}

void RunGrant(std::string_view bytes) {
  etcd::Reply<etcdserverpb::LeaseGrantResponse> reply;
  if (!reply.response.ParseFromArray(bytes.data(), static_cast<int>(bytes.size()))) return;
  reply.status.outcome = Outcome::kDone;
  const etcd::Grant grant = etcd::GrantOf(reply, std::chrono::seconds(10));
  if (grant.outcome != Outcome::kDone) return MustBeOneLine(grant.detail);
  Must(grant.ttl > std::chrono::seconds(0) && grant.ttl <= etcd::kLongestTtl,
       "a lease that was granted lasts, and not for ages", std::to_string(grant.ttl.count()));
}

}  // namespace

void RunEtcdAnswers(std::string_view bytes) {
  Input input(bytes);
  const std::size_t kind = input.Choice(Writes().size() + 1);
  if (kind == Writes().size()) return RunGrant(input.Rest());
  const Write& write = Writes()[kind];
  const auto shape = input.Choice(2) == 0 ? etcd::Shape::kFlat : etcd::Shape::kNested;
  const std::string_view rest = input.Rest();
  TxnResponse answer;
  if (!answer.ParseFromArray(rest.data(), static_cast<int>(rest.size()))) return;
  const etcd::GuardedWrite guarded = etcd::MakeGuardedWrite(Keys(), write);
  const etcd::Portion portion = {
      .write = &guarded, .first = 0, .count = guarded.items.size(), .shape = shape};
  const auto txn = etcd::MakeTxn(portion);
  Must(etcd::CountOperations(*txn) > 0, "a write asks something");
  Judge(guarded, etcd::ReadAnswer(Keys(), portion, answer), answer);
}

std::vector<Seed> EtcdAnswersSeeds() {
  const auto of = [](int write, int shape, const TxnResponse& answer) {
    return std::string{static_cast<char>(write), static_cast<char>(shape)} +
           answer.SerializeAsString();
  };
  TxnResponse done;
  done.set_succeeded(true);
  done.mutable_header()->set_revision(900);
  TxnResponse refused;
  refused.mutable_header()->set_revision(900);
  for (int i = 0; i < 4; ++i) {
    auto& stored = *refused.add_responses()->mutable_response_range()->add_kvs();
    stored.set_key(Keys().ShardKey(ShardId{0}));
    stored.set_mod_revision(800);
  }
  TxnResponse nested = done;
  for (int i = 0; i < 3; ++i)
    *nested.add_responses()->mutable_response_txn() = i > 0 ? done : refused;
  etcdserverpb::LeaseGrantResponse granted;
  granted.set_id(77);
  granted.set_ttl(10);
  etcdserverpb::LeaseGrantResponse of_ages = granted;
  of_ages.set_ttl(std::numeric_limits<std::int64_t>::max());
  const std::string grant(1, static_cast<char>(Writes().size()));
  return {{"grant", grant + granted.SerializeAsString()},
          {"grant-of-ages", grant + of_ages.SerializeAsString()},
          {"config", of(0, 0, done)},
          {"member", of(1, 0, done)},
          {"claims-flat", of(4, 0, done)},
          {"claims-refused", of(4, 0, refused)},
          {"claims-nested", of(4, 1, nested)},
          {"transfers", of(5, 1, nested)},
          {"moves", of(8, 0, done)},
          {"policy", of(9, 0, refused)},
          {"config-change", of(11, 0, refused)},
          {"ripe", of(12, 0, done)},
          {"force-release", of(13, 0, refused)}};
}

}  // namespace baton::fuzz
