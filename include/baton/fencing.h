// The fencing kit: how a shared resource refuses writes of an earlier leader.
//
// A leader may stand still between its check of Leads() and its write. Meanwhile another node may
// have begun to lead. Only the resource can notice the late write, by the term that comes with each
// write. The terms of a shard only grow. So a resource that has seen a newer term refuses older
// terms. Choose one of three forms, by the kind of the resource:
//
// FenceGuard, if the resource is a server of yours. The guard keeps the highest term of each shard.
//
//   baton::FenceGuard guard(1024);  // the group's shard count; one guard for the resource
//   const baton::Status done = guard.Run(shard, term, [&] { Write(shard, term); });
//   if (!done) return Fail(done.error().message);  // kStaleTerm: a newer leader was here
//
// CompareTerm, if the resource is etcd itself: a compare for your own transactions.
//
// kSqlRaiseTerm, if the resource is a SQL database: the first statement of each transaction that
// writes. This statement compares the term with the term in the shard's row.
//
// FenceGuard and the SQL form accept the earlier leader until they see the term of the new leader.
// So each new leader should show its term at once, in Listener::Acquired: it calls
// FenceGuard::Check, or commits a transaction that runs kSqlRaiseTerm.
//
// CompareTerm compares with Baton's own record. So it refuses the earlier leader as soon as the
// shard has been handed over, resigned or claimed.
//
// Each form protects only against writes that use it. See docs/guarantees.md. If a call breaks a
// REQUIRES (checked), the program aborts, with a line on stderr.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <string_view>

#include "baton/export.h"
#include "baton/result.h"
#include "baton/types.h"

namespace baton {

/// Durable storage for the terms of one FenceGuard, for example a file or a table. Implement
/// TermStore if the guarded data outlives the process. The guard may call Raise on several threads
/// at once. For each shard only one call runs at a time.
class BATON_EXPORT TermStore {
 public:
  virtual ~TermStore() = default;
  /// Stores `term` if the shard has no stored term, or a lower one. Returns the shard's highest
  /// stored term. Must not return before this term is durable, so that it survives a crash. (If a
  /// faulty store returns less than `term`, the guard uses `term`.) Must never lower a stored term.
  /// Beware of delayed writes: the write of a call that seemed to fail may reach the storage after
  /// the write of a newer term. Raise may block, fail or throw: see FenceGuard::Run. Raise must not
  /// call the guard's Run or Check.
  virtual Result<Term> Raise(ShardId shard, Term term) = 0;
};

/// Keeps the highest term of each shard, and refuses older terms. Thread-safe, except the
/// destructor. Use one guard for one resource. If two replicas of a server each have a guard, the
/// guards don't fence each other's leaders, even if they share a store. A guard asks the store only
/// about terms above its own highest term. So it may miss a newer term that the other guard has
/// stored. In a forked child, Run and Check of the parent's guard return kFailedPrecondition, and
/// Highest stays as it was.
class BATON_EXPORT FenceGuard {
 public:
  /// Keeps the terms in memory only. Use this constructor if the guarded data is in the same
  /// memory, so that terms and data are lost together. The guard takes about 50 bytes a shard.
  /// REQUIRES (checked): `shards` is 1 to 1,000,000. Give the group's shard count.
  explicit FenceGuard(std::uint32_t shards);
  /// Stores each newer term in `store` before the guard accepts it. REQUIRES (checked): `shards` is
  /// 1 to 1,000,000; `store` is not null.
  FenceGuard(std::uint32_t shards, std::shared_ptr<TermStore> store);
  ~FenceGuard();
  FenceGuard(const FenceGuard&) = delete;
  FenceGuard& operator=(const FenceGuard&) = delete;

