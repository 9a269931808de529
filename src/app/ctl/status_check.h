// Checks a node's answers, and drops the parts that batonctl does not need. So a false server can't
// make batonctl abort or use too much memory. Any thread.
#pragma once

#include <grpcpp/support/byte_buffer.h>

#include "base/clock.h"
#include "baton/result.h"
#include "baton/v1/admin.pb.h"
#include "runtime/status.h"

namespace baton::app {

/// Returns OK, or kInternal with one line for one of these reasons:
///  - The group has more than kMaxShards shards.
///  - The answer has more shards than the group.
///  - The answer has more moves than the group has shards.
///  - Two members have the same id.
Status CheckStatus(const v1::GetStatusResponse& response);
/// Returns OK, or kInternal with one line: the answer has more than kMaxShards shards.
Status CheckShards(const v1::ListShardsResponse& response);

/// Returns what a node says about itself in `bytes`, its answer to GetStatus. Examples are its
/// shards that fail to activate or are still stopping, and the nodes that it saw leave. The result
/// has no shards, moves, members, transitions, placement rules or counters. Other lists are cut to
/// the lengths that a node sends. kInternal: `bytes` can't be parsed.
///
/// The whole process parses one answer at a time, because a false answer may need 150 times its own
/// size in memory. So a call waits for the calls of other threads, without a bound. kTimedOut:
/// `deadline` had passed when the turn of this call came.
Result<runtime::NodeStatus> OwnWordsIn(const grpc::ByteBuffer& bytes, TimePoint deadline);

}  // namespace baton::app
