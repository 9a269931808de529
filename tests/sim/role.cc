#include "sim/role.h"

#include <algorithm>

#include "etcd/keyspace.h"
#include "sim/process.h"

namespace baton::sim {

bool Role::Allows(const std::string& key, const std::string& range_end) const {
  const bool begins = key >= begin_ && key < end_;
  // etcd writes "\0" for a range without an end.
  return begins && (range_end.empty() || (range_end > key && range_end <= end_));
}

bool Role::Allows(const pb::RequestOp& operation) const {
  switch (operation.request_case()) {
    case pb::RequestOp::kRequestRange:
      return Allows(operation.request_range().key(), operation.request_range().range_end());
    case pb::RequestOp::kRequestPut: return Allows(operation.request_put().key(), "");
    case pb::RequestOp::kRequestDeleteRange:
      return Allows(operation.request_delete_range().key(),
                    operation.request_delete_range().range_end());
    case pb::RequestOp::kRequestTxn: return Allows(operation.request_txn());
    default: return false;
  }
}

bool Role::Allows(const pb::TxnRequest& request) const {
  const auto each = [this](const pb::RequestOp& operation) { return Allows(operation); };
  return std::all_of(request.compare().begin(), request.compare().end(),
                     [this](const pb::Compare& compare) {
                       return Allows(compare.key(), compare.range_end());
                     }) &&
         std::all_of(request.success().begin(), request.success().end(), each) &&
         std::all_of(request.failure().begin(), request.failure().end(), each);
}

const Role& NodeRole() {
  static const etcd::Keyspace keys(etcd::kDefaultPrefix, kGroup);
  static const Role role(keys.begin(), keys.end());
  return role;
}

}  // namespace baton::sim
