// Whether a node can have given an answer, and what is kept of it. A false server must not make
// batonctl abort, or make a place for each of very many shards. Any thread.
#pragma once

#include <grpcpp/support/byte_buffer.h>

#include "base/clock.h"
#include "baton/result.h"
#include "baton/v1/admin.pb.h"
#include "runtime/status.h"

namespace baton::app {

/// kInternal, with one line: there are more than kMaxShards shards, or more shards or moves in the
/// answer than the group has shards; or two members have one id.
Status CheckStatus(const v1::GetStatusResponse& response);
/// kInternal, with one line: there are more than kMaxShards shards.
Status CheckShards(const v1::ListShardsResponse& response);

/// A node's words about itself, from its answer to GetStatus: how it fails and stops shards, and
/// who left. Without shards, moves, members, transitions, placement rules and counters; of the
/// lists as much as a node tells. kInternal: these bytes are no such answer.
///
/// Parses one answer at a time: a false server can make one 150 times as large as its bytes. After
/// waiting for others, kTimedOut if `deadline` is over.
Result<runtime::NodeStatus> OwnWordsIn(const grpc::ByteBuffer& bytes, TimePoint deadline);

}  // namespace baton::app
