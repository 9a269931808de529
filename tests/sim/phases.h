// Tells from a transaction's first change what the transaction is for.
#pragma once

#include "sim/faults.h"
#include "sim/store.h"

namespace baton::sim {

Phase PhaseOf(const pb::TxnRequest& request);

}  // namespace baton::sim
