// Plan: what one seed draws before anything happens: sizes, times, etcd's
// personality, and the subset of mishaps that this run knows. Small subsets
// find what large ones hide.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "core/options.h"
#include "sim/etcd_model.h"
#include "sim/process.h"

namespace baton::sim {

enum class Mishap : std::uint8_t {
  kPause,
  kKill,
  kStart,
  kDrain,
  kStop,
  kCut,
  kMemberDown,
  kMemberFrozen,
  kMemberIsolated,
  kMemberLags,
  kMoveLeader,
  kQuorumLost,
  kStuckLeader,     // 3.4.23 alone
  kWatchSilent,     // 3.4.23 alone
  kEventsRepeated,  // 3.4.23 alone
  kCompaction,
  kDatabaseFull,  ///< until an operator frees space and disarms the alarm
  kLowLimit,
  kOperatorRevokes,
  kOperatorDeletes,
  kOperatorGarbage,
  kTransfer,
  kPolicy,
  kConnectionLost,
  kTwin,
  kStutter,
  kFlap,
  kTokensRefused,
  kAmbush,
  kBlindTransfer,
  kStrike,  ///< waits for a process to be in the midst of something
  kSeldom,  ///< arranges one of the coincidences that hardly ever come about by themselves
  // These come as parts of others alone.
  kStuckRecovers,  // 3.4.23 alone
  kLateTakeover,   // 3.4.23 alone
  kBadNetwork,
};
inline constexpr int kMishaps = static_cast<int>(Mishap::kBadNetwork) + 1;

/// False for what only 3.4.23 does, elsewhere.
bool Possible(Mishap mishap, Personality personality);
/// "pause", ...
const char* ToString(Mishap mishap);

struct Plan {
  std::uint64_t seed = 0;
  int nodes = 0;
  core::CoreOptions core;
  bool state_directories = true;
  int next_version = 0;  ///< so many of a thousand machines are of a later one
  /// When a rolling upgrade to it begins, and one back; machines keep theirs without.
  std::optional<Duration> upgrade_at;
  std::optional<Duration> downgrade_at;
  Duration roll_every{};  ///< between two machines
  EtcdModelOptions etcd;
  bool lose_deletions = false;
  NetworkFaults network;
  CallbackFaults callbacks;
  Duration app_pause_most{};
  int most_ppm = 0;
  std::vector<Mishap> mishaps;
  Duration troubles{};  ///< how long mishaps go on
  Duration gap_most{};  ///< between two
  int bursts = 0;       ///< so many of a thousand follow at once
};

Plan DrawPlan(std::uint64_t seed);

}  // namespace baton::sim
