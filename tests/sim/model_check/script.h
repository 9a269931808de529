// Script: operations drawn from one seed: what Baton sends, and everything else that etcd's
// messages allow and the model knows.
#pragma once

#include <array>
#include <cstdint>
#include <set>
#include <string>
#include <vector>

#include "sim/model_check/operation.h"
#include "sim/random.h"
#include "sim/store.h"

namespace baton::sim {

class Script {
 public:
  explicit Script(std::uint64_t seed) : random_(seed) {}

  /// The next operation, for the store as given.
  Operation Next(const Store& store);
  /// Transactions that put every key that a script uses.
  static std::vector<pb::TxnRequest> PutsEverywhere();

 private:
  std::string AnyKey();
  std::string AnyEnd(const std::string& key);
  std::int64_t AnyLease();
  std::int64_t AnyRevision(const Store& store);

  pb::RangeRequest AnyRange(const Store& store);
  pb::PutRequest AnyPut(const Store& store, std::set<std::string>& taken);
  pb::DeleteRangeRequest AnyDelete(std::set<std::string>& taken);
  pb::Compare AnyCompare(const Store& store);
  pb::Compare Guard(const Store& store, const std::string& key, pb::Compare::CompareTarget target);
  pb::RequestOp AnyOperation(const Store& store, int depth, std::set<std::string>& taken);
  pb::TxnRequest AnyTxn(const Store& store, int depth, std::set<std::string> taken);
  int HowMany(int usually);

  // Transactions like Baton's: one that writes nothing, one that compares a range of keys, and
  // batches of guarded puts.
  pb::TxnRequest Confirmation(const Store& store);
  pb::TxnRequest UnlessWrittenSince(const Store& store);
  pb::TxnRequest FlatBatch(const Store& store);
  pb::TxnRequest NestedBatch(const Store& store);
  pb::TxnRequest Transaction(const Store& store);

  Operation LeaseOperation();
  Operation WatchOperation(const Store& store);
  OpenWatch NewWatch(int watcher, const Store& store);

  Random random_;
  std::array<bool, kWatchers> open_{};
};

}  // namespace baton::sim
