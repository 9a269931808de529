// Guarded writes: every change that nodes make to the group's keys, as plain values.
//
// The core decides on a Write, and src/etcd turns it into transactions with guards. A guard that
// was false once stays false (exceptions: etcd/guarded_write.h, Outcome::kRefused). There is no
// unguarded write to ownership. The answer is a WriteResult: the outcome of each item (done,
// refused or unknown), and the facts that were read back.
//
// In this file, "we" means the node that writes. "As read" means: as the core last saw the key. An
// "item" is one part of a batch, and has its own outcome. A write that is no batch is one item.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <variant>
#include <vector>

#include "base/facts.h"

namespace baton {

/// The guard that the member key is still the key of our session: it has the session's lease and
/// this create revision.
struct SessionGuard {
  NodeId node{};
  SessionId session{};
  Revision create_revision{};  ///< after a MemberTakeover: that of the earlier process's key
};

/// A node's session. The session lives while the node's member key has the session's lease.
struct SessionRef {
  NodeId node{};
  SessionId session{};
  friend auto operator<=>(const SessionRef&, const SessionRef&) = default;
};

/// Creates `config`. Guarded by the key's absence.
struct ConfigCreate {
  ConfigFact config{};
};
/// Puts back the `config` that a bad write replaced or deleted. Guarded by the mod revision of the
/// bad config as read (0: absent), and by our session. Our session proves that no recovery began.
struct ConfigMend {
  ConfigFact config{};
  Revision read{};
  SessionGuard guard{};
};
/// Replaces `config` for an operator who changes the group's settings. Guarded by the config's mod
/// revision as read (`read`). Also guarded: no member key was written after the revision `members`.
/// So we have seen that the version of every member is new enough.
struct ConfigChange {
  ConfigFact config{};
  Revision read{};
  Revision members{};
};
/// Creates our member key with the lease of `member.session`. Guarded by the key's absence.
struct MemberCreate {
  MemberFact member{};
};
/// Replaces our node's member key, which an earlier process has left. The key keeps its create
/// revision. Guarded by the key's mod revision as read. REQUIRES (not checked): the earlier process
/// is proven dead.
struct MemberTakeover {
  MemberFact member{};
  Revision read{};
};
/// Rewrites the value of our member key. Guarded by our session (`guard`).
struct MemberUpdate {
  MemberFact member{};
  SessionGuard guard{};
};
/// The actor in a record that replaces a damaged record.
inline constexpr const char* kDamagedRecordActor = "baton (damaged record replaced)";

/// One claim of a vacant record. Guarded by the record's mod revision as read. If `dead` is set,
/// also guarded by the end of that session.
struct Claim {
  std::optional<ShardId> shard{};    ///< nullopt: the balancer's record
  Revision read{};                   ///< the record's mod revision as read; 0: absent
  std::optional<SessionRef> dead{};  ///< the session that the record names; must have ended
  Reason reason = Reason::kStartup;
  NodeId previous{};             ///< goes into the record
  Cause cause{};                 ///< goes into the record
  DeathTally tally{};            ///< goes into the record
  std::string unknown_fields{};  ///< unknown fields of the replaced record; kept
  /// If the replaced record was damaged: its RecordFact::damaged_value. The same transaction writes
  /// this value to `quarantine/…`.
  std::optional<std::string> quarantined{};
};
/// A batch of claims: each record then names us as the leader. All claims are guarded by our
/// session (`guard`), and by `config` if it is set.
struct ClaimBatch {
  SessionGuard guard{};
  /// The mod revision of the `config` whose settings allow the claims; 0: there is no config.
  /// Unset: the claims depend on no settings (the balancer's record).
  std::optional<Revision> config{};
  std::uint64_t directory = 0;  ///< our state directory's id; goes into the records
  std::vector<Claim> claims{};
};
/// One handoff: the record then names the target as the leader, and the move is deleted. Guarded by
/// our leadership's term, the move's mod revision, the target's session, and `config`.
struct Transfer {
  ShardId shard{};
  Term term{};                  ///< our leadership's term: the record's mod revision
  Revision move_read{};         ///< the move's mod revision as read
  SessionRef to{};              ///< the target's session that prepared
  std::uint64_t directory = 0;  ///< the target's state directory's id; goes into the record
  /// The mod revision of the `config` whose rules and settings allow the transfer; 0: there is no
  /// config. If the config has changed, the transfer is refused: a new rule may forbid the target,
  /// or a new lock delay may forbid the transfer of a shard that is not released.
  Revision config{};
  Reason reason = Reason::kRebalance;
  std::string actor{};
  Cause cause{};       ///< goes into the record
  DeathTally tally{};  ///< goes into the record
  std::string unknown_fields{};
};
struct TransferBatch {
  NodeId from{};
  std::vector<Transfer> transfers{};
};
/// Gives a handoff up: deletes the shard's move, whatever the move says. Guarded by our
/// leadership's term. If the outcome is done, our leadership is in force. Then no copy of an
/// earlier transfer can be applied any more, because the move that it needs is deleted. An abandon
/// needs no space, so it works even when etcd's database is full.
struct Abandon {
  ShardId shard{};
  Term term{};  ///< our leadership's term: the record's mod revision
};
struct AbandonBatch {
  std::vector<Abandon> abandons{};
};
/// Gives up a leadership: the record then names nobody as the leader. Guarded by the leadership's
/// term.
struct Resign {
  std::optional<ShardId> shard{};  ///< nullopt: the balancer's record
  Term term{};                     ///< the leadership's term: the record's mod revision
  Reason reason = Reason::kShutdown;
  DeathTally tally{};     ///< goes into the record
  bool released = false;  ///< goes into the record: the application has released the shard
  std::string unknown_fields{};
};
struct ResignBatch {
  SessionRef from{};
  std::vector<Resign> resigns{};
  std::uint64_t directory = 0;  ///< our state directory's id; goes into the records
};
/// Writes or deletes a move. Guarded by the move's mod revision as read (0: absent). Absence alone
/// is no stable guard: a late copy of a plan could bring back a move that an operator cancelled. So
/// batches of plans also set MoveBatch::policies.
struct MoveWrite {
  MoveFact move{};  ///< `present == false`: delete
  Revision read{};
};
struct MoveBatch {
  /// The mod revision of the balancer's record. Guards that the writer is still the balancer. Set
  /// if the balancer plans or deletes moves.
  std::optional<Term> balancer_term{};
  /// Our session, which must live. Set if the move's target or the shard's leader writes.
  std::optional<SessionGuard> target{};
  std::vector<MoveWrite> moves{};
  /// The mod revision of the policy kChanged as read (0: absent). Guards that no policy has changed
  /// meanwhile. Set if the balancer or the shard's leader plans moves.
  std::optional<Revision> policies{};
};
/// Puts or deletes a policy key. Also rewrites the policy kChanged, which gets ChangeWords(policy)
/// and the policy's actor. Guarded by the mod revisions of both keys as read (0: absent). Because
/// kChanged was rewritten, a late copy is refused, even if the policy itself is absent again.
struct PolicyWrite {
  /// `present == false`: delete. kChanged gets no words in these cases: `actor` is empty, because
  /// no operator ordered this; the write puts a drain, pause or rebalance that exists already; the
  /// write deletes a key that is absent already.
  PolicyFact policy{};
  Revision read{};     ///< of `policy`
  Revision changed{};  ///< of kChanged
};

/// Ends a session whose process is proven dead: deletes its member key, and writes `died`. Guarded
/// by the key's lease, which must be this session's. No session id is used twice, so this guard
/// stays false once it is false.
struct SessionEnd {
  SessionRef dead{};
  std::optional<Duration> detect{};  ///< goes into `died`: DeathFact::detect
};

/// Writes a mark: the delay of FailoverPolicy::kAfter is over for a node's leaderships with terms
/// up to `up_to`. The core writes the mark only when this is true, and this stays true. Guarded by
/// the key's mod revision as read (0: absent), so that a late copy does not replace a later mark. A
/// late copy may bring back a deleted mark. This does no harm: the mark is still true, and nodes
/// delete it again.
struct RipeMark {
  NodeId node{};
  Revision up_to{};  ///< 0: deletes the mark, because no record names such a leadership
  Revision read{};
};

/// An operator's force-release: the record then names nobody as the leader, although its leader did
/// not resign. Guarded by the record's mod revision, and by the end of the session `dead`. The node
/// of `dead` may have a newer session.
struct ForceRelease {
  ShardId shard{};
  Term term{};           ///< the record's mod revision as read
  SessionRef dead{};     ///< session 0: the record is damaged, and nobody knows who led
  bool stopped = false;  ///< goes into the record as RecordFact::released
  std::string actor{};
  DeathTally tally{};  ///< goes into the record
  std::string unknown_fields{};
  /// If the record is damaged: as in Claim. REQUIRES (checked): set if `dead` has session 0.
  std::optional<std::string> quarantined{};
};

using Write = std::variant<ConfigCreate, ConfigMend, ConfigChange, MemberCreate, MemberTakeover,
                           MemberUpdate, ClaimBatch, TransferBatch, AbandonBatch, ResignBatch,
                           MoveBatch, PolicyWrite, SessionEnd, RipeMark, ForceRelease>;

enum class Outcome : std::uint8_t {
  kDone,  ///< committed
  /// Not applied, and not applied later either, with one exception: a delayed copy is applied if
  /// its false guard becomes true. This happens if the session `dead` of a Claim or ForceRelease
  /// ends. It also happens if a key is deleted that had to be absent or unwritten. If a claim was
  /// applied in this way, the record names us.
  kRefused,
  kUnknown,  ///< may be applied now or later: send the unknown items again until all are definite
};
const char* ToString(Outcome outcome);

struct WriteResult {
  /// kDone: all items are done. kRefused: every item is done or refused, and at least one is
  /// refused. kUnknown: at least one item is unknown.
  Outcome outcome = Outcome::kUnknown;
  /// The outcome of each item, in the write's order.
  std::vector<Outcome> items{};
  /// The store's revision at the last transaction whose answer gave outcomes; 0: no answer did. It
  /// is the new mod revision of the items that this transaction wrote. If there were several
  /// transactions, `read_back` has the revision of each item.
  Revision revision{};
  /// Facts from the answers, in the order of the transactions: about the done items, the refused
  /// items, and the keys that shared guards compare. The caller merges these facts into the view
  /// before it decides anything.
  std::vector<Fact> read_back{};
  /// One line for logs; empty if the outcome is kDone. If `permanent`: why the server would refuse
  /// an item every time. Otherwise the first problem, for example which guard was false, or a
  /// failed call's message.
  std::string detail{};
  /// The server would refuse at least one item every time. Reasons: the credentials, the role, the
  /// item's bytes or operations, or a request that etcd can't take. The outcome may still be
  /// kUnknown, because an earlier copy may have been applied.
  bool permanent = false;
  /// The outcome is kUnknown, but no part of this copy has reached etcd, or ever will. False if
  /// this is not certain.
  bool never_sent = false;
};

/// How many compares, and how many operations, etcd allows in a transaction by default
/// (--max-txn-ops). If etcd refuses that many, the writer makes its transactions smaller.
inline constexpr std::size_t kMaxTxnOperations = 128;

/// How many claims fit into a transaction with `dead_sessions` distinct dead sessions; at least 1.
/// Each claim needs one compare, and each dead session needs one. Three more compares are shared:
/// our member key's lease and create revision, and the config's mod revision. Does not count the
/// operations for `quarantined`.
constexpr std::size_t MaxClaims(std::size_t dead_sessions) {
  return dead_sessions + 3 >= kMaxTxnOperations ? 1 : kMaxTxnOperations - 3 - dead_sessions;
}
/// How many transfers fit into a transaction with `targets` distinct targets; at least 1. Each
/// transfer needs two compares and two operations. Each target needs one compare. One more compare
/// is shared: the config's mod revision. So 61 transfers fit with four targets.
constexpr std::size_t MaxTransfers(std::size_t targets) {
  return targets + 3 >= kMaxTxnOperations ? 1 : (kMaxTxnOperations - targets - 1) / 2;
}
/// How many resignations, abandons and writes of moves fit into a transaction. Each of them needs
/// one compare and one operation. The writes of moves share at most three more compares.
inline constexpr std::size_t kMaxResigns = kMaxTxnOperations;
inline constexpr std::size_t kMaxAbandons = kMaxTxnOperations;
inline constexpr std::size_t kMaxMoveWrites = kMaxTxnOperations - 3;

}  // namespace baton
