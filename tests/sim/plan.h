// Plan: what one seed draws before anything happens: sizes, times, etcd's personality, and the
// subset of mishaps that can happen in this run. Small subsets find what large ones hide.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "base/node_change.h"
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
  kStrike,  ///< waits until a process is in the middle of something
  kSeldom,  ///< arranges one of the coincidences that hardly ever happen by chance
  // These come only as parts of others.
  kStuckRecovers,  // 3.4.23 alone
  kLateTakeover,   // 3.4.23 alone
  kBadNetwork,
  kCommitsStall,  ///< drawn by itself (stalls.cc)
};
inline constexpr int kMishaps = static_cast<int>(Mishap::kCommitsStall) + 1;

/// Smaller seeds draw no stalls, so they are as they were before there were any: the mutants'
/// bounds, the fixed seeds and the fuzzer's corpus are seeds of these.
inline constexpr std::uint64_t kFirstSeedWithStalls = 100'000;
/// The seeds from here on, below the end, draw orders for nodes and operators who ask nodes.
inline constexpr std::uint64_t kFirstSeedWithOperators = 100'000;
inline constexpr std::uint64_t kEndOfSeedsWithOperators = 1'000'000;

/// False if only 3.4.23 does this, and the personality is another one.
bool Possible(Mishap mishap, Personality personality);
/// "pause", ...
const char* ToString(Mishap mishap);

/// When an operator changes the group's failover settings, and to what.
struct FailoverChange {
  Duration at{};
  FailoverSettings settings;
};

/// When an operator changes the group's placement rules, and to what.
struct PlacementChange {
  Duration at{};
  Placement placement;
};

/// When an operator changes the group's limits of planned moves, and how.
struct LimitsOrder {
  Duration at{};
  LimitsChange limits;
};

/// When an operator changes a node's weight or labels, and how.
struct NodeOrder {
  Duration at{};
  std::size_t machine = 0;
  NodeChange change;
};

struct Plan {
  std::uint64_t seed = 0;
  int nodes = 0;
  core::CoreOptions core;
  bool state_directories = true;
  int guards = 0;       ///< of each machine
  bool health = false;  ///< applications are now and then not healthy, or give no sign of life
  std::vector<FailoverChange>
      failover;                 ///< empty: the group fails over at once; so it does in calm
  bool failover_given = false;  ///< it was not drawn, and is set at once
  /// Empty: there are no rules. Otherwise machines have zones.
  std::vector<PlacementChange> placement;
  Placement placement_in_calm;  ///< lets all nodes lead all shards; it may ask for standbys
  Placement placement_to_rest;  ///< in place of it, until the group first rests; empty: none
  bool standbys = false;        ///< some of these rules ask for standbys
  /// In the order of time. If it is not empty, some rules want a label that these orders set, and
  /// some node has it once all are carried out.
  std::vector<NodeOrder> node_orders;
  /// The operator sets the group's settings and releases shards by asking a node, as batonctl does.
  /// Otherwise, and if the settings are not there after a while, they are written to etcd.
  bool operator_asks = false;
  std::vector<LimitsOrder> limits;  ///< empty: each node has its own limits alone; so it is in calm
  Duration stall_gap_most{};        ///< between two stalls of etcd's commits; 0: there are none
  bool leaders_crash = false;       ///< again and again, besides the mishaps; no seed draws it
  /// Each machine is hit by so many storms (storms.cc), and there are no mishaps. 0: no storms.
  int storms = 0;
  int next_version = 0;  ///< of a thousand machines, this many run a later version
  /// When a rolling upgrade to the next version begins, and one back. Without them machines keep
  /// their version.
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
  Duration gap_most{};  ///< between two mishaps
  int bursts = 0;       ///< of a thousand mishaps, this many follow at once
};

Plan DrawPlan(std::uint64_t seed);
/// Of a run with storms: a small group with short leases, whose etcd is well.
Plan DrawStormPlan(std::uint64_t seed);

/// The zone of the n-th machine, counted from 1, if there are rules.
std::string ZoneOf(int machine);

}  // namespace baton::sim
