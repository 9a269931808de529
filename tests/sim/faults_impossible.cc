// The cells of the table that can't occur, because of the protocol or of how faults are counted.
#include "sim/faults.h"

namespace baton::sim {
namespace {

constexpr Phases kOfProcesses{Phase::kPreparing, Phase::kReleasing, Phase::kSuspended,
                              Phase::kIdle};
constexpr Phases kStreams{Phase::kWatching, Phase::kRenewing};
constexpr Phases kCalls = Phases::All().Without(kOfProcesses | kStreams);

std::vector<Fault> OfExchanges() {
  return {Fault::kRequestLost,    Fault::kReplyLost,           Fault::kReplyLate,
          Fault::kRequestLate,    Fault::kRequestTwice,        Fault::kConnectionReset,
          Fault::kStreamEnded,    Fault::kStreamLate,          Fault::kMessageHeld,
          Fault::kMemberDown,     Fault::kMemberFrozen,        Fault::kMemberIsolated,
          Fault::kMemberLags,     Fault::kQuorumLost,          Fault::kProposalLost,
          Fault::kNoSpaceRefused, Fault::kNoSpaceApplied,      Fault::kStuckLeaderAnswered,
          Fault::kWatchSilent,    Fault::kRenewedWhileRevoked, Fault::kEventsRepeated,
          Fault::kDeletionLost,   Fault::kWatchCompacted,      Fault::kTokenRefused,
          Fault::kCommitStalled};
}

}  // namespace

const std::vector<Impossible>& ImpossibleCells() {
  static const std::vector<Impossible> cells = {
      {kOfProcesses, OfExchanges(), "it strikes a message, which belongs to one exchange"},
      {kStreams,
       {Fault::kRequestLost, Fault::kReplyLost, Fault::kReplyLate, Fault::kRequestLate,
        Fault::kRequestTwice},
       "a stream's message is late, or the stream ends"},
      {kCalls, {Fault::kStreamEnded, Fault::kStreamLate}, "a call is no stream"},
      {Phase::kReading, {Fault::kRequestTwice}, "what arrives twice is of note for writes alone"},
      {Phase::kWatching,
       {Fault::kMemberIsolated, Fault::kQuorumLost, Fault::kProposalLost},
       "a watch proposes nothing; what it misses is counted by what ends it"},
      {{Phase::kReading, Phase::kWatching, Phase::kRenewing},
       {Fault::kCommitStalled},
       "it waits for no commit"},
      {Phases::All().Without({Phase::kJoining, Phase::kTakingOver}),
       {Fault::kRestart},
       "who starts has nothing else under way"},
      {Phases::All().Without(kOfProcesses | Phase::kRenewing),
       {Fault::kStuckLeaderAnswered, Fault::kRenewedWhileRevoked},
       "only keepalives are answered without a commit"},
      {Phases::All().Without(kOfProcesses | Phase::kWatching),
       {Fault::kWatchSilent, Fault::kEventsRepeated, Fault::kDeletionLost, Fault::kWatchCompacted},
       "it is a fault of watches"},
      {{Phase::kReading, Phase::kWatching, Phase::kRevoking, Phase::kRenewing, Phase::kConfirming,
        Phase::kAbandoning},
       {Fault::kNoSpaceRefused, Fault::kNoSpaceApplied},
       "it puts nothing"},
      // Not granting: the answer to an earlier attempt may come late, while a later one leads.
      {Phase::kTakingOver,
       {Fault::kLateRevoke, Fault::kOperatorRevoked},
       "a lease has a holder once its member key is known to be put"},
      {{Phase::kReading, Phase::kRenewing},
       {Fault::kMemberLags},
       "it waits for no commit; that the answer is old is counted by nothing"},
      // A lease that an earlier attempt asked for may still be on its way, while a later one leads.
      {{Phase::kTakingOver, Phase::kSuspended},
       {Fault::kPauseBeforeWrite},
       "only who leads writes"},
      {Phase::kTakingOver,
       {Fault::kCallbackSlow, Fault::kCallbackThrew, Fault::kCallbackHung},
       "it is a process's first session, and nothing was led before"},
  };
  return cells;
}

}  // namespace baton::sim
