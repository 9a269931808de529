// Prepares: shards that a planned move will give to this node. The application loads their state,
// and the node says "prepared" with its session; only then does the leader let go.
//
// Pure and single-threaded: owned by the core.
#pragma once

#include <map>
#include <set>
#include <vector>

#include "core/context.h"

namespace baton::core {

class Prepares {
 public:
  struct Counters {
    std::uint64_t failed = 0;
    std::uint64_t timed_out = 0;
  };

  /// Returns false where the operation is not one of these.
  bool On(Context& context, const CallbackReturned& event);
  bool On(Context& context, OperationId operation, const Write& write, Outcome outcome);
  /// What the view learnt: which moves are to be thought over.
  void Note(const Touched& touched) { changed_.Note(touched); }
  /// Begins preparing what is planned, writes what is prepared, gives up what has gone.
  void Advance(Context& context);
  /// The external application can be asked again, `away` later: that is added to what it has left.
  void PushBounds(Duration away);
  /// The session is lost: whatever was prepared for it counts no more.
  void Clear();
  bool empty() const { return preparing_.empty(); }
  const Counters& counters() const { return counters_; }

 private:
  enum class Stage { kCallback, kReady, kFailed, kWriting, kWritten };
  struct Preparing {
    Term ends;  ///< which move: a shard's next one ends another term
    OperationId callback = 0;
    Stage stage = Stage::kCallback;
    OperationId write = 0;  ///< where kWriting: which one says so
    TimePoint since{};
    TimePoint deadline{};
    std::string failure;
  };

  bool Wanted(const Context& context, const MoveFact& move) const;
  void Begin(Context& context, const MoveFact& move);
  void DropGone(const Context& context);
  void DropIfGone(const Context& context, ShardId shard);
  void BeginIfPlanned(Context& context, ShardId shard);
  void CheckBounds(Context& context);
  void WriteReady(Context& context);
  bool WriteBatch(Context& context);

  std::map<ShardId, Preparing> preparing_;
  ChangedShards changed_;  ///< whose moves are to be thought over
  std::set<OperationId> writing_;
  TimePoint write_not_before_{};  ///< after a refusal
  Counters counters_;
};

}  // namespace baton::core