  /// Remembers `term`, and runs `effect` on this thread. Does neither if the guard has seen a newer
  /// term of the shard. The same term may come any number of times. Blocks while another call for
  /// the shard runs its effect or waits for the store. So when the effect of a newer term begins,
  /// no effect of an older term is running. The guard asks the store only if `term` is newer than
  /// Highest. Errors (`effect` did not run):
  ///   kStaleTerm           the guard has seen a newer term, or the store has one
  ///   kInvalidArgument     the shard is out of range, or the term is not above 0
  ///   kFailedPrecondition  this process was forked after the guard was made, and is the child
  ///   (the store's own)    the store failed. The guard does not remember `term`, and still accepts
  ///                        the earlier term. The next call with `term` asks the store again
  /// An exception of `effect` or of the store passes through, and nothing stays locked. If `effect`
  /// threw, the guard remembers `term`. If the store threw, the guard does not remember it.
  /// REQUIRES: `effect` is not empty; otherwise Run remembers `term` and throws
  /// std::bad_function_call. REQUIRES (not checked): `effect` calls neither Run nor Check of this
  /// guard, not even for another shard; otherwise the calls may wait for each other for ever.
  Status Run(ShardId shard, Term term, const std::function<void()>& effect);
  /// Like Run, with the same errors, but without an effect. To fence a write that follows Check,
  /// hold a lock of your own for this shard during Check and the write.
  Status Check(ShardId shard, Term term);

  /// The highest term that the guard remembers for the shard; Term{}: no term yet. Does not ask the
  /// store. So it shows a stored term only after Run or Check has asked the store for this shard.
  /// Lock-free. REQUIRES (checked): the shard is in range.
  Term Highest(ShardId shard) const noexcept;
  /// How many calls of Run and Check returned kStaleTerm. A kStaleTerm that the store returned as
  /// an error does not count. Lock-free.
  std::uint64_t refused() const noexcept;
  /// The shard count that the guard was made with.
  std::uint32_t shards() const noexcept;

 private:
  class Impl;
  std::unique_ptr<Impl> impl_;
};

/// A compare for your own etcd transaction: in etcd's API, target MOD, result EQUAL. The compare
/// holds until the shard's record is written again or deleted. A handoff, a resignation, an
/// operator's release and a claim write the record, also a claim by the same node. The compare
/// still holds while the leader is suspended, and while the leader is dead and not yet replaced. A
/// handoff that fails does not write the record. If the compare does not hold, etcd carries out
/// nothing of the transaction's success branch.
struct TermCompare {
  std::string key;
  std::int64_t mod_revision = 0;
  friend bool operator==(const TermCompare&, const TermCompare&) = default;
};
/// The compare for a shard's leadership with `term`. `prefix` is EtcdOptions::prefix, `group` is
/// NodeOptions::group. Pure: it calls no server. kInvalidArgument: the prefix or group is
/// malformed, or the term is not above 0. CompareTerm does not check whether the shard exists. If
/// the group has no such shard, the compare never holds.
BATON_EXPORT Result<TermCompare> CompareTerm(std::string_view prefix, std::string_view group,
                                             ShardId shard, Term term);

/// The SQL form, for SQLite and PostgreSQL. Create the table once. Run kSqlRaiseTerm as the first
/// statement of each transaction that writes for a shard. The parameters are the group ($1), the
/// shard's number ($2) and the term, above 0 ($3). If the statement changes no row, the table has a
/// newer term: roll the transaction back. If the transaction commits, the table keeps the term. The
/// statement locks the row until the transaction ends, so transactions of two leaders run one after
/// the other. In SQLite, open the transaction with BEGIN IMMEDIATE.
inline constexpr const char* kSqlCreateTerms =
    "CREATE TABLE IF NOT EXISTS baton_terms (group_name TEXT NOT NULL, shard INTEGER NOT NULL, "
    "term BIGINT NOT NULL, PRIMARY KEY (group_name, shard))";
inline constexpr const char* kSqlRaiseTerm =
    "INSERT INTO baton_terms (group_name, shard, term) VALUES ($1, $2, $3) ON CONFLICT "
    "(group_name, shard) DO UPDATE SET term = excluded.term WHERE excluded.term >= "
    "baton_terms.term";

}  // namespace baton
