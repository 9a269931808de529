// Follows a long operation to its end.
//
// The Judge functions are pure. Each says what one answer of a node means for the operation. Follow
// asks the node again and again, passes the answers to a Judge function, and shows the progress.
// The operation goes on even if nobody follows it. An answer may be older than the request; the
// Judge functions take this into account.
//
// Blocking; one thread.
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

/// One answer's verdict on an operation. `exit` unset: the operation goes on.
struct Verdict {
  std::optional<ExitCode> exit;
  std::string line;     ///< progress, or how the operation ended
  bool partly = false;  ///< a part is done; then Follow returns kPartly at the deadline
};

/// Judges a move of one shard after the move was written to etcd. kDone: the target leads in a
/// later term. kPrecondition: another node leads in a later term. kFailed: the move is deleted or
/// can't be carried out any more, and the leader stays. While nobody leads, or if the answer lacks
/// the shard, the operation goes on.
Verdict JudgeTransfer(const MoveFact& move, const StatusAnswer& answer);

/// Judges a drain. `initial`: the number of shards that the node led at first. kDone: the answer
/// shows the drain and the node leads nothing, or the node has left the group. kPrecondition, or
/// kPartly if some shards have moved: no other node can take the shards, or placement rules forbid
/// all other nodes for every shard that is left. Rules are judged only if the answer has the
/// shards. RulesMayBlock says when the shards are needed.
Verdict JudgeDrain(const NodeId& node, std::uint32_t initial, const StatusAnswer& answer);

/// A shard for which an operator asked for a retry, as it was before.
struct Retried {
  ShardId shard;
  Term term;
  std::uint32_t attempts = 0;  ///< how many attempts had failed
};
/// Judges a retry. kDone: the shard is active. kFailed: another attempt has failed. kPrecondition:
/// the term has changed, or nobody leads the shard. REQUIRES (not checked): the shard's leader gave
/// the answer, because only the leader knows the attempts.
Verdict JudgeRetry(const Retried& retried, const StatusAnswer& answer);

/// How far an applied rebalance has come.
struct RebalanceProgress {
  std::uint32_t initial = 0;  ///< how many moves the plan had
  std::uint32_t left = 0;     ///< how many the newest plan has
  bool known = false;         ///< the answers are not older than the request any more
};
/// One look at an applied rebalance.
struct RebalanceLook {
  const StatusAnswer& answer;
  /// How many moves the newest plan has. Unset: no plan was asked for after this answer.
  std::optional<std::uint32_t> left = {};
  /// The least time that passed between the answer to the request and the question for `answer`.
  std::chrono::nanoseconds since{0};
};
/// Judges an applied rebalance, and updates `progress`. While the answer shows the request or a
/// move of balance in flight, the operation goes on. After that, the plan decides
/// (RebalanceLook::left); without a plan, the operation goes on.
///  - kDone: the plan has no moves.
///  - kFailed, or kPartly if some moves were done: the plan has moves, and the answer is not older
///    than the request.
/// An answer is not older than the request in three cases: it shows the request, it came after an
/// answer that showed the request, or its view and its status are both younger than the request.
Verdict JudgeRebalance(RebalanceProgress* progress, const RebalanceLook& look);

struct FollowOptions {
  std::string what;              ///< names the operation in messages, such as "the drain of n1"
  std::optional<ShardId> shard;  ///< Follow asks for this shard only; unset: for the group
  TimePoint deadline;
  /// Gets an answer about the group that has no shards. Returns whether the shards are needed to
  /// judge it. If so, Follow asks for the shards, too, but at most every 2 s, because there may be
  /// many. Empty: the shards are never needed.
  std::function<bool(const runtime::NodeStatus&)> needs_shards = {};
};
struct Followed {
  ExitCode exit = ExitCode::kDone;
  std::string line;
};
/// Asks again and again, on this thread, with pauses of 200 ms, until `judge` says that the
/// operation ended. A call takes kOneCall at most. Follow ends earlier in three cases. At the
/// deadline, it returns kPartly if the last verdict says so, otherwise kTimedOut. If Interrupt
/// happens, it returns kInterrupted. After a minute in which every call failed, with any error, it
/// returns kUnreachable. If the deadline has passed already, it makes no call.
Followed Follow(AdminClient& client, const FollowOptions& options,
                const std::function<Verdict(const StatusAnswer&)>& judge);

}  // namespace baton::app
