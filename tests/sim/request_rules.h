// What etcd refuses before anything is proposed: requests that are not well formed.
//
// REQUIRES, of all: no field that the model leaves out (etcd_model.h).
#pragma once

#include "sim/store.h"

namespace baton::sim {

Failure CheckRange(const pb::RangeRequest& request);
/// Keys that are missing; more operations than `operations`, along any path of nested
/// transactions; a key that could be put twice, or put and deleted.
Failure CheckTxn(const pb::TxnRequest& request, int operations);
Failure CheckGrant(const pb::LeaseGrantRequest& request);

}  // namespace baton::sim
