// Follows a long operation to its end.
//
// The Judge functions are pure. Each Judge function says what one answer of a node means for the
// operation. An answer may be older than the request; the Judge functions take this into account.
// Follow asks the node again and again, passes the answers to a Judge function, and shows the
// progress. The operation goes on even if nobody follows it.
//
// Follow blocks; call it on one thread.
#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <optional>
#include <string>

#include "app/ctl/client.h"
#include "app/ctl/ctl.h"
#include "baton/types.h"

namespace baton::app {

/// A verdict on an operation, after one answer. `exit` unset: the operation goes on.
struct Verdict {
  std::optional<ExitCode> exit;
  std::string line;     ///< progress, or how the operation ended
  bool partly = false;  ///< a part is done, so Follow returns kPartly at its deadline
};

/// Judges a move of one shard, after the move was written to etcd. The operation goes on while
/// nobody leads the shard, and if the answer lacks the shard or is older than the move.
///  - kDone: the target leads in a later term.
///  - kPrecondition: another node leads in a later term.
///  - kFailed: the old leader still leads, and the move is deleted or can't be carried out.
Verdict JudgeTransfer(const MoveFact& move, const StatusAnswer& answer);

/// Judges a drain. `initial`: the number of shards that the node led at first.
///  - kDone: the node has left; or the answer shows the drain, and the node leads nothing.
///  - kPrecondition, or kPartly if some shards have moved: no other node can take shards; or for
///    each shard that is left, placement rules forbid all other nodes.
/// Placement rules are judged only if the answer has the shards. RulesMayBlock (blocked_drain.h)
/// says when the shards are needed.
Verdict JudgeDrain(const NodeId& node, std::uint32_t initial, const StatusAnswer& answer);

/// A shard that an operator asked to retry, as it was before the request.
struct Retried {
  ShardId shard;
  Term term;
  std::uint32_t attempts = 0;  ///< how many attempts had failed
};
/// Judges a retry. kDone: the shard neither fails nor activates any more. kFailed: another attempt
/// has failed. kPrecondition: the term has changed, or nobody leads the shard. REQUIRES (not
/// checked): the shard's leader gave the answer, because only the leader knows the attempts.
Verdict JudgeRetry(const Retried& retried, const StatusAnswer& answer);

/// How far an applied rebalance has come.
struct RebalanceProgress {
  std::uint32_t initial = 0;  ///< how many moves the plan had at first
  std::uint32_t left = 0;     ///< how many moves the newest plan has
  bool known = false;         ///< from now on, no answer is older than the request
};
/// One look at an applied rebalance.
struct RebalanceLook {
  const StatusAnswer& answer;
  /// How many moves the newest plan has. Unset: nobody has asked for a plan after this answer.
  std::optional<std::uint32_t> left = {};
  /// At least this time passed between the answer to the request and the question for `answer`.
  std::chrono::nanoseconds since{0};
};
/// Judges an applied rebalance, and updates `progress`. The operation goes on while the answer
/// shows the request, or a move of balance in flight. After that, the newest plan decides
/// (RebalanceLook::left). Without a plan, the operation goes on.
///  - kDone: the plan has no moves.
///  - kFailed, or kPartly if some moves were done: the plan has moves, and the answer is known not
///    to be older than the request.
/// There are three ways to know this: the answer shows the request; an earlier answer showed the
/// request; or the answer's view and status are both younger than the request.
Verdict JudgeRebalance(RebalanceProgress* progress, const RebalanceLook& look);

struct FollowOptions {
  std::string what;              ///< names the operation in messages, such as "the drain of n1"
  std::optional<ShardId> shard;  ///< Follow asks only for this shard; unset: for the group
  TimePoint deadline;            ///< Follow makes no call after this time
  /// Gets an answer that has no shards. Returns whether `judge` needs the shards, too. If so,
  /// Follow asks for them, but at most every 2 s, because there may be many. Empty: `judge` never
  /// needs the shards.
  std::function<bool(const runtime::NodeStatus&)> needs_shards = {};
};
struct Followed {
  ExitCode exit = ExitCode::kDone;
  std::string line;
};
/// Asks again and again, on this thread, with pauses of 200 ms, until `judge` says that the
/// operation has ended. The calls of one round take kOneCall at most. Follow ends earlier in three
/// cases:
///  - The deadline has passed: kPartly if the last verdict says so, otherwise kTimedOut.
///  - Interrupt happens: kInterrupted.
///  - Every call of the last minute has failed, with any error: kUnreachable.
Followed Follow(AdminClient& client, const FollowOptions& options,
                const std::function<Verdict(const StatusAnswer&)>& judge);

}  // namespace baton::app
