// StandbyApplication: what a process's application does for the shards that it stands by for. It
// loads a shard for up to kLoadsMost, and then says that it is ready. As chance has it, it never
// gets so far, takes its word back for a while, or says something of a standby that is over.
//
// Its chance is of its own: other parts of a run draw the same numbers with and without it. For one
// thread.
#pragma once

#include <functional>
#include <map>
#include <optional>
#include <set>

#include "core/events.h"
#include "sim/host.h"
#include "sim/random.h"

namespace baton::sim {

/// How often chance strikes standbys, in a thousand.
struct StandbyFaults {
  int throws = 0;           ///< the callback `standby` throws, and nothing is loaded
  int never = 0;            ///< the shard is never loaded
  int takes_back = 0;       ///< after it was ready, it is not for a while
  int late = 0;             ///< something is said of a standby that is over
  Duration acquires_for{};  ///< at most; what `acquired` takes if the shard is not loaded
};

class StandbyApplication {
 public:
  static constexpr Duration kLoadsMost = seconds(3);
  using Say = std::function<void(const core::StandbyReadySaid&)>;
  StandbyApplication(Host& host, Random random, const StandbyFaults& faults, Say say)
      : host_(host), random_(random), faults_(faults), say_(std::move(say)) {}

  /// The callback `standby`, of this operation. Throws if chance will have it.
  void Begin(ShardId shard, core::OperationId operation);
  /// The standby is over: `standby_ended`, `acquired` or `lost` came.
  void End(ShardId shard);
  /// The state was loaded otherwise: by `prepare`.
  void Prepare(ShardId shard) { prepared_.insert(shard); }
  /// How long `acquired` loads, if it came now.
  Duration Loads(ShardId shard);

  /// Since when it says that it is ready; nullopt: it does not, or does not stand by.
  std::optional<TimePoint> ReadySince(ShardId shard) const;
  /// The last time at which it was ready, in this standby or an earlier one; nullopt: it never was.
  std::optional<TimePoint> LastReady(ShardId shard) const;

 private:
  struct Standby {
    core::OperationId operation = 0;
    std::optional<TimePoint> ready_since;
  };
  void SayOf(ShardId shard, core::OperationId operation, bool ready);
  void Later(Duration delay, ShardId shard, core::OperationId operation, bool ready);
  void Loaded(ShardId shard, core::OperationId operation);

  Host& host_;
  Random random_;
  const StandbyFaults& faults_;
  const Say say_;
  std::map<ShardId, Standby> standbys_;
  std::map<ShardId, TimePoint> ready_until_;  ///< of those that are not ready now
  std::set<ShardId> prepared_;
};

}  // namespace baton::sim
