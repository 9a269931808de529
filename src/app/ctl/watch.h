// Follows a long operation to its end.
//
// The judges are pure: each says what one answer of a node means for the operation. Follow asks the
// node again and again and shows the progress. The operation goes on even if nobody watches.
// Answers may be older than the request that was written; the judges allow for that.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>

#include "app/ctl/client.h"
#include "app/ctl/ctl.h"
#include "baton/types.h"

namespace baton::app {

/// What one answer says about an operation. `exit` unset: the operation goes on.
struct Verdict {
  std::optional<ExitCode> exit;
  std::string line;     ///< progress, or how it ended
  bool partly = false;  ///< something was done already, so a timeout is kPartly
};

/// Judges a move of one shard that was written. It ends when a leadership with a later term begins:
/// done if the target leads, else kPrecondition. It fails when the move is gone and the leader
/// stays. While nobody leads, it goes on.
Verdict JudgeTransfer(const MoveFact& move, const StatusAnswer& answer);

/// Judges a drain: done once the node leads nothing or has left the group. If no other node can
/// take its shards, it ends with kPrecondition, or kPartly if some have moved. `initial`: the
/// shards that it led at first.
Verdict JudgeDrain(const NodeId& node, std::uint32_t initial, const StatusAnswer& answer);

/// A shard that an operator asked to be tried again, as it was before.
struct Retried {
  ShardId shard;
  Term term;
  std::uint32_t attempts = 0;  ///< that had failed
};
/// Judges that try: done once the shard is active, failed once another attempt has failed,
/// kPrecondition once its term has changed or nobody leads.
Verdict JudgeRetry(const Retried& retried, const StatusAnswer& answer);

/// What was seen of an applied rebalance so far.
struct RebalanceProgress {
  std::uint32_t initial = 0;  ///< the plan's moves
  bool seen = false;          ///< an answer showed the request
};
/// Judges an applied rebalance, and notes in `progress` what it has seen. Done once the group is
/// balanced and no move is in flight. If it ends earlier: kFailed, or kPartly if some have moved.
Verdict JudgeRebalance(RebalanceProgress* progress, const StatusAnswer& answer);

/// The moves that balance still needs: shards that live members lead above their targets.
std::uint32_t MovesNeeded(const runtime::NodeStatus& status);

/// Whether another member can take shards of `node`: it is live, active, not drained, and its
/// weight is not 0.
bool HasOtherCandidate(const runtime::NodeStatus& status, const NodeId& node);

struct FollowOptions {
  std::string what;              ///< "the drain of n1", for the message if it ends early
  std::optional<ShardId> shard;  ///< set: ask for this shard only, not for the group
  TimePoint deadline;
};
struct Followed {
  ExitCode exit = ExitCode::kDone;
  std::string line;
};
/// Asks until the judge says that it ended, or until the deadline (kTimedOut, or kPartly as the
/// last verdict says), Interrupt (kInterrupted), or a minute without any answer (kUnreachable).
Followed Follow(AdminClient& client, const FollowOptions& options,
                const std::function<Verdict(const StatusAnswer&)>& judge);

}  // namespace baton::app
