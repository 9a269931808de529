// Guarded writes: everything Baton ever changes in etcd, as plain values.
//
// The core decides on a Write; src/etcd turns it into transactions. Their guards, once false, stay
// false (see etcd/guarded_write.h for the exceptions). There is no unguarded write to ownership.
// The answer is a WriteResult: done, refused or unknown, per item, with the facts read back.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <variant>
#include <vector>

#include "base/facts.h"

namespace baton {

/// The guard "our member key is still the one that this session created".
struct SessionGuard {
  NodeId node{};
  SessionId session{};
  Revision create_revision{};
};

/// A node's session; it is alive while the node's member key hangs on its lease.
struct SessionRef {
  NodeId node{};
  SessionId session{};
  friend auto operator<=>(const SessionRef&, const SessionRef&) = default;
};

/// Creates `config` if absent.
struct ConfigCreate {
  ConfigFact config{};
};
/// Puts back the `config` that a bad write replaced or deleted. Guarded by the bad one's mod
/// revision as read (0: absent), and by our session: no recovery has begun.
struct ConfigMend {
  ConfigFact config{};
  Revision read{};
  SessionGuard guard{};
};
/// An operator's change of the group's settings: replaces `config`. Guarded by its mod revision as
/// read, and by `members`: no member key has been written after that revision, so nobody is a
/// member who was not seen to be new enough.
struct ConfigChange {
  ConfigFact config{};
  Revision read{};
  Revision members{};
};
/// Creates our member key (absent before) on `member.session`'s lease.
struct MemberCreate {
  MemberFact member{};
};
/// Replaces the member key of a predecessor that is proven dead; guarded by its mod revision as
/// read.
struct MemberTakeover {
  MemberFact member{};
  Revision read{};
};
/// Rewrites our member key's value; guarded by its lease and create revision.
struct MemberUpdate {
  MemberFact member{};
  SessionGuard guard{};
};
/// The actor in a record that replaces a damaged one.
inline constexpr const char* kDamagedRecordActor = "baton (damaged record replaced)";

/// One claim of a vacant record.
struct Claim {
  std::optional<ShardId> shard{};    ///< nullopt: the balancer's record
  Revision read{};                   ///< the record's mod revision as read; 0: absent
  std::optional<SessionRef> dead{};  ///< the session it names, which must be dead
  Reason reason = Reason::kStartup;
  NodeId previous{};             ///< goes into the record
  DeathTally tally{};            ///< goes into the record
  std::string unknown_fields{};  ///< of the replaced record, to be kept
  /// If the replaced record was damaged: its bytes. The same transaction puts them to
  /// `quarantine/…`.
  std::optional<std::string> quarantined{};
};
/// Claims in one transaction: record := us.
struct ClaimBatch {
  SessionGuard guard{};
  /// The mod revision of `config`, whose settings allow the claims; 0: it is absent. Unset if they
  /// depend on no settings (the balancer's record).
  std::optional<Revision> config{};
  std::uint64_t directory = 0;  ///< ours; goes into the records
  std::vector<Claim> claims{};
};
/// One handoff: record := target, move deleted.
struct Transfer {
  ShardId shard{};
  Term term{};                  ///< of our leadership: the record's mod revision
  Revision move_read{};         ///< the move's mod revision
  SessionRef to{};              ///< the very session that prepared
  std::uint64_t directory = 0;  ///< the target's; goes into the record
  /// Set if the application has not released the shard: the mod revision of `config`, as in
  /// ClaimBatch. A lock delay that was set meanwhile forbids such a transfer.
  std::optional<Revision> config{};
  Reason reason = Reason::kRebalance;
  std::string actor{};
  DeathTally tally{};  ///< goes into the record
  std::string unknown_fields{};
};
struct TransferBatch {
  NodeId from{};
  std::vector<Transfer> transfers{};
};
/// Gives a handoff up: deletes the shard's move, whatever it says. Done: the leadership is in
/// force, and no copy of an earlier transfer can be applied any more, because the move that it
/// names is gone. It needs no space, so it passes when etcd's database is full.
struct Abandon {
  ShardId shard{};
  Term term{};  ///< of our leadership: the record's mod revision
};
struct AbandonBatch {
  std::vector<Abandon> abandons{};
};
/// record := nobody.
struct Resign {
  std::optional<ShardId> shard{};  ///< nullopt: the balancer's record
  Term term{};
  Reason reason = Reason::kShutdown;
  DeathTally tally{};     ///< goes into the record
  bool released = false;  ///< goes into the record: the application has released the shard
  std::string unknown_fields{};
};
struct ResignBatch {
  SessionRef from{};
  std::vector<Resign> resigns{};
  std::uint64_t directory = 0;  ///< ours; goes into the records
};
/// Writes or deletes moves; each guarded by the move's mod revision as read (0: absent). Absence
/// alone is no stable guard, so plans have `policies` as well: a late copy of a plan must not bring
/// back a move that was withdrawn because an operator cancelled it.
struct MoveWrite {
  MoveFact move{};  ///< `present == false`: delete
  Revision read{};
};
struct MoveBatch {
  /// The balancer's record must have this mod revision: it is still the balancer. Unset if an
  /// operator, the move's target or the shard's leader writes.
  std::optional<Term> balancer_term{};
  /// This session must live. Set if the target writes "prepared" or "void", and if a shard's leader
  /// plans a move.
  std::optional<SessionGuard> target{};
  std::vector<MoveWrite> moves{};
  /// The mod revision of the policy kChanged as read (0: absent): no policy has changed since. Set
  /// if the balancer or the shard's leader plans.
  std::optional<Revision> policies{};
};
/// Puts or deletes a policy key, and rewrites the policy kChanged; guarded by the mod revisions of
/// both as read (0: absent). A late copy finds kChanged rewritten, even if the policy itself is
/// absent again.
struct PolicyWrite {
  PolicyFact policy{};  ///< `present == false`: delete
  Revision read{};
  Revision changed{};  ///< of kChanged
};

/// Ends a session whose process is proven dead: deletes its member key, and writes `died`. Guarded
/// by the key's lease, which must be this session's. No session id is used twice, so once this
/// guard is false, it stays false.
struct SessionEnd {
  SessionRef dead{};
};

/// Notes that the delay of FailoverPolicy::kAfter is over for a node's leaderships with terms up to
/// `up_to`. What it says was true when it was decided, and stays true. Guarded by the key's mod
/// revision as read (0: absent), so that a late copy does not replace a later one. A late copy may
/// bring back a mark that was deleted: it says nothing wrong, and is deleted again.
struct RipeMark {
  NodeId node{};
  Revision up_to{};  ///< 0: deletes the mark, as no record names such a leadership any more
  Revision read{};
};

/// An operator's force-release: record := nobody, although its leader did not resign. Guarded by
/// the record's mod revision, and by the death of the session that led: that very session, not just
/// the node.
struct ForceRelease {
  ShardId shard{};
  Term term{};           ///< the record's mod revision as read
  SessionRef dead{};     ///< session 0: the record is damaged, and nobody knows who led
  bool stopped = false;  ///< goes into the record as RecordFact::released
  std::string actor{};
  DeathTally tally{};  ///< goes into the record
  std::string unknown_fields{};
  /// If the record is damaged: its bytes, as in Claim.
  std::optional<std::string> quarantined{};
};

using Write = std::variant<ConfigCreate, ConfigMend, ConfigChange, MemberCreate, MemberTakeover,
                           MemberUpdate, ClaimBatch, TransferBatch, AbandonBatch, ResignBatch,
                           MoveBatch, PolicyWrite, SessionEnd, RipeMark, ForceRelease>;

enum class Outcome : std::uint8_t {
  kDone,  ///< committed; what the write says is true
  /// Definitely not applied, and never will be, with one exception. A claim that was refused
  /// because the session it names lived may have a delayed copy that is applied after that
  /// session's death; the record then names us all the same.
  kRefused,
  kUnknown,  ///< may be applied, now or later: send the unknown items again until they are definite
};
const char* ToString(Outcome outcome);

struct WriteResult {
  /// kDone: all items are done. kRefused: all are definite; see `items`. kUnknown: only those items
  /// are definite that `items` says are done or refused.
  Outcome outcome = Outcome::kUnknown;
  /// Per item, in the write's order (one for writes without items).
  std::vector<Outcome> items{};
  /// The revision of the last committed transaction: the new mod revision of its done items (items
  /// may have been committed by different transactions: see `read_back`). 0 if unknown.
  Revision revision{};
  /// What the write left (for items done) or read back (for items refused, and for a refused shared
  /// guard). The caller merges these facts into the view before it decides anything.
  std::vector<Fact> read_back{};
  /// One line for logs if the outcome is not kDone: the status, or which guard was false.
  std::string detail{};
  /// The server refuses every time: wrong credentials or role, or the request is too large. If the
  /// outcome is kUnknown all the same, an earlier copy may have been applied.
  bool permanent = false;
  /// kUnknown, but no part of this copy reached etcd, and none ever will.
  bool never_sent = false;
};

/// How many compares, and how many operations, etcd allows in a transaction by default
/// (--max-txn-ops). If an operator lowered it, the writer halves its transactions.
inline constexpr std::size_t kMaxTxnOperations = 128;

/// How many claims fit into a transaction that compares `dead_sessions` distinct sessions: three
/// guards are shared (our member key's lease and create revision, the config's mod revision), and
/// there is one for each dead session.
constexpr std::size_t MaxClaims(std::size_t dead_sessions) {
  return dead_sessions + 3 >= kMaxTxnOperations ? 1 : kMaxTxnOperations - 3 - dead_sessions;
}
/// How many transfers fit: two compares and two operations each, and one compare for each distinct
/// target. 62 with four targets. (If many were not released the writer splits the batch.)
constexpr std::size_t MaxTransfers(std::size_t targets) {
  return targets + 2 >= kMaxTxnOperations ? 1 : (kMaxTxnOperations - targets) / 2;
}
inline constexpr std::size_t kMaxResigns = kMaxTxnOperations;
inline constexpr std::size_t kMaxAbandons = kMaxTxnOperations;
inline constexpr std::size_t kMaxMoveWrites = kMaxTxnOperations - 3;

}  // namespace baton
