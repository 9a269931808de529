// Guarded writes: everything Baton ever changes in etcd, as plain
// values.
//
// The core decides on a Write; src/etcd/keyspace turns it into a transaction whose guards can never
// become true again once false. There is no unguarded write to ownership. The answer is a
// WriteResult: done, refused or unknown, per item, with what was read back.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <variant>
#include <vector>

#include "base/facts.h"

namespace baton {

/// The guard "our member key is still the one this session created".
struct SessionGuard {
  NodeId node{};
  SessionId session{};
  Revision create_revision{};
};

/// Another node's session, alive or dead by its member key's lease.
struct SessionRef {
  NodeId node{};
  SessionId session{};
  friend auto operator<=>(const SessionRef&, const SessionRef&) = default;
};

/// Creates `config` if absent.
struct ConfigCreate {
  ConfigFact config{};
};
/// Creates our member key (absent before) on `member.session`'s lease.
struct MemberCreate {
  MemberFact member{};
};
/// Replaces the member key of a predecessor proven dead: guarded by its mod revision as read.
struct MemberTakeover {
  MemberFact member{};
  Revision read{};
};
/// Rewrites our member key's value; guarded by its lease and create revision.
struct MemberUpdate {
  MemberFact member{};
  SessionGuard guard{};
};
/// One claim of a vacant record.
struct Claim {
  std::optional<ShardId> shard{};  ///< nullopt: the balancer's record
  Revision read{};                 ///< the record's mod revision as read; 0: absent
  std::optional<SessionRef>
      dead{};  ///< the session it names, which must be dead; none if it names none
  Reason reason = Reason::kStartup;
  NodeId previous{};             ///< goes into the record
  std::string unknown_fields{};  ///< of the replaced record, kept
  /// Set where the replaced record was damaged: its bytes, put to `quarantine/…` in the same
  /// transaction.
  std::optional<std::string> quarantined{};
};
/// Claims in one transaction: record := us.
struct ClaimBatch {
  SessionGuard guard{};
  std::vector<Claim> claims{};
};
/// One handover: record := target, move deleted.
struct Transfer {
  ShardId shard{};
  Term term{};           ///< of our leadership: the record's mod revision
  Revision move_read{};  ///< the move's mod revision
  SessionRef to{};       ///< the very session that prepared
  Reason reason = Reason::kRebalance;
  std::string actor{};
  std::string unknown_fields{};
};
struct TransferBatch {
  NodeId from{};
  std::vector<Transfer> transfers{};
};
/// record := us again, a new term; makes an earlier unknown write of that term definite.
struct Abandon {
  ShardId shard{};
  Term term{};
  Reason reason = Reason::kResumed;
  std::string unknown_fields{};
};
struct AbandonBatch {
  SessionGuard guard{};
  std::vector<Abandon> abandons{};
};
/// record := nobody.
struct Resign {
  std::optional<ShardId> shard{};  ///< nullopt: the balancer's record
  Term term{};
  Reason reason = Reason::kShutdown;
  std::string unknown_fields{};
};
struct ResignBatch {
  SessionRef from{};
  std::vector<Resign> resigns{};
};
/// Writes or deletes moves; each guarded by the move's mod revision as read (0: absent).
struct MoveWrite {
  MoveFact move{};  ///< `present == false`: delete
  Revision read{};
};
struct MoveBatch {
  /// The balancer's own leadership must be in force: its record's mod revision. Unset where an
  /// operator or the move's target writes.
  std::optional<Term> balancer_term{};
  /// The target's session must live; set where the target says "prepared".
  std::optional<SessionGuard> target{};
  std::vector<MoveWrite> moves{};
};
/// Puts or deletes a policy key, and puts the one that each change moves on; guarded by the mod
/// revisions of both as read (0: absent). A copy of it that comes late finds the second one
/// changed, also where the policy has been absent again since.
struct PolicyWrite {
  PolicyFact policy{};  ///< `present == false`: delete
  Revision read{};
  Revision changed{};  ///< of kPolicyChanged
};

using Write = std::variant<ConfigCreate, MemberCreate, MemberTakeover, MemberUpdate, ClaimBatch,
                           TransferBatch, AbandonBatch, ResignBatch, MoveBatch, PolicyWrite>;

enum class Outcome : std::uint8_t {
  kDone,  ///< committed; what it says is true
  /// Definitely not applied, and never will be; but for a claim that was refused because the
  /// session it names lived: a delayed copy may land once that is dead, and then names us all the
  /// same.
  kRefused,
  kUnknown,  ///< may be applied, now or later: resend what is unknown until it is definite
};
const char* ToString(Outcome outcome);

struct WriteResult {
  /// kDone: all items done. kRefused: definite; see items. kUnknown: no item's fate is definite but
  /// those that `items` says done or refused.
  Outcome outcome = Outcome::kUnknown;
  /// Per item in the write's order (one for the single writes).
  std::vector<Outcome> items{};
  /// The header revision of the last committed transaction; for items done it is their keys' new
  /// mod revision (items of one write may differ: see `read_back`). 0 when unknown.
  Revision revision{};
  /// What the write left (for items done) or read back (for items refused, and for a refused shared
  /// guard): facts with their revisions, to be merged into the view before anything is decided.
  std::vector<Fact> read_back{};
  /// One line for logs where the outcome is not kDone: status or which guard was false.
  std::string detail{};
  /// The server refuses for good: wrong credentials or role, request too large.
  bool permanent = false;
};

/// etcd's default of at most 128 compares and operations in a transaction (--max-txn-ops); halve
/// and go on where an operator lowered it.
inline constexpr std::size_t kMaxTxnOperations = 128;

/// How many claims fit with `dead_sessions` distinct sessions to compare: two shared guards (our
/// member key's lease and create revision) and one per dead session.
constexpr std::size_t MaxClaims(std::size_t dead_sessions) {
  return dead_sessions + 2 >= kMaxTxnOperations ? 1 : kMaxTxnOperations - 2 - dead_sessions;
}
/// Two compares and two operations a transfer, one compare per distinct target: 62 with four.
constexpr std::size_t MaxTransfers(std::size_t targets) {
  return targets + 2 >= kMaxTxnOperations ? 1 : (kMaxTxnOperations - targets) / 2;
}
inline constexpr std::size_t kMaxResigns = kMaxTxnOperations;
inline constexpr std::size_t kMaxMoveWrites = kMaxTxnOperations - 3;

}  // namespace baton
