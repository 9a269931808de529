#include "sim/phases.h"

#include <optional>
#include <variant>

#include "etcd/keyspace.h"
#include "sim/process.h"

namespace baton::sim {
namespace {

const etcd::Keyspace& Keys() {
  static const etcd::Keyspace keys(etcd::kDefaultPrefix, kGroup);
  return keys;
}

const std::string& PolicyPrefix() {
  static const std::string prefix = Keys().begin() + "policy/";
  return prefix;
}

const std::string& ShardPrefix() {
  static const std::string prefix = Keys().begin() + "shards/";
  return prefix;
}

const std::string& ConfirmationKey() {
  static const std::string key = Keys().ConfirmationKey();
  return key;
}

bool Begins(const std::string& key, const std::string& with) {
  return key.compare(0, with.size(), with) == 0;
}

// The transaction that does the work: the first nested one, if there are any.
const pb::TxnRequest& Innermost(const pb::TxnRequest& request) {
  const bool nested = request.success_size() > 0 && request.success(0).has_request_txn();
  return nested ? Innermost(request.success(0).request_txn()) : request;
}

std::optional<Fact> FactOf(const pb::PutRequest& put) {
  pb::KeyValue stored;
  stored.set_key(put.key());
  stored.set_value(put.value());
  return Keys().Decode(stored).fact;
}

Phase PhaseOfMember(const pb::TxnRequest& request) {
  const bool takes_over =
      request.compare_size() > 0 && request.compare(0).target() == pb::Compare::MOD;
  return takes_over ? Phase::kTakingOver : Phase::kJoining;
}

// Nobody leads and nobody resigned: an operator's force-release. Only a transfer also deletes a
// move.
Phase PhaseOfRecord(const pb::TxnRequest& request, const RecordFact& record) {
  if (record.leader.empty()) return record.resigned_by.empty() ? Phase::kPolicy : Phase::kLeaving;
  const bool transfers =
      request.success_size() > 1 && request.success(1).has_request_delete_range();
  return transfers ? Phase::kTransferring : Phase::kClaiming;
}

// An operator's change compares the config as read before all else: the first node's creation
// compares that there is none, and who mends it compares its session first.
Phase PhaseOfConfig(const pb::TxnRequest& request) {
  const bool changes =
      request.compare_size() > 0 && request.compare(0).target() == pb::Compare::MOD;
  return changes ? Phase::kPolicy : Phase::kJoining;
}

Phase PhaseOfPut(const pb::TxnRequest& request, const pb::PutRequest& put) {
  if (Begins(put.key(), PolicyPrefix())) return Phase::kPolicy;
  const std::optional<Fact> fact = FactOf(put);
  if (!fact) return Phase::kClaiming;  // quarantined bytes, put beside a claim
  if (std::holds_alternative<MemberFact>(*fact)) return PhaseOfMember(request);
  if (const auto* shard = std::get_if<ShardRecordFact>(&*fact)) {
    return PhaseOfRecord(request, shard->record);
  }
  if (const auto* balancer = std::get_if<BalancerFact>(&*fact)) {
    return balancer->record.leader.empty() ? Phase::kLeaving : Phase::kPlanning;
  }
  if (const auto* move = std::get_if<MoveFact>(&*fact)) {
    return move->phase == MovePhase::kPrepared ? Phase::kPrepared : Phase::kPlanning;
  }
  if (std::holds_alternative<RipeFact>(*fact)) return Phase::kClaiming;  // lets it be claimed
  return PhaseOfConfig(request);
}

}  // namespace

Phase PhaseOf(const pb::TxnRequest& request) {
  const pb::TxnRequest& innermost = Innermost(request);
  if (innermost.success_size() == 0) return Phase::kConfirming;
  const pb::RequestOp& first = innermost.success(0);
  if (first.has_request_put()) return PhaseOfPut(innermost, first.request_put());
  const std::string& key = first.request_delete_range().key();
  if (key == ConfirmationKey()) return Phase::kConfirming;
  // Only an abandon deletes a move by the record's guard.
  const bool of_leader =
      innermost.compare_size() > 0 && Begins(innermost.compare(0).key(), ShardPrefix());
  if (of_leader) return Phase::kAbandoning;
  return Begins(key, PolicyPrefix()) ? Phase::kPolicy : Phase::kPlanning;
}

}  // namespace baton::sim
