// What a transaction is for, as a look at its first change tells.
#pragma once

#include "sim/faults.h"
#include "sim/store.h"

namespace baton::sim {

Phase PhaseOf(const pb::TxnRequest& request);

}  // namespace baton::sim
