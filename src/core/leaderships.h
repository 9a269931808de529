// Leaderships: the shards that this node leads, from gaining to giving away.
//
// The rules (the first three were found by model checking):
//  - If a record names this node and its present session, this node holds the shard, no matter who
//    wrote the record. Any other content of the record ends the leadership.
//  - Leads() turns false before a write that gives a shard away is sent, and stays false until that
//    write's outcome is definite. "Refused" does not mean "still mine": the record that was read
//    back decides.
//  - A handoff may be given up while the outcome of its transfer is unknown. For that the node
//    commits an abandon, which deletes the shard's move. After that no copy of the transfer can be
//    applied any more, because it compares the move. So the node leads again, with the same term.
//  - An activated shard is handed over only after `releasing` has returned or timed out. A shard
//    whose `acquired` failed, timed out or was not called yet is handed over without `releasing`.
//    While `acquired` runs within its timeout, no handoff begins.
//  - With a lock delay, two kinds of shards are not transferred; this node resigns them instead.
//    They are a shard whose `releasing` failed or timed out, and one whose `acquired` timed out and
//    still runs.
//  - If `acquired` fails, the node keeps the shard and tries again (failed_activations.h). It may
//    plan a move, so that another node tries the shard once (other_tries.h).
//  - `lost` is called for every leadership that ended, after Leads() turned false.
//  - If `acquired` succeeds after its timeout, the shard is activated, if the node still leads it.
//    If `releasing` returns after its timeout, its result is ignored.
//  - While an external application is detached, no callback times out, and no release for a move
//    begins.
//
// Pure and single-threaded: owned by the core.
#pragma once

#include <algorithm>
#include <cstdint>
#include <optional>
#include <set>
#include <variant>
#include <vector>

#include "core/context.h"
#include "core/failed_activations.h"
#include "core/held_shard.h"
#include "core/other_tries.h"
#include "core/resignations.h"
#include "core/stopping_shards.h"
#include "core/transfers.h"

namespace baton::core {

class Leaderships {
 public:
  using Held = HeldShard;
  using Leading = HeldShard::Leading;
  using Releasing = HeldShard::Releasing;
  using Released = HeldShard::Released;
  using Giving = HeldShard::Giving;
  using Resigning = HeldShard::Resigning;
  using Abandoning = HeldShard::Abandoning;

  /// Since this object exists. An `acquired` that exceeds its timeout and fails after that counts
  /// as timed out and as failed.
  struct Counters {
    std::uint64_t callbacks_timed_out = 0;  ///< `acquired` and `releasing`
    /// `acquired`, `releasing` and `lost` that threw while this object waited for them (see On).
    std::uint64_t callbacks_failed = 0;
    /// How many shards this node lost while their transfers were unsettled
    /// (HeldShard::Transfer). Also counts a shard that another write took away then, for example an
    /// operator's deletion of its record.
    std::uint64_t moves_done = 0;
    std::uint64_t moves_refused = 0;  ///< refused transfers of shards that are still held then
    /// Handoffs whose `releasing` timed out. Does not count a `releasing` for a resignation.
    std::uint64_t moves_timed_out = 0;
  };

  /// Compares the shards that changed with the view: gains and loses leaderships, and begins to
  /// release shards whose moves are prepared. REQUIRES: each ViewChanges of the view is passed here
  /// before the next Advance.
  void Reconcile(Context& context, const ViewChanges& changes);
  /// Returns false if this object does not wait for the callback (any more).
  bool On(Context& context, const CallbackReturned& event);
  /// A write's definite outcome. REQUIRES: `write` is a batch of transfers, resignations or
  /// abandons of this object; the view has merged what the write read back, and Reconcile has seen
  /// the changes.
  void On(Context& context, OperationId operation, const Write& write, const WriteResult& result);
  /// Checks timeouts, begins the moves that wait, begins the first tries that wait, and tries
  /// failed activations again. Sends writes: transfers, abandons, resignations of shards that a
  /// lock delay keeps from being transferred, and the moves by which other nodes try shards that
  /// fail here.
  void Advance(Context& context);

  /// Ends every leadership at once, without a write, because the session is lost or ends. Forgets
  /// the writes in flight. `reason` goes to `lost`.
  void LoseAll(Context& context, Reason reason);
  /// Resigns the shards that this node leads (HeldShard::MayLead), as many as may be in flight at
  /// once. This also ends handoffs whose transfer was not sent yet. A shard whose resignation was
  /// refused waits 2 * kMinRetryPause. Call it in each step until no shard is held. `reason` goes
  /// into the records and to `releasing`.
  ///
  /// If `ask` is true or the application is external, two kinds of shards are not resigned at once:
  ///  - An activated shard: the application is first asked to release it, unless it does so already
  ///    for a move. The shard is resigned once `releasing` has returned, failed or timed out.
  ///  - A shard whose `acquired` runs within its timeout: it waits until `acquired` has returned or
  ///    timed out. If the shard is activated then, the application is asked to release it, as
  ///    above; otherwise it is resigned.
  void ResignAll(Context& context, Reason reason, bool ask);
  /// The deadline has passed: reports a transition and runs `suspended` for each held shard, also
  /// for shards that are being given away. The shards stay held. Leads() has turned false before,
  /// at the deadline.
  void SuspendAll(Context& context);
  /// A renewal was confirmed after SuspendAll, `gap` after the deadline: reports a transition and
  /// runs `resumed` for each held shard.
  void ResumeAll(Context& context, Duration gap);

