// Following a long operation to its end: what a picture of the group says about it.
//
// The judges are pure; Follow asks the node again and again and shows the progress. What is
// followed goes on whether or not anybody watches.
#pragma once

#include <functional>
#include <optional>
#include <string>

#include "app/ctl.h"
#include "app/ctl_client.h"
#include "baton/types.h"

namespace baton::app {

/// What a picture says of an operation. `exit` unset: it goes on.
struct Verdict {
  std::optional<ExitCode> exit;
  std::string line;     ///< progress, or how it ended
  bool partly = false;  ///< something was done already: a time-out then is kPartly
};

/// A written move of one shard. Ended by a leadership with a later term, or by the move's end.
Verdict JudgeTransfer(const MoveFact& move, const Picture& picture);

/// A drain: done once the node leads nothing. `initial`: shards it led at first.
Verdict JudgeDrain(const NodeId& node, std::uint32_t initial, const Picture& picture);

/// What an applied rebalance was seen to do so far.
struct RebalanceProgress {
  std::uint32_t initial = 0;  ///< moves of the plan
  bool seen = false;          ///< the request, in a picture
};
Verdict JudgeRebalance(RebalanceProgress* progress, const Picture& picture);

/// Shards held above target by live members: the moves that balance still needs.
std::uint32_t MovesNeeded(const runtime::NodeStatus& status);

/// Another member could take shards of `node`: live, active, not drained, with weight.
bool HasOtherCandidate(const runtime::NodeStatus& status, const NodeId& node);

struct FollowOptions {
  std::string what;              ///< "the drain of n1", for what is said at an early end
  std::optional<ShardId> shard;  ///< asks for this one alone, not for the group
  TimePoint deadline;
};
struct Followed {
  ExitCode exit = ExitCode::kDone;
  std::string line;
};
/// Asks until the judge's verdict, the deadline, Ctrl-C, or a minute without any answer.
Followed Follow(AdminClient& client, const FollowOptions& options,
                const std::function<Verdict(const Picture&)>& judge);

}  // namespace baton::app
