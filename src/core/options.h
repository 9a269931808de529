// CoreOptions: the core's part of a node's options, and the bounds it keeps by itself.
#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "base/clock.h"
#include "base/facts.h"
#include "base/writes.h"
#include "core/division.h"

namespace baton::core {

struct CoreOptions {
  std::uint32_t shards = 0;
  HashFunction hash = HashFunction::kMurmur2;
  /// Our member value as it should read; session, lease, ttl, state, the division's number and
  /// `external` are the core's to fill in.
  MemberFact self;
  std::chrono::seconds ttl{10};
  std::uint32_t expect_nodes = 1;
  /// The division functions that this node can run, by number, at least one.
  std::vector<DivisionFunction> divisions = std::vector<DivisionFunction>(1, kFirstDivision);
  Duration settle = std::chrono::seconds(2);
  Duration rebalance_delay = std::chrono::seconds(5);
  std::uint32_t max_moves = 64;
  Duration cooldown = std::chrono::seconds(30);
  Duration prepare_timeout = std::chrono::seconds(30);
  Duration release_timeout = std::chrono::seconds(30);
  Duration callback_timeout = std::chrono::seconds(30);
  Duration drain_timeout = std::chrono::seconds(30);
  /// Without a listener callbacks count as returned at once, and none is asked for.
  bool has_listener = true;
  /// Another process acts on what this node leads, and is told deadlines (ApplicationChanged says
  /// whether it is there). The member value says so before any deadline is told.
  bool external = false;
  /// The predecessor's session, where the state directory proved its process dead.
  std::optional<SessionId> proven_dead;
  /// The highest revision a commit of ours had, as the state directory says; 0: unknown.
  Revision highest_committed;
  /// Random 64-bit numbers: lease ids and jitter.
  std::function<std::uint64_t()> random;
};

/// Schema of records this version writes and understands.
inline constexpr std::uint32_t kSchema = 1;

/// Clock rates of node and etcd may differ by this share of the TTL (1/20 = 5 %): far beyond any
/// disciplined clock (NTP slews by at most 0.05 %), and cheap.
inline constexpr int kMarginDivisor = 20;
constexpr Duration Margin(Duration ttl) { return ttl / kMarginDivisor; }

/// Transactions in flight, as measured on etcd 3.4.23 and 2 cores: claims of 10,000 shards ran at
/// 0.70 of bare transactions with four batches, at 0.76 with six and at 0.72 with eight (medians of
/// 9); more than one transfer batch only queues inside etcd.
inline constexpr std::size_t kClaimBatchesInFlight = 6;
inline constexpr std::size_t kTransferBatchesInFlight = 1;
/// Fewer than a transaction takes: each shard of a batch has no leader until all of it is committed
/// and seen, while more batches make the wave longer. 333 shards: without a leader p99 4.4, 4.4 and
/// 5.1 ms with 62 at once, 3.5, 4.0, 4.3 and 4.8 ms with this many, 3.3, 4.1 and 4.4 ms with 42; in
/// all 32 to 38, 35 to 37 and 31 to 42 ms (medians of 15 drains each; 2 cores of an AMD EPYC). On
/// 2 slower cores of a Xeon a wave took 39 to 43 ms with 62 and 50 to 56 with 42.
inline constexpr std::size_t kTransfersAtOnce = 48;
inline constexpr std::size_t kResignBatchesInFlight = 4;
inline constexpr std::size_t kMoveBatchesAtOnce = 4;
/// How long the first transfer of a wave waits for other shards that are being prepared. Longer
/// than a few commits, shorter than anybody minds: the shards are led meanwhile.
inline constexpr Duration kGatherPrepared = std::chrono::milliseconds(25);

/// Events times watchers a second that claims may cause in the whole group; each live member has an
/// equal share, and a tenth of it may come at once. 500 watchers took 10,000 claims (5,000,000
/// deliveries) in a second; 1,000 watchers and 100,000 claims at full speed overran etcd. Halved
/// while confirmations are slow.
inline constexpr std::int64_t kEventDeliveriesPerSecond = 2'000'000;

/// Waiting before an unknown write is sent again, and before a refused claim, lease or member key
/// is thought over; doubled each time.
inline constexpr Duration kRetryFirst = std::chrono::milliseconds(50);
inline constexpr Duration kRetryMost = std::chrono::seconds(2);
/// A successor that claims nothing for this long, and the pace of claims, is passed over (doubled
/// each time).
inline constexpr Duration kPassOverAfter = std::chrono::seconds(1);
/// A watch that stands still below the confirmed revision for this long is opened elsewhere.
inline constexpr Duration kWatchStandsStill = std::chrono::seconds(2);
/// The whole view is read again this often, to repair what a server lost around a compaction.
inline constexpr Duration kAuditEvery = std::chrono::minutes(10);

}  // namespace baton::core