  /// Whether `acquired` of some held shard runs within its timeout, or `releasing` runs. REQUIRES:
  /// call it before ResignAll, which forgets the running `acquired` of the shards that it resigns.
  bool Asking() const {
    return std::any_of(held_.begin(), held_.end(), [&](const auto& entry) {
      const Held& held = entry.second;
      return (held.activation != 0 && !failed_.Waits(entry.first)) ||
             std::holds_alternative<Releasing>(held.phase);
    });
  }
  /// Whether the application was asked to release some shard so that it can be resigned. If so,
  /// call ResignAll again.
  bool AskedToResign() const {
    return std::any_of(held_.begin(), held_.end(),
                       [](const auto& entry) { return entry.second.asked_to_resign; });
  }
  /// Call it when the external application is attached again, after it was detached for `away`.
  /// Adds `away` to the deadlines of the callbacks that run. But a deadline is then at most a whole
  /// timeout from now.
  void PushBounds(Context& context, Duration away);

  /// The held shards, also those that are being given away.
  const HeldShards& held() const { return held_; }
  const FailedActivations& failed() const { return failed_; }
  /// An operator asks for a retry: see FailedActivations::RetryNow. If the shard waits for a retry,
  /// the next Advance tries it, unless no retry may run then. REQUIRES (checked):
  /// failed().Has(shard).
  void RetryNow(ShardId shard) { failed_.RetryNow(shard); }
  /// The external application has ended: see FailedActivations::ForgetApplication. REQUIRES:
  /// LoseAll was called, or follows in this step.
  void ForgetApplication() { failed_.ForgetApplication(); }
  /// The definite outcome of a write by OtherTries. Ignores other operations.
  void OnOtherTries(Context& context, OperationId operation, Outcome outcome) {
    other_tries_.On(context, operation, outcome);
  }
  const Counters& counters() const { return counters_; }
  const StoppingShards& stopping() const { return stopping_; }

 private:
  void Gain(Context& context, ShardId shard, const RecordFact& record);
  void Lose(Context& context, ShardId shard, Reason reason);
  void End(Context& context, ShardId shard, const Held& held, Reason reason);
  void Activate(Context& context, ShardId shard, Held& held, Reason reason);
  void Retry(Context& context);
  void Begin(Context& context, ShardId shard, Held& held, Reason reason);
  bool HasNothingToRelease(ShardId shard, const Held& held) const {
    return !held.activated && (held.activation == 0 || failed_.Late(shard));
  }
  void Activated(Context& context, ShardId shard, Held& held);
  void Report(Context& context, Held& held) {
    if (held.unreported) context.Do(ReportTransition{*held.unreported});
    held.unreported.reset();
  }
  void ConsiderMove(Context& context, ShardId shard, Held& held);
  void ConsiderWaitingMoves(Context& context);
  void BeginRelease(Context& context, ShardId shard, Held& held, Reason reason);
  void Offer(Context& context, ShardId shard, Held& held);
  void OfferUnactivated(Context& context, ShardId shard, Held& held);
  void NotActivated(Context& context, ShardId shard, Held& held, const std::string& error);
  void FinishRelease(Context& context, ShardId shard, Held& held, bool released);
  void LeadAgain(Context& context, ShardId shard, Held& held);
  void SubmitTransfers(Context& context);
  void AskToResign(Context& context, ShardId shard, Held& held, Reason reason);
  void CheckBounds(Context& context);
  void Settle(Context& context, ShardId shard, Outcome outcome, OperationId operation);
  Reason LossReason(const Context& context, ShardId shard) const;

  HeldShards held_;
  Transfers transfers_;        ///< offers are in phase Released
  std::set<ShardId> waiting_;  ///< shards with a move that could not begin when it came
  /// A member changed, so any move may have become possible or void.
  bool members_changed_ = false;
  FailedActivations failed_;
  OtherTries other_tries_;
  std::set<ShardId> watched_;                ///< shards with a callback that has a timeout
  TimePoint next_bound_ = TimePoint::max();  ///< not later than the earliest of these timeouts
  StoppingShards stopping_;
  Resignations resignations_;
  Counters counters_;
};

}  // namespace baton::core
