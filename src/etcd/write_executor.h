// Carries guarded writes to etcd, and confirms sessions.
//
// Execute() puts a write first as one flat transaction, all or nothing; where that is refused, as
// nested transactions under the shared guards, so that one conflict costs one item. Larger writes
// than fit a transaction, and servers with a lowered limit, are served in portions, one after
// another. Nothing is retried: after kUnknown the caller resends what is unknown of the write,
// which is safe because every guard is stable: what a lost answer had put makes the resend refused,
// and `read_back` shows it.
//
// Threads: every method may be called from any thread and never blocks. Handlers come once, on the
// transport's threads, never from inside the call; they must not block (post and return). The
// executor may be destroyed with calls under way: their handlers still come, with what is known by
// then. The transport must outlive the executor.
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <vector>

#include "base/clock.h"
#include "base/writes.h"
#include "etcd/keyspace.h"
#include "etcd/transport.h"

namespace baton::etcd {

/// What became of a session's confirmation.
struct ConfirmResult {
  /// kDone: committed, `passed` says whether the session's guard held. Otherwise nothing is known:
  /// a confirmation that was not answered, or was refused, confirms nothing and ends nothing.
  Outcome outcome = Outcome::kUnknown;
  bool passed = false;
  Revision revision;            ///< the store's when it committed: a floor for the watch
  std::uint64_t raft_term = 0;  ///< of the member that answered
  std::uint64_t cluster_id = 0;
  std::optional<MemberFact> member;  ///< what our member key says instead, where not passed
  std::string detail;                ///< one line, where the outcome is not kDone
  bool permanent = false;            ///< credentials or role: trying again is useless
};

/// A write in etcd's terms, ready to be sent once.
class PreparedWrite {
 public:
  virtual ~PreparedWrite() = default;
};

class WriteExecutor {
 public:
  using WriteHandler = std::function<void(WriteResult)>;
  using ConfirmHandler = std::function<void(ConfirmResult)>;

  /// `clock` bounds writes of several transactions; it must outlive the executor's calls.
  WriteExecutor(Transport& transport, Keyspace keyspace, const Clock& clock = Clock::Real());
  ~WriteExecutor();
  WriteExecutor(const WriteExecutor&) = delete;
  WriteExecutor& operator=(const WriteExecutor&) = delete;

  /// Puts a write into etcd's terms without sending it: for callers to whom the moment of sending
  /// matters, as encoding a batch takes some hundred microseconds.
  /// `earlier`: `items` of the last result, where this is a write sent again (items missing there
  /// are unknown). What it calls done or refused is not sent, and comes back as it was, and the
  /// rest goes as nested transactions at once; so a write of many portions gets on however slowly
  /// etcd answers. What a server refuses to look at (credentials, no space) stays unknown then: an
  /// earlier copy may still land. REQUIRES: a batch has at least one item, no two of one key, and
  /// guards that are set; something is unknown in `earlier`.
  std::shared_ptr<PreparedWrite> Prepare(const Write& write,
                                         std::optional<std::vector<Outcome>> earlier = {}) const;

  /// Sends it. `deadline`: for the whole write; what is not answered by then is unknown. REQUIRES:
  /// it was prepared by this executor, and is executed once.
  void Execute(std::shared_ptr<PreparedWrite> write, std::chrono::milliseconds deadline,
               WriteHandler handler);

  /// One raft entry that compares our member key's lease and create revision with the session's: no
  /// new revision, no watch event, and it passes while the database is full.
  void Confirm(const SessionGuard& guard, std::chrono::milliseconds deadline,
               ConfirmHandler handler);

  /// The operations that a transaction may have, as far as known: kMaxTxnOperations, or less for a
  /// while once a server refused that many.
  std::size_t operation_limit() const;

  struct Shared;  ///< what outlives the executor while calls are under way

 private:
  std::shared_ptr<Shared> shared_;
};

}  // namespace baton::etcd
