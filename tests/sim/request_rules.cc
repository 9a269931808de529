#include "sim/request_rules.h"

#include <algorithm>
#include <iterator>
#include <set>
#include <string>
#include <vector>

#include "base/check.h"

namespace baton::sim {
namespace {

constexpr std::int64_t kLongestTtl = 9'000'000'000;

const Failure kNoKey{kCodeInvalidArgument, "etcdserver: key is not provided"};
const Failure kDuplicateKey{kCodeInvalidArgument, "etcdserver: duplicate key given in txn request"};
const Failure kTooManyOperations{kCodeInvalidArgument,
                                 "etcdserver: too many operations in txn request"};
const Failure kNoOperation{kCodeInvalidArgument, "etcdserver: key not found"};
const Failure kTtlTooLarge{kCodeOutOfRange, "etcdserver: too large lease TTL"};

using Operations = google::protobuf::RepeatedPtrField<pb::RequestOp>;

/// The keys that a branch may put and delete, including those of nested transactions.
struct ViewChanges {
  std::set<std::string> puts;
  std::set<std::string> deletes;
  std::vector<pb::DeleteRangeRequest> ranges;  ///< deletes of more than one key

  bool Deletes(const std::string& key) const {
    return deletes.contains(key) ||
           std::any_of(ranges.begin(), ranges.end(), [&key](const pb::DeleteRangeRequest& range) {
             return key >= range.key() && key < range.range_end();
           });
  }
  void Add(const pb::DeleteRangeRequest& range) {
    if (range.range_end().empty()) {
      deletes.insert(range.key());
    } else {
      ranges.push_back(range);
    }
  }
  /// Returns false if the key is put or deleted already.
  bool Put(const std::string& key) { return !Deletes(key) && puts.insert(key).second; }
};

bool Touch(const Operations& branch, ViewChanges& changes);

// Both branches of a nested transaction may put the same keys, as only one of them is taken. Its
// deletes count for those that come after it, not for those before.
bool TouchNested(const pb::TxnRequest& request, ViewChanges& changes) {
  ViewChanges success;
  ViewChanges failure;
  if (!Touch(request.success(), success) || !Touch(request.failure(), failure)) return false;
  for (const std::string& key : success.puts) {
    if (!changes.Put(key)) return false;
  }
  for (const std::string& key : failure.puts) {
    if (!success.puts.contains(key) && !changes.Put(key)) return false;
  }
  for (ViewChanges* nested : {&success, &failure}) {
    changes.deletes.merge(nested->deletes);
    std::move(nested->ranges.begin(), nested->ranges.end(), std::back_inserter(changes.ranges));
  }
  return true;
}

// Deletes first, then nested transactions, then its own puts. Returns false if a key is touched
// twice.
bool Touch(const Operations& branch, ViewChanges& changes) {
  for (const pb::RequestOp& operation : branch) {
    if (operation.has_request_delete_range()) changes.Add(operation.request_delete_range());
  }
  for (const pb::RequestOp& operation : branch) {
    if (operation.has_request_txn() && !TouchNested(operation.request_txn(), changes)) return false;
  }
  return std::all_of(branch.begin(), branch.end(), [&changes](const pb::RequestOp& operation) {
    return !operation.has_request_put() || changes.Put(operation.request_put().key());
  });
}

Failure CheckForm(const pb::TxnRequest& request, int operations);

Failure CheckPut(const pb::PutRequest& request) {
  BATON_CHECK(!request.ignore_value() && !request.ignore_lease());
  return request.key().empty() ? kNoKey : Failure{};
}

Failure CheckOperation(const pb::RequestOp& operation, int left) {
  switch (operation.request_case()) {
    case pb::RequestOp::kRequestRange: return CheckRange(operation.request_range());
    case pb::RequestOp::kRequestPut: return CheckPut(operation.request_put());
    case pb::RequestOp::kRequestDeleteRange:
      return operation.request_delete_range().key().empty() ? kNoKey : Failure{};
    case pb::RequestOp::kRequestTxn: return CheckForm(operation.request_txn(), left);
    default: return kNoOperation;
  }
}

// How many operations a transaction counts for: its longest list. Nested ones have what is left.
Failure CheckForm(const pb::TxnRequest& request, int operations) {
  const int count =
      std::max({request.compare_size(), request.success_size(), request.failure_size()});
  if (count > operations) return kTooManyOperations;
  for (const pb::Compare& compare : request.compare()) {
    if (compare.key().empty()) return kNoKey;
  }
  for (const auto* branch : {&request.success(), &request.failure()}) {
    for (const pb::RequestOp& operation : *branch) {
      const Failure failure = CheckOperation(operation, operations - count);
      if (!failure.none()) return failure;
    }
  }
  return {};
}

}  // namespace

Failure CheckRange(const pb::RangeRequest& request) {
  BATON_CHECK(request.sort_order() == pb::RangeRequest::NONE);
  return request.key().empty() ? kNoKey : Failure{};
}

Failure CheckTxn(const pb::TxnRequest& request, int operations) {
  const Failure failure = CheckForm(request, operations);
  if (!failure.none()) return failure;
  ViewChanges success;
  ViewChanges other;
  const bool once = Touch(request.success(), success) && Touch(request.failure(), other);
  return once ? Failure{} : kDuplicateKey;
}

Failure CheckGrant(const pb::LeaseGrantRequest& request) {
  return request.ttl() > kLongestTtl ? kTtlTooLarge : Failure{};
}

}  // namespace baton::sim
