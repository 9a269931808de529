// Follows a long operation to its end.
//
// The Judge functions are pure: each says what one answer of a node means for the operation. Follow
// asks the node again and again, passes the answers to a Judge function, and shows the progress.
// The operation goes on even if nobody follows it. An answer may be older than the request; the
// Judge functions take this into account.
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
  bool partly = false;  ///< a part is done, so Follow returns kPartly at the deadline
};

/// Judges a move of one shard after the move was written to etcd. kDone: the target leads in a
/// later term. kPrecondition: another node leads in a later term. kFailed: the move is deleted or
/// can't be carried out any more, and the leader stays. While nobody leads, the operation goes on.
Verdict JudgeTransfer(const MoveFact& move, const StatusAnswer& answer);

/// Judges a drain. `initial`: the number of shards that the node led at first. kDone: the answer
/// knows the drain and the node leads nothing, or the node has left the group. kPrecondition, or
/// kPartly if some shards have moved: no other node can take the shards, or placement rules let no
/// other node lead any of those that are left. The rules count only if the answer has the shards;
/// RulesMayBlock says when they are needed.
Verdict JudgeDrain(const NodeId& node, std::uint32_t initial, const StatusAnswer& answer);

/// A shard for which an operator asked for a retry, as it was before.
struct Retried {
  ShardId shard;
  Term term;
  std::uint32_t attempts = 0;  ///< how many attempts had failed
};
/// Judges a retry. kDone: the shard is active. kFailed: another attempt has failed. kPrecondition:
/// the term has changed, or nobody leads the shard. REQUIRES: the shard's leader gave the answer.
Verdict JudgeRetry(const Retried& retried, const StatusAnswer& answer);

/// How far an applied rebalance has come.
struct RebalanceProgress {
  std::uint32_t initial = 0;  ///< how many moves the plan had
  std::uint32_t left = 0;     ///< how many the newest plan has
  bool known = false;         ///< answers from now on are not older than the request
};
/// One look at an applied rebalance.
struct RebalanceLook {
  const StatusAnswer& answer;
  /// How many moves a plan has that was asked for after the answer. Unset: none was.
  std::optional<std::uint32_t> left = {};
  /// Between the answer to the request and the question for `answer`, at least.
  std::chrono::nanoseconds since{0};
};
/// Judges an applied rebalance, and updates `progress`. While the request is there or a move of
/// balance is in flight, the operation goes on. Then the plan decides, so it has to be asked for.
/// kDone: it has no moves. kFailed, or kPartly if some were done: it has moves left, and the answer
/// is not older than the request. Such an answer shows the request, or came after one that did, or
/// its view and its status are both younger than the request.
Verdict JudgeRebalance(RebalanceProgress* progress, const RebalanceLook& look);

struct FollowOptions {
  std::string what;              ///< names the operation in messages, such as "the drain of n1"
  std::optional<ShardId> shard;  ///< asks for this shard only; unset: asks for the group
  TimePoint deadline;
  /// Whether the shards are needed to judge an answer about the group that has none. Then asks for
  /// them, too, but at most every 2 s, because there may be many. Empty: they are never needed.
  std::function<bool(const runtime::NodeStatus&)> needs_shards = {};
};
struct Followed {
  ExitCode exit = ExitCode::kDone;
  std::string line;
};
/// Asks again and again, on this thread, with pauses of 200 ms, until `judge` says that the
/// operation ended. Ends earlier at the deadline (kPartly if the last verdict says so, otherwise
/// kTimedOut), after an Interrupt (kInterrupted), and after a minute in which every call failed,
/// with whatever error (kUnreachable).
Followed Follow(AdminClient& client, const FollowOptions& options,
                const std::function<Verdict(const StatusAnswer&)>& judge);

}  // namespace baton::app
