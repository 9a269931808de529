// Leaderships: the shards this node leads, from gaining to giving away.
//
// The rules it keeps (each found by model checking):
//  - A record that names this node and its present session is this node's leadership, whoever wrote
//    it; any other content ends it.
//  - Before a write that gives a shard away is sent, Leads() turns false; it stays false until that
//    write's fate is definite. "Refused" is not "still mine": the read-back decides.
//  - A handoff given up with a write of unknown fate first commits an abandon, and leads again with
//    the new term.
//
// Pure and single-threaded: owned by the core.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <variant>
#include <vector>

#include "core/context.h"

namespace baton::core {

class Leaderships {
 public:
  /// A handover under way: the callback `releasing` runs. Still leads.
  struct Releasing {
    OperationId callback = 0;
    TimePoint deadline{};
    TimePoint since{};
  };
  /// Waits for a place in a transfer, or for its resignation. Still leads.
  struct Released {};
  /// A transfer is out, its fate not definite. Does not lead.
  struct Giving {
    OperationId write = 0;
    TimePoint since{};
  };
  /// A resignation is out. Does not lead.
  struct Resigning {
    OperationId write = 0;
    Reason reason = Reason::kShutdown;
  };
  /// The transfer of unknown fate is given up; an abandon decides. Does not lead.
  struct Abandoning {
    OperationId write = 0;
    OperationId transfer = 0;  ///< the one given up
  };
  struct Leading {};
  using Phase = std::variant<Leading, Releasing, Released, Giving, Resigning, Abandoning>;

  struct Held {
    Term term;
    Phase phase = Leading{};
    bool activated = false;
    OperationId activation = 0;  ///< the `acquired` under way; 0: none
    TimePoint activation_deadline = TimePoint::max();
    TimePoint gained_at{};
    TimePoint give_not_before{};    ///< after a refused transfer: the view may lag behind etcd
    TimePoint resign_not_before{};  ///< after a refused resignation
    bool resigning = false;         ///< released by an external application, to be resigned
    std::optional<Transition> unreported;  ///< until activation tells its length
    bool MayLead() const {
      return std::holds_alternative<Leading>(phase) || std::holds_alternative<Releasing>(phase) ||
             std::holds_alternative<Released>(phase);
    }
  };

  struct Counters {
    std::uint64_t callbacks_timed_out = 0;
    std::uint64_t callbacks_failed = 0;
    std::uint64_t moves_done = 0;
    std::uint64_t moves_refused = 0;
    std::uint64_t moves_timed_out = 0;
  };

  /// Brings what is held in line with the view, where it changed.
  void Reconcile(Context& context, const Touched& touched);
  /// Returns false where the operation is not one of these.
  bool On(Context& context, const CallbackReturned& event);
  bool On(Context& context, OperationId operation, const Write& write, const WriteResult& result);
  /// Time-outs, transfers, abandons.
  void Advance(Context& context);

  /// Ends every leadership at once, without a write: the session is lost or ends.
  void LoseAll(Context& context, Reason reason);
  /// Resigns shards that are not already being given away, as many as may be under way at once; to
  /// be called again until none is held. An external application is asked to release them first.
  void ResignAll(Context& context, Reason reason);
  /// Past the deadline, and back.
  void SuspendAll(Context& context);
  void ResumeAll(Context& context, Duration gap);

  /// An external application is asked to release shards that are to be resigned.
  bool Asking(const Context& context) const;
  /// Some were asked for, to be resigned: ResignAll is to be called until they are.
  bool Resigns() const;
  /// The external application can be asked again, `away` later: that is added to what it has left.
  void PushBounds(Context& context, Duration away);

  const std::map<ShardId, Held>& held() const { return held_; }
  const Counters& counters() const { return counters_; }
  /// `lost` for this shard has been asked for and has not returned.
  bool Stopping(ShardId shard) const { return stopping_.contains(shard); }

 private:
  void Gain(Context& context, ShardId shard, const RecordFact& record);
  void Lose(Context& context, ShardId shard, Reason reason);
  void Activate(Context& context, ShardId shard, Held& held);
  void Activated(Context& context, ShardId shard, Held& held);
  void Report(Context& context, Held& held);
  void ConsiderMove(Context& context, ShardId shard, Held& held);
  void ConsiderWaitingMoves(Context& context);
  void BeginRelease(Context& context, ShardId shard, Held& held, Reason reason);
  void FinishRelease(Context& context, ShardId shard, Held& held);
  void LeadAgain(Context& context, ShardId shard, Held& held);
  bool MorePrepare(const Context& context) const;
  void SendTransfers(Context& context);
  void GiveUpVoidTransfers(Context& context);
  void Resign(Context& context, const std::vector<ShardId>& shards, Reason reason);
  void ResignDenied(Context& context);
  void AskToResign(Context& context, ShardId shard, Held& held, Reason reason);
  void CheckBounds(Context& context);
  void Settle(Context& context, ShardId shard, Outcome outcome, OperationId operation);
  bool StillGiven(const Context& context, ShardId shard, const Held& held) const;
  Reason LossReason(const Context& context, ShardId shard) const;

  std::map<ShardId, Held> held_;
  std::set<ShardId> released_;               ///< in phase Released, by number
  std::set<ShardId> waiting_;                ///< with a move that could not begin where it came
  bool members_changed_ = false;             ///< a target may have come or gone: any move
  std::set<ShardId> denied_;                 ///< whose resignation for a callback was refused
  std::set<ShardId> watched_;                ///< with a callback that has a bound
  TimePoint next_bound_ = TimePoint::max();  ///< not later than the earliest of these
  std::map<OperationId, ShardId> stopping_by_operation_;
  std::set<ShardId> stopping_;
  std::set<OperationId> transfers_;  ///< in flight
  std::set<OperationId> resigns_;    ///< in flight
  TimePoint gather_until_{};         ///< how long the first transfer of a wave waits
  Counters counters_;
};

}  // namespace baton::core
