// CheckStatus: whether a node can have given a status. A false server must not make batonctl abort,
// or make a place for each of very many shards. Pure; any thread.
#pragma once

#include "baton/result.h"
#include "baton/v1/admin.pb.h"

namespace baton::app {

/// kInternal, with one line: there are more than kMaxShards shards, or two members have one id.
Status CheckStatus(const v1::NodeStatus& status);

}  // namespace baton::app
