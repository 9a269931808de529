#include "core/incoming_moves.h"

#include <utility>

namespace baton::core {

bool IncomingMoves::Wanted(const Context& context, const MoveFact& move) const {
  return move.to == context.self() && context.view.LiveMove(move);
}

void IncomingMoves::Advance(Context& context, const StandbyDuties& standby_duties,
                            const FailedActivations& failed) {
  DropGone(context);
  if (!context.live() || context.draining || !context.attached()) return;
  const std::size_t room = failed.Room(context);
  std::vector<ShardId> last;
  const auto consider = [&](ShardId shard) {
    if (room < kUnbounded && failed.FailedBefore(shard)) return last.push_back(shard);
    BeginIfPlanned(context, shard, standby_duties, room);
  };
  if (changed_.all()) {
    for (const auto& [shard, move] : context.view.moves()) consider(shard);
  } else {
    for (const ShardId shard : changed_.shards()) consider(shard);
  }
  for (const ShardId shard : last) BeginIfPlanned(context, shard, standby_duties, room);
  changed_.Clear();
  if (room < kUnbounded) changed_.SetAll();  // what found no room may find some next time
  CheckStandbys(context, standby_duties);
  CheckBounds(context);
  WriteReady(context);
}

void IncomingMoves::BeginIfPlanned(Context& context, ShardId shard,
                                   const StandbyDuties& standby_duties, std::size_t room) {
  const MoveFact* move = context.view.move(shard);
  if (move == nullptr || move->phase != MovePhase::kPlanned || !Wanted(context, *move)) return;
  if (preparing_.size() >= room && move->reason != Reason::kOperator) return;
  if (!preparing_.contains(shard)) Begin(context, *move, standby_duties.Ready(shard));
}

void IncomingMoves::Begin(Context& context, const MoveFact& move, bool ready) {
  Preparing& preparing = preparing_[move.shard];
  preparing.ends = move.ends;
  preparing.since = context.now;
  preparing.by_standby = ready && context.options.has_listener;
  if (ready || !context.options.has_listener) {
    preparing.stage = Stage::kReady;
    return;
  }
  Prepare(context, move, preparing);
}

void IncomingMoves::Prepare(Context& context, const MoveFact& move, Preparing& preparing) {
  preparing.by_standby = false;
  preparing.stage = Stage::kCallback;
  preparing.deadline = context.now + context.options.prepare_timeout;
  preparing.callback = context.next_operation++;
  context.Do(
      RunCallback{preparing.callback, move.shard, CallbackKind::kPrepare, move.ends, move.reason});
}

// The application may have dropped what it loaded as a standby. While `prepared` is on its way, it
// is not known yet what has to be done.
void IncomingMoves::CheckStandbys(Context& context, const StandbyDuties& standby_duties) {
  for (auto& [shard, preparing] : preparing_) {
    if (!preparing.by_standby || standby_duties.Ready(shard)) continue;
    if (preparing.stage == Stage::kReady) {
      Prepare(context, *context.view.move(shard), preparing);
    } else if (preparing.stage == Stage::kWritten) {
      preparing.by_standby = false;
      preparing.stage = Stage::kFailed;
      preparing.failure = context.self() + " ceased to be a ready standby";
    }
  }
}

// If a move is done, void, replaced or withdrawn, its prepare is dropped. If a move is planned
// again after our result was written, it is prepared again.
void IncomingMoves::DropGone(const Context& context) {
  if (preparing_.empty()) return;
  if (!changed_.all()) {
    for (const ShardId shard : changed_.shards()) DropIfGone(context, shard);
    return;
  }
  for (auto next = preparing_.begin(); next != preparing_.end();) {
    DropIfGone(context, (next++)->first);
  }
}

void IncomingMoves::DropIfGone(const Context& context, ShardId shard) {
  const auto found = preparing_.find(shard);
  if (found == preparing_.end()) return;
  const MoveFact* move = context.view.move(shard);
  const bool same = move != nullptr && move->ends == found->second.ends;
  const bool anew =
      same && found->second.stage == Stage::kWritten && move->phase == MovePhase::kPlanned;
  if (!same || anew || !Wanted(context, *move)) preparing_.erase(found);
}

// Nothing begins while the application is away, so every prepare was interrupted for all of `away`.
void IncomingMoves::PushBounds(Duration away) {
  for (auto& [shard, preparing] : preparing_) preparing.deadline += away;
}

void IncomingMoves::CheckBounds(Context& context) {
  for (auto& [shard, preparing] : preparing_) {
    if (preparing.stage != Stage::kCallback) continue;
    if (context.now < preparing.deadline) {
      context.WakeAt(preparing.deadline);
      continue;
    }
    ++counters_.timed_out;
    preparing.stage = Stage::kFailed;
    preparing.failure = "prepare timed out on " + context.self();
  }
}

void IncomingMoves::WriteReady(Context& context) {
  if (preparing_.empty()) return;
  if (context.now < write_not_before_) return context.WakeAt(write_not_before_);
  while (writing_.size() < kMoveBatchesAtOnce && WriteBatch(context)) {
  }
}

// Returns false if no result is ready.
bool IncomingMoves::WriteBatch(Context& context) {
  MoveBatch batch{.balancer_term = std::nullopt, .target = context.session.guard(), .moves = {}};
  std::vector<Preparing*> sent;
  for (auto& [shard, preparing] : preparing_) {
    const bool ready = preparing.stage == Stage::kReady;
    if (!ready && preparing.stage != Stage::kFailed) continue;
    if (batch.moves.size() >= kMaxMoveWrites) break;
    MoveFact move = *context.view.move(shard);
    const Revision read = move.revision;
    move.phase = ready ? MovePhase::kPrepared : MovePhase::kVoid;
    if (ready) {
      move.prepared_session = context.session.id();
      // A refused "prepared" is written again, and the phase ends once.
      if (!std::exchange(preparing.reported, true)) {
        context.Do(ReportHandoffPhase{"prepare", context.now - preparing.since});
      }
    }
    move.void_reason = preparing.failure;
    sent.push_back(&preparing);
    batch.moves.push_back({std::move(move), read});
  }
  if (sent.empty()) return false;
  const OperationId operation = context.Submit(WriteOwner::kIncomingMoves, std::move(batch));
  writing_.insert(operation);
  for (Preparing* preparing : sent) {
    preparing->stage = Stage::kWriting;
    preparing->write = operation;
  }
  return true;
}

void IncomingMoves::On(const CallbackReturned& event, const NodeId& self) {
  const auto found = preparing_.find(event.shard);
  if (found == preparing_.end() || found->second.callback != event.operation) return;
  Preparing& preparing = found->second;
  if (preparing.stage != Stage::kCallback) return;
  if (event.ok) {
    preparing.stage = Stage::kReady;
  } else {
    ++counters_.failed;
    preparing.stage = Stage::kFailed;
    preparing.failure = "prepare failed on " + self;
  }
}

// Done or refused, the view now has the truth: if the move does not say so, its result is written
// again. A shard whose prepare began again since then has another write.
void IncomingMoves::On(Context& context, OperationId operation, const Write& write,
                       Outcome outcome) {
  if (writing_.erase(operation) == 0) return;
  if (outcome == Outcome::kRefused) write_not_before_ = context.now + kMinRetryPause;
  for (const MoveWrite& written : std::get<MoveBatch>(write).moves) {
    const auto found = preparing_.find(written.move.shard);
    if (found == preparing_.end() || found->second.stage != Stage::kWriting) continue;
    if (found->second.write != operation) continue;
    const MoveFact* move = context.view.move(written.move.shard);
    const bool prepared = written.move.phase == MovePhase::kPrepared;
    const bool there = move != nullptr && move->phase != MovePhase::kVoid;
    if (there && (!prepared || move->phase == MovePhase::kPlanned)) {
      found->second.stage = prepared ? Stage::kReady : Stage::kFailed;
    } else {
      found->second.stage = Stage::kWritten;
    }
  }
}

void IncomingMoves::Clear() {
  preparing_.clear();
  writing_.clear();
  changed_.SetAll();
}

}  // namespace baton::core
