// CoreOptions: the core's part of a node's options. This header also has the built-in limits that
// the parts of the core share.
#pragma once

#include <algorithm>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <limits>
#include <optional>
#include <string>

#include "base/clock.h"
#include "base/facts.h"
#include "base/writes.h"

namespace baton::core {

/// How many watch events per second claims may cause in the whole group, summed over the live
/// members. Events of relays' watches don't count. ClaimPace shares this limit among the members; a
/// member whose confirmations are slow uses half of its share. Measured: 500 watchers took 10,000
/// claims (5,000,000 events) in a second, but 1,000 watchers and 100,000 claims at full speed
/// overran etcd.
inline constexpr std::int64_t kEventDeliveriesPerSecond = 2'000'000;

/// The meaning, range and default of most options are in baton/options.h (NodeOptions).
struct CoreOptions {
  std::uint32_t shards = 0;
  HashFunction hash = HashFunction::kMurmur2;
  /// Our member record. The core fills in `present`, session, lease, ttl, state, unhealthy,
  /// failing, ready, assignment_version and `external`, and ignores what is set here in these
  /// fields. An operator may change weight and labels (NodeChangeRequested).
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
  /// False: there is neither a listener nor an application, and each callback counts as returned at
  /// once.
  bool has_listener = true;
  /// True: another process acts on the shards that this node leads, and the node sends it
  /// deadlines. ApplicationChanged says whether that process is attached. The member record says
  /// `external` before the node sends the first deadline.
  bool external = false;
  /// Sessions of earlier processes of this node. The state directory proved that these processes
  /// are dead. If one of these sessions holds the node's member key, this node takes the key over
  /// at once, but not if the key's record can't be read or says `external`. There may be several
  /// such sessions: a process may have died after it recorded its session, but before it got the
  /// key. Then the session of the process before it still holds the key.
  std::vector<SessionId> proven_dead;
  /// The sessions of `proven_dead` on whose leaderships surely no other process acts. This node
  /// waits for no lock delay before it claims the shards that these sessions led last.
  std::vector<SessionId> stopped_sessions;
  /// The highest revision at which this node ever committed, from the state directory; 0: unknown.
  Revision highest_committed;
  /// Advice to an operator. It is the end of the message with which this node halts if its commits
  /// show that etcd went back in time.
  std::string went_back_advice;
  /// The name of the group's config in etcd, for messages.
  std::string config_key = "config";
  /// REQUIRED (checked). Returns random 64-bit numbers, for lease ids and for the jitter of
  /// backoffs.
  std::function<std::uint64_t()> random;
  /// Returns the wall clock's time. Only DeathBackoff uses it. Unset: the time is unknown.
  std::function<WallTime()> wall_clock;
  /// The limit for claims: see kEventDeliveriesPerSecond. It must be the same on all nodes. Only
  /// tests change it, because small groups never reach it. REQUIRES (not checked): > 0.
  std::int64_t event_deliveries_per_second = kEventDeliveriesPerSecond;
};

/// The version of the assignment's rules. Each member announces it in its record. A version of
/// Baton that changes the rules raises it, so that nodes can see which members don't know the new
/// rules yet.
inline constexpr std::uint32_t kAssignmentVersion = 1;

/// A node stops leading this share of the TTL before its lease can expire (1/20 = 5 %), because the
/// clocks of node and etcd may run at different rates. Clocks that NTP disciplines differ far less
/// (it slews by at most 0.05 %), and the margin costs little.
inline constexpr int kMarginDivisor = 20;
constexpr Duration Margin(Duration ttl) { return ttl / kMarginDivisor; }

/// The most batches of claims, and of transfers, that a node has in flight. Measured on etcd 3.4.23
/// and 2 cores: claims of 10,000 shards reached 0.70 of the rate of bare transactions with four
/// batches, 0.76 with six and 0.72 with eight (medians of 9). A second transfer batch would only
/// queue inside etcd.
inline constexpr std::size_t kClaimBatchesInFlight = 6;
inline constexpr std::size_t kTransferBatchesInFlight = 1;
/// The most shards in a batch of transfers; a transaction could take more. Each shard of a batch
/// has no leader until the whole batch is committed and seen, so small batches are better for a
/// shard. But then there are more batches, so the whole drain takes longer. Measured with drains of
/// 333 shards (medians of 15 drains each, 2 cores of an AMD EPYC):
///  - 62 at once: a shard had no leader for 4.4, 4.4 and 5.1 ms (p99); the drain took 32 to 38 ms.
///  - 48 at once: no leader for 3.5, 4.0, 4.3 and 4.8 ms; the drain took 35 to 37 ms.
///  - 42 at once: no leader for 3.3, 4.1 and 4.4 ms; the drain took 31 to 42 ms.
///
/// On 2 slower cores of a Xeon a drain took 39 to 43 ms with 62 and 50 to 56 ms with 42.
inline constexpr std::size_t kTransfersAtOnce = 48;
/// The most batches of resignations in flight.
inline constexpr std::size_t kResignBatchesInFlight = 4;
/// The most batches of moves that the balancer plans at once, and the most batches of "prepared"
/// and "void" that a target has in flight.
inline constexpr std::size_t kMoveBatchesAtOnce = 4;
/// How long a transfer waits for other shards that are being prepared, if no transfer is in flight.
/// This is longer than a few commits take, and short enough not to matter, because the shards are
/// led meanwhile.
inline constexpr Duration kGatherPrepared = std::chrono::milliseconds(25);

/// The first and the longest backoff before a write of unknown outcome is sent again, and before a
/// refused claim, lease or member key is tried again. The backoff doubles each time. (A session
/// sends its own writes again every 200 ms: see session.h.)
inline constexpr Duration kMinRetryPause = std::chrono::milliseconds(50);
inline constexpr Duration kMaxRetryPause = std::chrono::seconds(2);
/// If a transfer's outcome is still unknown this long after it was sent, the handoff is given up.
/// Usually a copy of the transfer is answered earlier, unless etcd refuses all copies.
inline constexpr Duration kGiveUpTransferAfter = std::chrono::seconds(1);
/// How many retries of `acquired` may run at once. Retries that exceed their timeout don't count.
/// But no retry begins while twice this number run, late ones included. On a node that has had no
/// success, or none since it was last failing, no first try begins while this many first tries run,
/// late ones included. The number is a quarter of the callback threads that a node may have
/// (runtime/dispatcher.h). So callbacks that hang don't hold up the others.
inline constexpr std::size_t kMaxRetries = 64;
/// After a success, no first try of `acquired` begins while this many tries run on a node and have
/// not exceeded their timeouts. This is three quarters of the callback threads that a node may
/// have. If the application is another process, this bound does not count.
inline constexpr std::size_t kMaxTries = 192;
/// A node is failing if this many shards began to fail on it and no `acquired` has succeeded since.
/// If it has started over (see kFirstFailingFor), one shard is enough.
inline constexpr std::size_t kShardsBeforeFailing = 3;
/// A node that has been failing for this time says so in its member record. Often a success ends
/// the failing earlier: if many shards move to a healthy node at once, those that fail on every
/// node arrive first, because their leaders have nothing to release.
inline constexpr Duration kFailingBeforeSaid = std::chrono::seconds(1);
/// How many first tries of shards run at once on a node without a success. One success ends this
/// bound. So a healthy node loses only the time of the fastest of these callbacks, once. A broken
/// node fails these shards and few others.
inline constexpr std::size_t kFirstTriesUnproven = 16;
/// How many first tries of shards run at once while a node is failing. With one alone, a shard that
/// can't succeed anywhere could keep the node from the shards that would succeed.
inline constexpr std::size_t kFirstTriesFailing = 2;
inline constexpr std::size_t kUnbounded = std::numeric_limits<std::size_t>::max();
/// How long a node without any success counts as failing. After this time it starts over: it takes
/// one moved shard, to see whether the cause is gone. That costs the shard a second or two. The
/// node then also claims its part of the vacancies, and tries one shard alone at first. If that
/// try fails, the node is failing again, and gives the others away.
///
/// This time is kFirstFailingFor at first. It doubles with each further time without a success in
/// between, up to kFailingFor. It is short at first, because a healthy node that got a few hopeless
/// shards looks the same as a broken one. But it is always kFailingFor while the node has shards
/// that it has not tried, or while the failures are common.
inline constexpr Duration kFirstFailingFor = std::chrono::seconds(10);
inline constexpr Duration kFailingFor = std::chrono::minutes(10);
/// If the member record is wrong only about `failing`, or only about `failing` and `ready`, its
/// update waits until this time has passed since its last update of any kind. If state, health,
/// weight or labels are wrong, too, the update does not wait for this.
inline constexpr Duration kSayFailingEvery = std::chrono::seconds(1);
/// How long a node waits between two changes of what its member record says about ready standbys.
/// `members`: how many live members the group has. `shards`: for how many shards the node is ready.
/// Each member reads each change, and each change has the whole list: a byte or two for each shard.
/// So the whole group writes about 20 such changes a second at most, and each node about a kilobyte
/// a second. With up to 20 members and a short list, a node writes a change after about a second.
/// Otherwise it writes more rarely.
constexpr Duration SayReadyEvery(std::size_t members, std::size_t shards) {
  const Duration by_members = std::chrono::milliseconds(50) * static_cast<std::int64_t>(members);
  const Duration by_length = std::chrono::milliseconds(1) * static_cast<std::int64_t>(shards);
  return std::max<Duration>(std::chrono::seconds(1), by_members) + by_length;
}
/// If the application says that it is no longer ready for a shard, others must soon know: a
/// takeover by this node would have to load the shard first. So the node writes this change as soon
/// as kTakeReadyBackWithin has passed since it last wrote its list. If the next change also takes
/// readiness back, it waits twice as long, and so on, up to SayReadyEvery. So a node that takes
/// readiness back again and again writes no more often than others in the end. The wait is
/// kTakeReadyBackWithin again after a change of another kind, or after about twice SayReadyEvery
/// without a change.
inline constexpr Duration kTakeReadyBackWithin = std::chrono::seconds(1);
/// Another node may try a shard if `acquired` has failed this many times (or exceeded its timeout),
/// and kOtherTryAfter has passed since the first failure. If the cause is common, most nodes are
/// failing by then, and nothing moves.
inline constexpr std::uint32_t kFailuresBeforeOtherTry = 3;
inline constexpr Duration kOtherTryAfter = std::chrono::seconds(2);
/// For this time after the end of a common cause, no node plans other tries. When the cause ends,
/// some nodes succeed earlier than others. The others call `acquired` again within 5 s, the longest
/// backoff. A node that starts over (see kFirstFailingFor) also plans no other tries for this time.
inline constexpr Duration kOtherTryAfterCommonCause = std::chrono::seconds(6);
/// A node looks for shards that another node should try at most once in this time.
inline constexpr Duration kOtherTriesEvery = std::chrono::milliseconds(50);
/// If the assignment gives vacancies to a node, and the node claims nothing for this long (plus the
/// time that the pace of claims needs), the first node in line claims in its place. If some are
/// left, the second node in line claims them after twice this time more, the third after four times
/// this time more, and so on (succession.h).
inline constexpr Duration kPassOverAfter = std::chrono::seconds(1);
/// A member is unsteady if each of its last kFlapsAfter sessions was short. When it comes again, it
/// gets nothing for a delay: kUnsteadyDelay at first, and twice as long after each further short
/// session, up to kMaxUnsteadyDelay. A session is short if it lasted less than max(kShortSession,
/// the member's delay) + its TTL. Members with longer sessions need no such rule, because the
/// membership is quiet for long enough between their sessions' ends. Rolling restarts, which take a
/// node away once or twice, make no member unsteady. Short sessions are counted up to
/// kMaxShortSessions.
inline constexpr int kFlapsAfter = 3;
inline constexpr Duration kShortSession = std::chrono::seconds(10);
inline constexpr Duration kUnsteadyDelay = std::chrono::seconds(5);
inline constexpr Duration kMaxUnsteadyDelay = std::chrono::minutes(5);
inline constexpr int kMaxShortSessions = 100;
/// The core remembers facts of this many nodes, more than a group has members. Beyond that it
/// forgets the node that has been away for longest.
inline constexpr std::size_t kMaxNodesRemembered = 4096;
/// If the group's config is bad, a node that is no member, or a relay, waits at least this long for
/// the members to put the last good config back. Then it halts (ConfigKeeper has the exceptions).
inline constexpr Duration kConfigPatience = std::chrono::seconds(10);
/// A leadership that ended in a death within kShortLeadership counts against its shard. After
/// kDeathsBeforeWaiting such deaths in a row, nobody claims the shard for up to kFirstClaimWait.
/// Each further death doubles this wait, up to kMaxClaimWait. A single such death may be an
/// accident. Counts end at kMaxDeathsCounted.
inline constexpr Duration kShortLeadership = std::chrono::seconds(60);
inline constexpr std::uint32_t kDeathsBeforeWaiting = 2;
inline constexpr Duration kFirstClaimWait = std::chrono::seconds(1);
inline constexpr Duration kMaxClaimWait = std::chrono::minutes(5);
inline constexpr std::uint32_t kMaxDeathsCounted = 1000;
/// If a watch is behind the confirmed revision and delivers nothing new for this long, it is opened
/// on another endpoint. The first kEndpointsAtOnce endpoints in a row get this time each (most
/// clusters have no more members). For each further one the time doubles, up to
/// kMaxWatchStandsStill, so that even a large message has the time to arrive.
inline constexpr Duration kWatchStandsStill = std::chrono::seconds(2);
inline constexpr Duration kMaxWatchStandsStill = std::chrono::seconds(32);
inline constexpr int kEndpointsAtOnce = 3;
/// A member reads all keys of the group again at most this long after its last read, because a
/// watch of etcd may miss a deletion around a compaction. A node without an application does the
/// same while the config fits. Any other node without a session reads them at most a TTL after its
/// last read, or after the end of its session if that was later. Each node has its own interval:
/// three quarters of these times, or more. A relay's interval is this time, or up to a quarter
/// more.
inline constexpr Duration kAuditEvery = std::chrono::minutes(10);

}  // namespace baton::core
