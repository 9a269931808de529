#include "core/shard_work.h"

#include <utility>

namespace baton::core {

void ShardWork::On(Context& context, const CallbackReturned& event) {
  if (!leaderships_.On(context, event)) incoming_moves_.On(event, context.self());
}

bool ShardWork::On(Context& context, OperationId operation, const PendingWrites::Settled& settled,
                   const WriteResult& result) {
  switch (settled.owner) {
    case WriteOwner::kConfig:
    case WriteOwner::kRequests: return false;
    case WriteOwner::kLeaderships:
      leaderships_.On(context, operation, *settled.write, result);
      return true;
    case WriteOwner::kOtherTries:
      leaderships_.OnOtherTries(context, operation, result.outcome);
      return true;
    case WriteOwner::kIncomingMoves:
      incoming_moves_.On(context, operation, *settled.write, result.outcome);
      return true;
    case WriteOwner::kSuccession:
      succession_.On(context, operation, *settled.write, result);
      return true;
    case WriteOwner::kBalancer: balancer_.On(context, operation, result.outcome); return true;
    case WriteOwner::kRipeMarks: ripe_marks_.On(context.now); return true;
  }
  return false;
}

void ShardWork::Note(Context& context, const ViewChanges& changes) {
  leaderships_.Reconcile(context, changes);
  news_.Note(context, changes, leaderships_);
  standby_duties_.Note(context.view, changes, leaderships_);
  incoming_moves_.Note(changes);
  ripe_marks_.Note(context.view, changes);
  succession_.Note(changes);
  balancer_.Note(context.view, changes);
}

void ShardWork::Advance(Context& context, Session& session) {
  standby_duties_.Advance(context, leaderships_);
  incoming_moves_.Advance(context, standby_duties_, leaderships_.failed());
  leaderships_.Advance(context);
  if (auto ready = standby_duties_.TakeReady(context)) session.SetReady(*std::move(ready));
  session.SetFailing(leaderships_.failed().says_failing());
  session.AdvanceRecord(context.now, context.view, context.actions, context.wake_at);
  ripe_marks_.Advance(context);
  succession_.Advance(context, leaderships_);
  balancer_.Advance(context);
}

void ShardWork::LoseSession(Context& context) {
  deadline_.Withdraw(context);
  leaderships_.LoseAll(context, Reason::kLeaseExpired);
  incoming_moves_.Clear();
  ripe_marks_.Clear();
  succession_.Clear();
  balancer_.Clear();
}

// A process that can't be asked whether it stopped may act on its shards until the last deadline it
// was sent. Then only the lease's expiry may give the shards to others.
bool ShardWork::GiveUp(Context& context) {
  deadline_.Withdraw(context);
  const bool may_act = context.options.external && context.application != ApplicationState::kAbsent;
  const bool leave_lease = may_act && !leaderships_.held().empty();
  leaderships_.LoseAll(context, Reason::kShutdown);
  standby_duties_.EndAll(context);
  return leave_lease;
}

void ShardWork::ApplicationIsBack(Context& context, Duration away) {
  leaderships_.PushBounds(context, away);
  incoming_moves_.PushBounds(away);
}

void ShardWork::ForgetApplication() {
  standby_duties_.Forget();
  leaderships_.ForgetApplication();
}

}  // namespace baton::core
