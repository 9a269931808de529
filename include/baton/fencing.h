// The fencing kit: how a shared resource refuses writes of an earlier leader.
//
// A leader may stand still between its check of Leads() and its write. Then it does not know that
// another node leads by now. Only the resource can notice such a late write, by the term that comes
// with each write. The terms of a shard only grow, so a resource that has seen a newer term refuses
// older ones. Choose by the kind of the resource:
//
// FenceGuard, if the resource is a server of yours: the guard keeps the highest term seen of each
// shard.
//
//   baton::FenceGuard guard(1024);  // the group's shard count; one guard for the resource
//   const baton::Status done = guard.Run(shard, term, [&] { Write(shard, term); });
//   if (!done) return Fail(done.error().message);  // kStaleTerm: a newer leader was here
//
// CompareTerm, if the resource is etcd itself: a compare for your own transactions.
//
// kSqlRaiseTerm, if the resource is a SQL database: the first statement of each transaction that
// writes. It compares the term with the one that is stored in a row.
//
// FenceGuard and the SQL form know of a newer leader only once this leader has written, or has
// called Check of the FenceGuard. Until then they accept the earlier leader. So let each new leader
// raise the term at once, in Listener::Acquired.
//
// CompareTerm refuses the earlier leader as soon as the shard has been handed over, resigned or
// claimed, because it compares with Baton's own record.
//
// None of the three protects data against a write that does not use it. See docs/guarantees.md.
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

/// Durable storage for the terms of one FenceGuard, for example a file or a table. Implement it if
/// the guarded data outlives the process. The guard may call it from several threads at once, but
/// for each shard only one call runs at a time.
class BATON_EXPORT TermStore {
 public:
  virtual ~TermStore() = default;
  /// Stores `term` if it is greater than the shard's stored term, or if the shard has no stored
  /// term. Returns the highest stored term, but only after that term is durable (it survives a
  /// crash). If the result is lower than `term`, the guard takes `term` for the highest one. Never
  /// lower a stored term, even if a write is delayed: a call that seemed to fail may reach the
  /// storage after a call with a newer term. Raise may block, fail or throw: see FenceGuard::Run.
  /// It must not call the guard's Run or Check.
  virtual Result<Term> Raise(ShardId shard, Term term) = 0;
};

/// Keeps the highest term seen of each shard and refuses older ones. Thread-safe, except the
/// destructor. Use one guard for one resource. Two replicas of a server, each with its own guard,
/// don't fence each other, even if both guards have the same store. A guard asks the store only
/// about terms above its own highest, so it may miss a newer term that the other guard has stored.
/// In a forked child, Run and Check of the parent's guard return kFailedPrecondition, and Highest
/// stays as it was. The process aborts if the shard count is out of range, if the store is null, or
/// if Highest is called for a shard out of range.
class BATON_EXPORT FenceGuard {
 public:
  /// Keeps terms in memory only. Use this form if the guarded data is in the same memory, so that
  /// both are lost together.
  /// REQUIRES: `shards` is 1 to 1,000,000: the group's shard count. Takes about 50 bytes a shard.
  explicit FenceGuard(std::uint32_t shards);
  /// Stores each newer term in `store` before the guard accepts it.
  /// REQUIRES: `shards` is 1 to 1,000,000; `store` is not null.
  FenceGuard(std::uint32_t shards, std::shared_ptr<TermStore> store);
  ~FenceGuard();
  FenceGuard(const FenceGuard&) = delete;
  FenceGuard& operator=(const FenceGuard&) = delete;

  /// Remembers `term` and runs `effect` on this thread, unless a newer term of the shard was seen.
  /// The same term may come any number of times. Blocks while another effect of this shard runs,
  /// and while the guard waits for the store. So when the effect of a newer term begins, no effect
  /// of an older term is still running. The guard asks the store only if `term` is newer than
  /// Highest. After an error, `effect` did not run:
  ///   kStaleTerm           a newer term was seen, or is in the store
  ///   kInvalidArgument     the shard is out of range, or the term is not above 0
  ///   kFailedPrecondition  this process was forked after the guard was made, and is the child
  ///   (the store's own)    the store failed. The guard does not remember `term`, and still accepts
  ///                        the earlier term. This is safe: the leader with `term` has written
  ///                        nothing here yet, and its next call asks the store again
  /// An exception of `effect` or of the store passes through, and nothing stays locked. If `effect`
  /// threw, its term stays remembered. If the store threw, the term is not remembered. REQUIRES:
  /// `effect` is not empty (an empty `effect` throws std::bad_function_call, and the term stays
  /// remembered). `effect` calls neither Run nor Check of this guard, not even for another shard:
  /// the calls could wait for each other for ever.
  Status Run(ShardId shard, Term term, const std::function<void()>& effect);
  /// Like Run, with the same errors, but without an effect: checks the term and remembers it. To
  /// fence a write that follows Check, hold a lock of your own for this shard during Check and the
  /// write.
  Status Check(ShardId shard, Term term);

  /// The highest term remembered for the shard; Term{} if there is none yet. It does not read the
  /// store: a stored term is seen here only after Run or Check has asked the store for this shard.
  /// Lock-free. REQUIRES (checked): the shard is in range.
  Term Highest(ShardId shard) const noexcept;
  /// How many calls returned kStaleTerm. Not counted: a kStaleTerm that the store itself returned
  /// as an error. Lock-free.
  std::uint64_t refused() const noexcept;
  /// The shard count that the guard was made with.
  std::uint32_t shards() const noexcept;

 private:
  class Impl;
  std::unique_ptr<Impl> impl_;
};

/// A compare for your own etcd transaction: in etcd's API, target MOD, result EQUAL. The compare
/// holds until the shard's record is written again or deleted. A handoff, a resignation, an
/// operator's release and a claim write it, also a claim of the same node. The compare still holds
/// while the leader is suspended, while it is dead and not yet replaced, and after a handoff that
/// failed. If the compare does not hold, etcd carries out nothing of the transaction's success
/// branch.
struct TermCompare {
  std::string key;
  std::int64_t mod_revision = 0;
  friend bool operator==(const TermCompare&, const TermCompare&) = default;
};
/// The compare for a shard's leadership with `term`. `prefix` is EtcdOptions::prefix, `group` is
/// NodeOptions::group. Pure: it calls no server. kInvalidArgument: the prefix or group is
/// malformed, or the term is not above 0. CompareTerm does not check that there is such a shard. If
/// there is none, the compare never holds.
BATON_EXPORT Result<TermCompare> CompareTerm(std::string_view prefix, std::string_view group,
                                             ShardId shard, Term term);

/// The SQL form, for SQLite and PostgreSQL. Create the table once. Run kSqlRaiseTerm as the first
/// statement of each transaction that writes for a shard; its parameters are $1 group, $2 shard
/// number and $3 term (above 0). If it changes no row, a newer term was there: roll the transaction
/// back. The term is remembered once the transaction commits, and not if it is rolled back. The
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
