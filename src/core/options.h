// CoreOptions: the core's part of a node's options; and the limits that are built in.
#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <limits>
#include <optional>
#include <string>

#include "base/clock.h"
#include "base/facts.h"
#include "base/writes.h"

namespace baton::core {

/// How many watch events per second, summed over all watchers, claims may cause in the whole group.
/// ClaimPace shares it among the members. 500 watchers took 10,000 claims (5,000,000 events) in a
/// second; 1,000 watchers and 100,000 claims at full speed overran etcd. While confirmations are
/// slow, the limit is halved.
inline constexpr std::int64_t kEventDeliveriesPerSecond = 2'000'000;

struct CoreOptions {
  std::uint32_t shards = 0;
  HashFunction hash = HashFunction::kMurmur2;
  /// Our member record. The core fills in session, lease, ttl, state, division_version and
  /// `external`.
  MemberFact self;
  std::chrono::seconds ttl{10};
  std::uint32_t expect_nodes = 1;
  Duration settle = std::chrono::seconds(2);
  Duration rebalance_delay = std::chrono::seconds(5);
  std::uint32_t max_moves = 64;
  Duration cooldown = std::chrono::seconds(30);
  Duration prepare_timeout = std::chrono::seconds(30);
  Duration release_timeout = std::chrono::seconds(30);
  Duration callback_timeout = std::chrono::seconds(30);
  Duration drain_timeout = std::chrono::seconds(30);
  /// False: there are no callbacks to run, and each counts as returned at once.
  bool has_listener = true;
  /// True: another process acts on the shards that this node leads, and the node sends it
  /// deadlines. ApplicationChanged says whether that process is attached. The member record says
  /// `external` before the node sends the first deadline.
  bool external = false;
  /// The last sessions of earlier processes of this node that the state directory proved dead: any
  /// of them may hold the member key, if a process died before it got the key.
  std::vector<SessionId> proven_dead;
  /// The highest revision at which this node ever committed, from the state directory; 0: unknown.
  Revision highest_committed;
  /// The advice to an operator if etcd went back in time. It ends the message of the node that
  /// halts.
  std::string went_back_advice;
  /// The name of the group's config in etcd, for messages.
  std::string config_key = "config";
  /// Returns random 64-bit numbers, for lease ids.
  std::function<std::uint64_t()> random;
  /// Returns the wall clock's time. Only DeathBackoff uses it; unset: unknown.
  std::function<WallTime()> wall_clock;
  /// Of the whole group, the same on all nodes. Only tests change it: small groups never reach it.
  std::int64_t event_deliveries_per_second = kEventDeliveriesPerSecond;
};

/// The number of the assignment's rules, which members announce. If later rules differ, a node can
/// tell by it which members can't run them yet.
inline constexpr std::uint32_t kAssignmentVersion = 1;

/// The clock rates of node and etcd may differ by this share of the TTL (1/20 = 5 %). That is far
/// more than any disciplined clock does (NTP slews by at most 0.05 %), and costs little.
inline constexpr int kMarginDivisor = 20;
constexpr Duration Margin(Duration ttl) { return ttl / kMarginDivisor; }

/// The most transactions in flight. Measured on etcd 3.4.23 and 2 cores. Claims of 10,000 shards
/// reached 0.70 of the rate of bare transactions with four batches, 0.76 with six and 0.72 with
/// eight (medians of 9). A second transfer batch would only queue inside etcd.
inline constexpr std::size_t kClaimBatchesInFlight = 6;
inline constexpr std::size_t kTransferBatchesInFlight = 1;
/// The most shards in a batch of transfers; a transaction could take more. Each shard of a batch
/// has no leader until the whole batch is committed and seen, but more batches make the wave
/// longer. Measured with 333 shards (medians of 15 drains each, 2 cores of an AMD EPYC):
///  - 62 at once: no leader for 4.4, 4.4 and 5.1 ms (p99), in all 32 to 38 ms.
///  - 48 at once: 3.5, 4.0, 4.3 and 4.8 ms, in all 35 to 37 ms.
///  - 42 at once: 3.3, 4.1 and 4.4 ms, in all 31 to 42 ms.
///
/// On 2 slower cores of a Xeon a wave took 39 to 43 ms with 62 and 50 to 56 ms with 42.
inline constexpr std::size_t kTransfersAtOnce = 48;
inline constexpr std::size_t kResignBatchesInFlight = 4;
inline constexpr std::size_t kMoveBatchesAtOnce = 4;
/// How long the first transfer of a wave waits for other shards that are being prepared. This is
/// longer than a few commits take, and short enough not to matter, because the shards are led
/// meanwhile.
inline constexpr Duration kGatherPrepared = std::chrono::milliseconds(25);

/// The first and the longest backoff before an unknown write is sent again, and before a refused
/// claim, lease or member key is tried again. The backoff doubles each time.
inline constexpr Duration kMinRetryPause = std::chrono::milliseconds(50);
inline constexpr Duration kMaxRetryPause = std::chrono::seconds(2);
/// If a transfer's outcome is still unknown after this time, the handoff is given up. The first
/// copies take less, unless etcd refuses them all.
inline constexpr Duration kGiveUpTransferAfter = std::chrono::seconds(1);
/// How many retries of `acquired` may run at once, and how many first tries may hang on a failing
/// node. It is a quarter of the threads that run callbacks (see Dispatcher::kMaxThreads), so that
/// hanging callbacks don't hold up the others.
inline constexpr std::size_t kMaxRetries = 64;
/// A node is failing if this many shards began to fail on it and no `acquired` has succeeded since.
inline constexpr std::size_t kShardsBeforeFailing = 3;
/// How long that lasts before it says so. Shards that fail have nothing to release, so of all that
/// move at once they come first.
inline constexpr Duration kFailingBeforeSaid = std::chrono::seconds(1);
/// How many shards a node tries at once for the first time until one has succeeded. One success
/// ends this, so it costs a healthy node the time of the fastest of these callbacks, once. A broken
/// node fails these shards and few others.
inline constexpr std::size_t kFirstTriesUnproven = 16;
/// How many it tries at once while it is failing. Otherwise shards that can't succeed anywhere
/// could keep it from those that would.
inline constexpr std::size_t kFirstTriesFailing = 2;
inline constexpr std::size_t kUnbounded = std::numeric_limits<std::size_t>::max();
/// How long a node without any success counts as failing: kFailingFor. If it has tried all its
/// shards, and few other nodes are failing, it is kFirstFailingFor at first, and twice as long
/// after each failure, up to kFailingFor: a healthy node that got a few hopeless shards looks the
/// same. After that time it takes one moved shard, to see whether the cause is gone; that costs
/// this shard a second or two. It also claims its part of the vacancies, like any node. Of these,
/// too, it tries one, and gives the others away if that fails.
inline constexpr Duration kFirstFailingFor = std::chrono::seconds(10);
inline constexpr Duration kFailingFor = std::chrono::minutes(10);
/// A failing node says so in its member record, and takes it back, at most this often.
inline constexpr Duration kSayFailingEvery = std::chrono::seconds(1);
/// Another node may try a shard after this many failures of `acquired` and this time. In that time
/// a common cause shows on most nodes, and nothing moves.
inline constexpr std::uint32_t kFailuresBeforeOtherTry = 3;
inline constexpr Duration kOtherTryAfter = std::chrono::seconds(2);
/// When a common cause ends, some nodes succeed before others, which call `acquired` again within
/// 5 s. Until then they keep their shards. So does a node that starts over after kFailingFor.
inline constexpr Duration kOtherTryAfterCommonCause = std::chrono::seconds(6);
/// How often a node looks for shards that another node should try.
inline constexpr Duration kOtherTriesEvery = std::chrono::milliseconds(50);
/// If a successor claims nothing for this long (plus the time that the pace of claims needs), the
/// next in line claims in its place. The time doubles for each further place in the line.
inline constexpr Duration kPassOverAfter = std::chrono::seconds(1);
/// A member is unsteady if each of its last kFlapsAfter sessions ended within a TTL plus
/// kShortSession, or plus its delay at that time if that was longer. When it comes again it gets
/// nothing for kUnsteadyDelay, and for twice as long after each further short session. Rolling
/// restarts take a node away once or twice. With longer sessions than these the membership is quiet
/// for long enough in between.
inline constexpr int kFlapsAfter = 3;
inline constexpr Duration kShortSession = std::chrono::seconds(10);
inline constexpr Duration kUnsteadyDelay = std::chrono::seconds(5);
inline constexpr Duration kMaxUnsteadyDelay = std::chrono::minutes(5);
inline constexpr int kMaxShortSessions = 100;
/// How long a process that can't put the group's config back goes on while it is bad.
inline constexpr Duration kConfigPatience = std::chrono::seconds(10);
/// A leadership that ended in a death within kShortLeadership counts against its shard. From
/// kDeathsBeforeWaiting such deaths in a row on, nobody claims the shard for up to kFirstClaimWait,
/// and for up to twice as long after each further one: kMaxClaimWait at most. A single
/// such death may be an accident.
inline constexpr Duration kShortLeadership = std::chrono::seconds(60);
inline constexpr std::uint32_t kDeathsBeforeWaiting = 2;
inline constexpr Duration kFirstClaimWait = std::chrono::seconds(1);
inline constexpr Duration kMaxClaimWait = std::chrono::minutes(5);
inline constexpr std::uint32_t kMaxDeathsCounted = 1000;
/// If a watch below the confirmed revision delivers nothing new for this long, it is opened on
/// another endpoint. The first kEndpointsAtOnce in a row have this time each, as many as most
/// clusters have members; then it doubles. So the watch goes on if a great message takes long.
inline constexpr Duration kWatchStandsStill = std::chrono::seconds(2);
inline constexpr Duration kMaxWatchStandsStill = std::chrono::seconds(32);
inline constexpr int kEndpointsAtOnce = 3;
/// The whole view is read again this often, to repair what a server lost around a compaction.
inline constexpr Duration kAuditEvery = std::chrono::minutes(10);

}  // namespace baton::core
