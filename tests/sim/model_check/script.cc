#include "sim/model_check/script.h"

#include <algorithm>

namespace baton::sim {
namespace {

constexpr const char* kKeys[] = {"a",   "b",   "c",   "d",   "e",   "f",   "m/1",  "m/10",
                                 "m/2", "m/3", "s/1", "s/2", "s/3", "s/4", "move", "zero"};
constexpr const char* kAbsentKey = "confirmation";
constexpr int kDeepest = 3;
constexpr int kBatchMost = kScriptOperations;

const std::string kNoEnd(1, '\0');

}  // namespace

std::string Script::AnyKey() {
  if (random_.Chance(5)) return "";
  return kKeys[random_.Below(std::size(kKeys))];
}

std::string Script::AnyEnd(const std::string& key) {
  switch (random_.Below(10)) {
    case 0: return kNoEnd;
    case 1:
    case 2: return key + "\xff";
    case 3:
    case 4: return AnyKey();
    default: return "";
  }
}

std::int64_t Script::AnyLease() { return random_.Between(1, kLeases); }

// 0, past, present, a little in the future, around what was compacted.
std::int64_t Script::AnyRevision(const Store& store) {
  std::int64_t revision = 0;
  switch (random_.Below(8)) {
    case 0: return 0;
    case 1: revision = store.revision() + random_.Between(1, 3); break;
    case 2: revision = store.compacted() + random_.Between(-2, 2); break;
    case 3: revision = store.revision(); break;
    default: revision = store.revision() - random_.Between(0, 12); break;
  }
  return std::max<std::int64_t>(revision, 1);
}

// ---- transactions

pb::RangeRequest Script::AnyRange(const Store& store) {
  pb::RangeRequest range;
  range.set_key(random_.Chance(200) ? kNoEnd : AnyKey());
  range.set_range_end(range.key() == kNoEnd ? kNoEnd : AnyEnd(range.key()));
  if (random_.Chance(300)) range.set_limit(random_.Between(0, 4));
  if (random_.Chance(350)) range.set_revision(AnyRevision(store));
  range.set_serializable(random_.Chance(200));
  range.set_keys_only(random_.Chance(100));
  range.set_count_only(random_.Chance(100));
  return range;
}

// Mostly keys that this transaction has not touched yet, as touching twice is refused.
pb::PutRequest Script::AnyPut(const Store& store, std::set<std::string>& taken) {
  pb::PutRequest put;
  put.set_key(AnyKey());
  for (int i = 0; i < 8 && taken.contains(put.key()) && random_.Chance(980); ++i) {
    put.set_key(AnyKey());
  }
  taken.insert(put.key());
  if (random_.Chance(900)) put.set_value("v" + std::to_string(random_.Below(4)));
  if (random_.Chance(300)) put.set_lease(AnyLease());
  if (!store.HasLease(put.lease()) && random_.Chance(900)) put.clear_lease();
  put.set_prev_kv(random_.Chance(100));
  return put;
}

pb::DeleteRangeRequest Script::AnyDelete(std::set<std::string>& taken) {
  pb::DeleteRangeRequest range;
  range.set_key(AnyKey());
  for (int i = 0; i < 8 && taken.contains(range.key()) && random_.Chance(950); ++i) {
    range.set_key(AnyKey());
  }
  taken.insert(range.key());
  if (random_.Chance(150)) range.set_range_end(AnyEnd(range.key()));
  range.set_prev_kv(random_.Chance(200));
  return range;
}

// Mostly true.
pb::Compare Script::Guard(const Store& store, const std::string& key,
                          pb::Compare::CompareTarget target) {
  static const pb::KeyValue kAbsent;
  const pb::KeyValue* found = store.Get(key);
  const pb::KeyValue& stored = found != nullptr ? *found : kAbsent;
  const std::int64_t off = random_.Chance(100) ? random_.Between(-1, 1) : 0;
  const auto near = [off](std::int64_t number) { return std::max<std::int64_t>(number + off, 0); };
  pb::Compare compare;
  compare.set_key(key);
  compare.set_target(target);
  switch (target) {
    case pb::Compare::VERSION: compare.set_version(near(stored.version())); break;
    case pb::Compare::CREATE: compare.set_create_revision(near(stored.create_revision())); break;
    case pb::Compare::MOD: compare.set_mod_revision(near(stored.mod_revision())); break;
    case pb::Compare::LEASE: compare.set_lease(near(stored.lease())); break;
    default: compare.set_value(off == 0 ? stored.value() : "v2"); break;
  }
  return compare;
}

pb::Compare Script::AnyCompare(const Store& store) {
  const auto target = static_cast<pb::Compare::CompareTarget>(random_.Below(5));
  pb::Compare compare = Guard(store, AnyKey(), target);
  if (random_.Chance(300)) {
    compare.set_result(static_cast<pb::Compare::CompareResult>(random_.Below(4)));
  }
  if (random_.Chance(80)) compare.set_range_end(AnyEnd(compare.key()));
  return compare;
}

int Script::HowMany(int usually) {
  return random_.Chance(15) ? random_.Between(0, kScriptOperations + 2)
                            : random_.Between(0, usually);
}

pb::RequestOp Script::AnyOperation(const Store& store, int depth, std::set<std::string>& taken) {
  pb::RequestOp operation;
  const std::uint64_t draw = random_.Below(100);
  if (draw < 50) {
    *operation.mutable_request_put() = AnyPut(store, taken);
  } else if (draw < 68) {
    *operation.mutable_request_delete_range() = AnyDelete(taken);
  } else if (draw < 85 || depth == kDeepest) {
    *operation.mutable_request_range() = AnyRange(store);
    if (random_.Chance(700)) operation.mutable_request_range()->clear_revision();
  } else {
    *operation.mutable_request_txn() = AnyTxn(store, depth + 1, taken);
  }
  return operation;
}

pb::TxnRequest Script::AnyTxn(const Store& store, int depth, std::set<std::string> taken) {
  pb::TxnRequest request;
  std::set<std::string> other = taken;
  for (int left = HowMany(depth == 1 ? 2 : 1); left > 0; --left) {
    *request.add_compare() = AnyCompare(store);
  }
  for (int left = HowMany(4); left > 0; --left) {
    *request.add_success() = AnyOperation(store, depth, taken);
  }
  for (int left = HowMany(2); left > 0; --left) {
    *request.add_failure() = AnyOperation(store, depth, other);
  }
  return request;
}

// Compares a member key's lease and creation, and deletes a missing key.
pb::TxnRequest Script::Confirmation(const Store& store) {
  pb::TxnRequest request;
  const std::string member = AnyKey();
  *request.add_compare() = Guard(store, member, pb::Compare::LEASE);
  *request.add_compare() = Guard(store, member, pb::Compare::CREATE);
  request.add_success()->mutable_request_delete_range()->set_key(kAbsentKey);
  request.add_failure()->mutable_request_range()->set_key(member);
  return request;
}

// A put of one key, while no key of a range was written after a revision. One range is always
// empty.
pb::TxnRequest Script::UnlessWrittenSince(const Store& store) {
  pb::TxnRequest request;
  std::set<std::string> taken;
  const pb::PutRequest put = AnyPut(store, taken);
  *request.add_compare() = Guard(store, put.key(), pb::Compare::MOD);
  pb::Compare& range = *request.add_compare();
  const bool empty = random_.Chance(200);
  range.set_key(empty ? "n/" : "m/");
  range.set_range_end(empty ? "n0" : "m0");
  range.set_target(pb::Compare::MOD);
  range.set_result(pb::Compare::LESS);
  range.set_mod_revision(AnyRevision(store) + 1);
  *request.add_success()->mutable_request_put() = put;
  request.add_failure()->mutable_request_range()->set_key(put.key());
  return request;
}

// All or nothing; the failure branch reads back.
pb::TxnRequest Script::FlatBatch(const Store& store) {
  pb::TxnRequest request;
  *request.add_compare() = Guard(store, kKeys[6], pb::Compare::LEASE);
  *request.add_compare() = Guard(store, kKeys[6], pb::Compare::CREATE);
  std::set<std::string> taken;
  const int batch = random_.Between(1, kBatchMost);
  for (int i = 0; i < batch; ++i) {
    const pb::PutRequest put = AnyPut(store, taken);
    *request.add_compare() = Guard(store, put.key(), pb::Compare::MOD);
    *request.add_success()->mutable_request_put() = put;
    request.add_failure()->mutable_request_range()->set_key(put.key());
  }
  return request;
}

// Shared guards outside, each item's own inside.
pb::TxnRequest Script::NestedBatch(const Store& store) {
  pb::TxnRequest request;
  *request.add_compare() = Guard(store, kKeys[7], pb::Compare::CREATE);
  std::set<std::string> taken;
  const int batch = random_.Between(1, kBatchMost);
  for (int i = 0; i < batch; ++i) {
    pb::TxnRequest& item = *request.add_success()->mutable_request_txn();
    const pb::PutRequest put = AnyPut(store, taken);
    *item.add_compare() = Guard(store, put.key(), pb::Compare::MOD);
    *item.add_success()->mutable_request_put() = put;
    item.add_success()->mutable_request_delete_range()->set_key(put.key() + "/move");
    item.add_failure()->mutable_request_range()->set_key(put.key());
  }
  request.add_failure()->mutable_request_range()->set_key(kKeys[7]);
  return request;
}

pb::TxnRequest Script::Transaction(const Store& store) {
  switch (random_.Below(9)) {
    case 0: return Confirmation(store);
    case 1: return FlatBatch(store);
    case 2: return NestedBatch(store);
    case 3: return UnlessWrittenSince(store);
    default: return AnyTxn(store, 1, {});
  }
}

// ---- leases and watches

Operation Script::LeaseOperation() {
  const std::int64_t lease = AnyLease();
  const std::uint64_t draw = random_.Below(100);
  if (draw < 35) {
    // Below the floor, ordinary, too long.
    constexpr std::int64_t kTtls[] = {-1, 0, 1, 30, 600, 601, 9'000'000'000, 9'000'000'001};
    pb::LeaseGrantRequest grant;
    grant.set_id(lease);
    grant.set_ttl(kTtls[random_.Below(std::size(kTtls))]);
    return grant;
  }
  if (draw < 50) {
    pb::LeaseRevokeRequest revoke;
    revoke.set_id(lease);
    return revoke;
  }
  if (draw < 75) return KeepAlive{lease};
  pb::LeaseTimeToLiveRequest ask;
  ask.set_id(lease);
  ask.set_keys(random_.Chance(500));
  return ask;
}

OpenWatch Script::NewWatch(int watcher, const Store& store) {
  pb::WatchCreateRequest request;
  const bool all = random_.Chance(400);
  request.set_key(all ? kNoEnd : kKeys[random_.Below(std::size(kKeys))]);
  if (all) {
    request.set_range_end(kNoEnd);
  } else if (random_.Chance(500)) {
    request.set_range_end(request.key() + "\xff");
  }
  // etcd behaves in surprising ways if a compaction took deletions away.
  request.set_start_revision(random_.Chance(200) ? store.compacted() : AnyRevision(store));
  request.set_progress_notify(random_.Chance(500));
  request.set_fragment(random_.Chance(200));
  request.set_prev_kv(random_.Chance(300));
  return {.watcher = watcher, .request = request};
}

Operation Script::WatchOperation(const Store& store) {
  const int watcher = static_cast<int>(random_.Below(kWatchers));
  bool& open = open_[static_cast<std::size_t>(watcher)];
  if (!open) {
    open = true;
    return NewWatch(watcher, store);
  }
  if (random_.Chance(500)) return AskProgress{watcher};
  open = false;
  return CancelWatch{watcher};
}

std::vector<pb::TxnRequest> Script::PutsEverywhere() {
  std::vector<pb::TxnRequest> requests(1);
  for (const char* key : kKeys) {
    if (requests.back().success_size() == kScriptOperations) requests.emplace_back();
    requests.back().add_success()->mutable_request_put()->set_key(key);
  }
  return requests;
}

Operation Script::Next(const Store& store) {
  const std::uint64_t draw = random_.Below(1000);
  if (draw < 540) return Transaction(store);
  if (draw < 700) return AnyRange(store);
  if (draw < 880) return LeaseOperation();
  if (draw < 960) return WatchOperation(store);
  if (draw < 990) {
    pb::CompactionRequest compact;
    compact.set_revision(AnyRevision(store));
    return compact;
  }
  return AskStatus{};
}

}  // namespace baton::sim
