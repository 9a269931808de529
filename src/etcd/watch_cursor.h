// One place in the group's history that only moves forward: a snapshot at a revision R, then every
// whole revision after it, in order.
//
// It reads everything below the group's prefix in pages, all at the revision of the first
// (linearizable) page, delivers it, and watches from R + 1. A watch that ends is opened again where
// the last delivered revision ended, on another endpoint, with backoff. Where that was compacted
// away, a new snapshot is delivered: absent keys are absences at its revision, and whoever receives
// it merges key by key, so that no deletion is missed. Revisions that were delivered already (a
// member that loaded a snapshot sends them again, etcd #15271) are dropped and counted. Progress
// answers only say that the stream is alive; they may overtake events (etcd #15220) and never move
// the place.
//
// What it does not promise: to be current. A watch may lag without bound or stand still (a stuck
// member): whoever knows of a later revision, by a committed transaction, calls RequestProgress and
// then Reopen.
//
// Threads: all methods, the destructor and the handlers belong to one executor, the loop. Transport
// threads decode records, so that the loop only takes facts, and post; functions posted before the
// destructor do nothing after it. The transport must outlive the cursor, and what the executor's
// functions use the transport: a read that is under way is posted also when its cursor is gone.
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>

#include "base/clock.h"
#include "base/facts.h"
#include "etcd/keyspace.h"
#include "etcd/transport.h"

namespace baton::etcd {

/// The loop that the cursor lives on.
struct CursorExecutor {
  /// Runs a function on the loop, in order; called from any thread.
  std::function<void(std::function<void()>)> post;
  /// Runs a function on the loop once, after a delay; called on the loop.
  std::function<void(Duration, std::function<void()>)> schedule;
};

struct WatchCursorOptions {
  /// Keys per page of a paged read.
  std::int64_t page_limit = 10'000;
  /// For one page; after it the page is read again.
  std::chrono::milliseconds read_deadline{5'000};
  /// A new watch stream must say something by then, or another endpoint is tried.
  std::chrono::milliseconds open_timeout{5'000};
  /// Messages of one stream that wait for the loop. Above it the stream is given up: etcd keeps the
  /// rest, and a new stream begins where the loop is once it has caught up.
  std::size_t max_pending_messages = 1'024;
  /// Between attempts; doubled from the first to the last.
  Duration first_backoff = std::chrono::milliseconds(100);
  Duration last_backoff = std::chrono::milliseconds(2'000);
  /// Spreads a backoff, so that nodes don't come back all at once; unset: not spread.
  std::function<Duration(Duration)> jitter;
};

/// `snapshot` and `changes` are required. `cluster_id`: etcd's, from the header of the answer.
struct WatchCursorHandler {
  std::function<void(Snapshot, std::uint64_t cluster_id)> snapshot;
  /// `revision` may be below that of an audit's snapshot delivered before: merge by key.
  std::function<void(Changes, std::uint64_t cluster_id)> changes;
  /// The stream is alive and its member's store is at `revision`. Not a bookmark.
  std::function<void(Revision revision, std::uint64_t cluster_id)> heard;
  /// A read or a watch failed and will be tried again; one line for logs.
  std::function<void(const std::string& detail)> trouble;
};

struct WatchCursorCounts {
  std::uint64_t snapshots = 0;           ///< delivered, audits included
  std::uint64_t resyncs = 0;             ///< snapshots that a compaction made necessary
  std::uint64_t reopened = 0;            ///< watches opened after the first
  std::uint64_t repeated_revisions = 0;  ///< dropped: delivered before
  std::uint64_t strays = 0;              ///< keys below the prefix that are none of ours, as met
  std::uint64_t overflows = 0;           ///< streams given up because the loop was too slow
  std::uint64_t failed_reads = 0;        ///< pages that were not answered, or refused
};

class WatchCursor {
 public:
  WatchCursor(Transport& transport, Keyspace keyspace, CursorExecutor executor,
              WatchCursorOptions options, WatchCursorHandler handler);
  ~WatchCursor();
  WatchCursor(const WatchCursor&) = delete;
  WatchCursor& operator=(const WatchCursor&) = delete;

  /// Begins to read. REQUIRES: called once. All handlers come later, never from inside a method.
  void Start();

  /// The watch stands still: opens it on another endpoint. Does nothing while none is open.
  void Reopen();

  /// Asks the open watch for a sign of life; `heard` gives it.
  void RequestProgress();

  /// Reads everything again and delivers it as a snapshot, beside the watch: repairs what a watch
  /// may have lost around a compaction (etcd #19179, #18089). Does nothing while a read is under
  /// way.
  void Audit();

  /// Every revision up to it has been delivered; 0 before the first snapshot.
  Revision applied() const;
  const WatchCursorCounts& counts() const;

 private:
  class Impl;
  std::shared_ptr<Impl> impl_;
};

}  // namespace baton::etcd
