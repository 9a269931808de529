// Checks whether an answer can be a node's, and drops parts of it that nobody needs. A false server
// must not make batonctl abort, or use memory for a very large number of shards. Any thread.
#pragma once

#include <grpcpp/support/byte_buffer.h>

#include "base/clock.h"
#include "baton/result.h"
#include "baton/v1/admin.pb.h"
#include "runtime/status.h"

namespace baton::app {

/// Returns OK or kInternal, with a message of one line. kInternal: the group has more than
/// kMaxShards shards; the answer has more shards, or more moves, than the group has shards; or two
/// members have the same id.
Status CheckStatus(const v1::GetStatusResponse& response);
/// Returns OK or kInternal, with a message of one line. kInternal: there are more than kMaxShards
/// shards.
Status CheckShards(const v1::ListShardsResponse& response);

/// Returns what a node says about itself in `bytes`, its answer to GetStatus: which of its shards
/// fail to activate or are still stopping, and who left. Drops shards, moves, members, transitions,
/// placement rules and counters. Cuts the other lists to the lengths that a node sends. kInternal:
/// `bytes` can't be parsed.
///
/// The whole process parses one answer at a time, because the answer of a false server may need 150
/// times the memory of its bytes. So a call waits, without a bound, until calls on other threads
/// are done. kTimedOut: `deadline` has passed when the turn of this call comes.
Result<runtime::NodeStatus> OwnWordsIn(const grpc::ByteBuffer& bytes, TimePoint deadline);

}  // namespace baton::app
