// The fencing kit: what a shared resource needs to refuse a leader of old.
//
// A leader that was paused between its check of Leads() and its write does not know that another
// leads by now. Only the resource can tell, by the term that comes with each write: terms of a
// shard only grow, so whoever has seen a newer one refuses the older. Three forms, by what the
// resource is:
//
//   FenceGuard      a server of yours: it keeps the highest term seen for each shard
//   CompareTerm     etcd itself: a compare for your own transactions
//   kSqlRaiseTerm   a SQL database: the term is a row, checked in the transaction that writes
//
// What none of them gives: a refusal before the newer leader's first write (or its first Check) has
// arrived; for CompareTerm this does not matter, as it compares with Baton's own record. And
// nothing is fenced that is written past them. See the README, "How to fence".
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

/// Where a FenceGuard's terms outlive the process; of one guard at a time. Calls about one shard
/// never overlap; calls about different shards may come from several threads at once.
class BATON_EXPORT TermStore {
 public:
  virtual ~TermStore() = default;
  /// Raises the shard's term to `term` where a lower one or none is stored, and answers the
  /// highest, once that would survive a crash. It never lowers: a call that seemed to fail may take
  /// effect later, after one of a newer term.
  virtual Result<Term> Raise(ShardId shard, Term term) = 0;
};

/// Keeps the highest term seen of each shard and refuses older ones. Thread-safe. Replicas of a
/// server, each with a guard of its own, fence nothing between them: one guard for one resource.
class BATON_EXPORT FenceGuard {
 public:
  /// Terms are kept in memory, and forgotten with the process: right where what it guards is, too.
  /// REQUIRES: shards > 0.
  explicit FenceGuard(std::uint32_t shards);
  /// A shard's first term, and each newer one, is raised in `store` before it is accepted.
  /// REQUIRES: shards > 0; `store` is not null.
  FenceGuard(std::uint32_t shards, std::shared_ptr<TermStore> store);
  ~FenceGuard();
  FenceGuard(const FenceGuard&) = delete;
  FenceGuard& operator=(const FenceGuard&) = delete;

  /// Carries `effect` out unless a newer term was seen, and remembers the term. Effects of one
  /// shard run one at a time, so that none of an older term is still at work when one of a newer
  /// begins. Errors: kStaleTerm (a newer term was seen; `effect` did not run), kInvalidArgument (no
  /// such shard, or a term that is none), those of the store (`effect` did not run). What `effect`
  /// or the store throws passes through; a term that was raised stays so. `effect` must not call
  /// Run or Check for the same shard.
  Status Run(ShardId shard, Term term, const std::function<void()>& effect);
  /// The same without an effect, for callers that hold a lock of their own around check and write:
  /// a write that is made later, outside of it, is not fenced.
  Status Check(ShardId shard, Term term);

  /// The highest term seen of the shard, or that the store gave when it was asked; Term{} before
  /// the shard's first request. Lock-free. REQUIRES: a shard in range.
  Term Highest(ShardId shard) const noexcept;
  /// How often kStaleTerm was the answer. Lock-free.
  std::uint64_t refused() const noexcept;
  std::uint32_t shards() const noexcept;

 private:
  class Impl;
  std::unique_ptr<Impl> impl_;
};

/// A compare for an etcd transaction. It holds until the shard's record is written next, by a
/// handover, a resignation or another node's claim; so also while its leader is suspended, or dead
/// and nobody has taken over. Put it into your own transaction's compares (in etcd's API: target
/// MOD, result EQUAL, the mod revision); where it is false nothing was written.
struct TermCompare {
  std::string key;
  std::int64_t mod_revision = 0;
  friend bool operator==(const TermCompare&, const TermCompare&) = default;
};
/// `prefix` as in EtcdOptions. kInvalidArgument: a prefix, group or term that can't be one.
BATON_EXPORT Result<TermCompare> CompareTerm(std::string_view prefix, std::string_view group,
                                             ShardId shard, Term term);

/// The SQL form, in the words of SQLite and PostgreSQL. In each transaction that writes for a
/// shard, first run kSqlRaiseTerm with group, shard and term: where it changes no row a newer term
/// was there, and the transaction is to be rolled back. It also locks the row, so that two leaders'
/// transactions come one after the other (in SQLite begin with BEGIN IMMEDIATE).
inline constexpr const char* kSqlCreateTerms =
    "CREATE TABLE IF NOT EXISTS baton_terms (group_name TEXT NOT NULL, shard INTEGER NOT NULL, "
    "term BIGINT NOT NULL, PRIMARY KEY (group_name, shard))";
inline constexpr const char* kSqlRaiseTerm =
    "INSERT INTO baton_terms (group_name, shard, term) VALUES ($1, $2, $3) ON CONFLICT "
    "(group_name, shard) DO UPDATE SET term = excluded.term WHERE excluded.term >= "
    "baton_terms.term";

}  // namespace baton
