// Faults: what can go wrong in a simulation, and the protocol's phase: what the struck exchange or
// process was doing at that moment. A fault counts when it hits something live. The table of fault
// x phase shows what was tried, which cells can't occur, and why.
//
// Plain values.
#pragma once

#include <array>
#include <cstdint>
#include <initializer_list>
#include <string>
#include <string_view>
#include <vector>

namespace baton::sim {

enum class Fault : std::uint8_t {
  kRequestLost,
  kReplyLost,
  kReplyLate,
  kRequestLate,
  kRequestTwice,
  kConnectionReset,
  kStreamEnded,
  kStreamLate,
  kMessageHeld,  ///< one direction is cut
  kPause,
  kPauseBeforeWrite,  ///< between the application's check of Leads() and its write
  kKill,
  kRestart,
  kTwin,
  kDrain,
  kStop,
  kMemberDown,
  kMemberFrozen,
  kMemberIsolated,
  kMemberLags,
  kQuorumLost,
  kRaftLeaderChanged,
  kProposalLost,
  kStuckLeaderAnswered,
  kLateRevoke,
  kRenewedWhileRevoked,
  kWatchSilent,
  kEventsRepeated,
  kDeletionLost,
  kCompaction,
  kWatchCompacted,
  kNoSpaceRefused,
  kNoSpaceApplied,
  kOperatorRevoked,
  kOperatorDeletedMember,
  kOperatorDeletedRecord,
  kOperatorGarbage,
  kOperatorAsked,
  kCallbackSlow,
  kCallbackThrew,
  kCallbackHung,
  kSuspend,       ///< of the whole machine: only CLOCK_BOOTTIME goes on
  kTokenRefused,  ///< unseen: "invalid auth token"
  kCommitStalled,
};
inline constexpr std::size_t kFaultCount = static_cast<std::size_t>(Fault::kCommitStalled) + 1;
/// "request_lost", ...
const char* ToString(Fault fault);
using FaultCounts = std::array<std::uint64_t, kFaultCount>;

/// The purpose of an exchange, or of what a process has under way. The last four belong to
/// processes only: no message has them.
enum class Phase : std::uint8_t {
  kReading,       ///< everything is read: at the start, after a compaction, for an audit
  kWatching,      ///< a watch's message; of a process: its watch has said nothing yet
  kGranting,      ///< a lease's grant is out
  kJoining,       ///< the member key's put, or the group's config; of a process: no member yet
  kTakingOver,    ///< the put over a predecessor's key, proven dead
  kRevoking,      ///< the revocation of a lease that is given up
  kRenewing,      ///< a keepalive
  kConfirming,    ///< a confirmation
  kClaiming,      ///< a claim of vacant shards
  kPlanning,      ///< the balancer's record and moves
  kPrepared,      ///< the target says that it prepared
  kTransferring,  ///< a transfer
  kAbandoning,    ///< an abandon
  kLeaving,       ///< a resignation; of a process: it drains or stops
  kPolicy,        ///< an operator's request
  kPreparing,     ///< a target's application loads a shard's state
  kReleasing,     ///< a leader's application lets a shard go
  kSuspended,     ///< past the deadline
  kIdle,          ///< leads, or watches others lead, with nothing under way
};
inline constexpr std::size_t kPhaseCount = static_cast<std::size_t>(Phase::kIdle) + 1;
/// "reading", ...
const char* ToString(Phase phase);

/// A set of phases: a process has several things under way.
class Phases {
 public:
  constexpr Phases() = default;
  // NOLINTNEXTLINE(google-explicit-constructor): one phase is a set of one
  constexpr Phases(Phase phase) : bits_(1u << static_cast<unsigned>(phase)) {}
  constexpr Phases(std::initializer_list<Phase> phases) {
    for (const Phase phase : phases) *this |= phase;
  }
  static constexpr Phases All() {
    Phases all;
    all.bits_ = (1u << kPhaseCount) - 1;
    return all;
  }
  constexpr bool empty() const { return bits_ == 0; }
  constexpr bool Meets(Phases others) const { return (bits_ & others.bits_) != 0; }
  constexpr bool Has(Phase phase) const { return (bits_ & Phases(phase).bits_) != 0; }
  constexpr Phases& operator|=(Phases more) {
    bits_ |= more.bits_;
    return *this;
  }
  constexpr Phases Without(Phases others) const {
    Phases left;
    left.bits_ = bits_ & ~others.bits_;
    return left;
  }
  constexpr std::uint32_t bits() const { return bits_; }

 private:
  std::uint32_t bits_ = 0;
};
constexpr Phases operator|(Phases a, Phases b) { return a |= b; }
/// "claiming, renewing"
std::string ToString(Phases phases);

/// How often each fault struck in each phase. A fault that strikes many at once counts once in each
/// phase that it struck.
class FaultTable {
 public:
  void Add(Fault fault, Phases struck);
  void Add(const FaultTable& other);
  std::uint64_t At(Fault fault, Phase phase) const {
    return cells_[static_cast<std::size_t>(fault)][static_cast<std::size_t>(phase)];
  }

 private:
  std::array<std::array<std::uint64_t, kPhaseCount>, kFaultCount> cells_{};
};

/// Cells that can't occur, and why.
struct Impossible {
  Phases phases;
  std::vector<Fault> faults;
  const char* why;
};
const std::vector<Impossible>& ImpossibleCells();
/// Why the cell can't occur; null if it can.
const char* WhyImpossible(Fault fault, Phase phase);

/// Cells that were hit though they can't be, one line each.
std::vector<std::string> HitThoughImpossible(const FaultTable& table);
/// Cells that can occur and were hit less often than `least`, as "fault x phase: n".
std::vector<std::string> HitTooSeldom(const FaultTable& table, std::uint64_t least);
/// A row for each fault, a column for each phase; "-" in cells that can't occur. In markdown, for
/// the record.
std::string TableText(const FaultTable& table, const FaultCounts& counts);

}  // namespace baton::sim
