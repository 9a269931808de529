#include "sim/next_version.h"

#include <algorithm>

#include "etcd/keyspace.h"

namespace baton::sim {
namespace {

bool HasField(const std::string& value) {
  static const std::string field = NextVersionsField();
  return value.find(field) != std::string::npos;
}

const etcd::Keyspace& Keys() {
  static const etcd::Keyspace keys(etcd::kDefaultPrefix, kGroup);
  return keys;
}

bool KeepsFields(const std::string& key) {
  static const std::string folders[] = {Keys().begin() + "shards/", Keys().begin() + "moves/",
                                        Keys().begin() + "members/"};
  if (key == Keys().BalancerKey()) return true;
  return std::any_of(std::begin(folders), std::end(folders), [&](const std::string& folder) {
    return key.compare(0, folder.size(), folder) == 0;
  });
}

// A planned move is a new wish, whatever the key held before. Every other put of a key under the
// same lease, or none, rewrites what the key held.
bool Begins(const pb::KeyValue& stored) {
  const auto decoded = Keys().Decode(stored);
  const auto* move = decoded.fact ? std::get_if<MoveFact>(&*decoded.fact) : nullptr;
  return move != nullptr && move->phase == MovePhase::kPlanned;
}

void AddFields(pb::TxnRequest& request) {
  for (pb::RequestOp& operation : *request.mutable_success()) {
    if (operation.has_request_txn()) AddFields(*operation.mutable_request_txn());
    if (!operation.has_request_put()) continue;
    pb::PutRequest& put = *operation.mutable_request_put();
    if (!KeepsFields(put.key()) || HasField(put.value())) continue;
    put.set_value(put.value() + NextVersionsField());
  }
}

}  // namespace

std::string NextVersionsField() { return "\xBA\x3E\x04next"; }

std::shared_ptr<const pb::TxnRequest> AsNextVersion(const pb::TxnRequest& request) {
  auto changed = std::make_shared<pb::TxnRequest>(request);
  AddFields(*changed);
  return changed;
}

void FieldsKept::Committed(std::int64_t revision, int origin) {
  for (const pb::Event& event : etcd_.store().EventsOf(revision)) {
    if (KeepsFields(event.kv().key())) Look(event, origin);
  }
  checkers_.Committed(revision, origin);
}

// A member key's next session may be of another version, and an operator may write anything.
void FieldsKept::Look(const pb::Event& event, int origin) {
  const std::string& key = event.kv().key();
  const auto had = lease_of_.find(key);
  const bool put = event.type() == pb::Event::PUT;
  const bool has = put && HasField(event.kv().value());
  const bool same =
      put && had != lease_of_.end() && had->second == event.kv().lease() && !Begins(event.kv());
  if (same && origin >= 0) {
    ++rewritten_;
    if (!has) checkers_.Violation("fields", key + " lost the fields of a later version");
  }
  if (has) {
    lease_of_[key] = event.kv().lease();
  } else if (had != lease_of_.end()) {
    lease_of_.erase(had);
  }
}

}  // namespace baton::sim
