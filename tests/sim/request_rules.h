// Requests that etcd refuses before anything is proposed, because they are not well formed.
//
// REQUIRES of all requests: they have no field that the model leaves out (etcd_model.h).
#pragma once

#include "sim/store.h"

namespace baton::sim {

Failure CheckRange(const pb::RangeRequest& request);
/// Refuses a transaction if a key is missing, if any path of nested transactions has more than
/// `operations` operations, or if a key could be put twice, or put and deleted.
Failure CheckTxn(const pb::TxnRequest& request, int operations);
Failure CheckGrant(const pb::LeaseGrantRequest& request);

}  // namespace baton::sim
