// WatchCursor: delivers the group's history in order: a snapshot at a revision R, then every whole
// revision after R.
//
// The cursor reads everything below the group's prefix in pages, all at the revision R of the first
// (linearizable) page. It delivers these pages as one snapshot, and watches from R + 1. If the
// watch ends, it opens another one after the last delivered revision, on another endpoint, with
// backoff. If that revision was compacted away, it delivers a new snapshot. If a snapshot lacks a
// key, the key did not exist at the snapshot's revision. The receiver merges key by key, so it
// notices every deletion.
//
// A member of etcd that loaded a snapshot sends revisions again (etcd #15271): the cursor drops and
// counts revisions that it has delivered already.
//
// Up to which revision has everything been delivered? The cursor says so by proof:
//   - A message with events proves the revision of its last event. Its header does not count: a
//     watch that is behind gets up to kWatchBatch revisions in a message, and the header names the
//     store's revision, although thousands of events may still come. Nor does the header of the
//     message that says that the watch was created.
//   - A progress message that etcd sends by itself proves its header's revision.
//   - So does the answer to RequestProgress, once it is plausible (ProgressProof).
//
// Progress never moves the place where the next watch begins: only events do.
//
// The cursor does not promise to be current: a watch may lag without bound or stand still (a stuck
// member). If the owner knows of a later revision, from a committed transaction, it calls
// RequestProgress. If the watch then delivers nothing new for too long, it calls Reopen.
//
// Threads: all methods, the destructor and the handlers run on one executor, the loop. The
// transport's threads decode records and post the facts to the loop, which decodes nothing.
// Functions that were posted before the destructor ran do nothing after it. The transport must
// outlive the cursor and the executor's last function, because the answer to a read in flight is
// posted even if the cursor is gone.
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
  /// How many keys a page of a read may have.
  std::int64_t page_limit = 10'000;
  /// The deadline of one page; after it the page is read again.
  std::chrono::milliseconds read_deadline{5'000};
  /// If a new watch stream is silent for this long, another endpoint is tried.
  std::chrono::milliseconds open_timeout{5'000};
  /// How many messages of one stream may wait for the loop. If there are more, the cursor closes
  /// the stream. When the loop has caught up, a new stream begins after the last delivered
  /// revision; etcd keeps the later ones until then.
  std::size_t max_pending_messages = 1'024;
  /// The backoff between attempts: `first_backoff` at first. It doubles each time, up to
  /// `last_backoff`.
  Duration first_backoff = std::chrono::milliseconds(100);
  Duration last_backoff = std::chrono::milliseconds(2'000);
  /// The time between a progress answer and the next request.
  Duration progress_pause = std::chrono::milliseconds(250);
  /// Returns a backoff with jitter, so that nodes don't all come back at once; unset: no jitter.
  std::function<Duration(Duration)> jitter;
};

/// `snapshot` and `changes` are required. `cluster_id`: etcd's, from the header of the answer.
struct WatchCursorHandler {
  /// A read of everything begins. The next `snapshot` is of this time or later.
  std::function<void()> reading = {};
  std::function<void(Snapshot, std::uint64_t cluster_id)> snapshot;
  /// The `revision` of these changes may be below the revision of an audit's snapshot that was
  /// delivered before. So merge by key.
  std::function<void(Changes, std::uint64_t cluster_id)> changes;
  /// Everything up to `revision` has been delivered, although no event of the group says so.
  std::function<void(Revision revision)> delivered;
  /// A read or a watch failed and will be tried again; one line for logs.
  std::function<void(const std::string& detail)> trouble;
};

struct WatchCursorCounts {
  std::uint64_t snapshots = 0;           ///< delivered snapshots, including audits
  std::uint64_t resyncs = 0;             ///< new snapshots because of a compaction
  std::uint64_t reopened = 0;            ///< watches opened after the first
  std::uint64_t repeated_revisions = 0;  ///< dropped because they were delivered before
  std::uint64_t strays = 0;              ///< unknown keys seen below the prefix
  std::uint64_t overflows = 0;           ///< streams closed because the loop was too slow
  std::uint64_t failed_reads = 0;        ///< pages that were refused or not answered
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

  /// Opens the watch on another endpoint, if there is one, because the present one stands still. It
  /// does so at once, without backoff. Does nothing while no watch is open.
  void Reopen();

  /// The store has `required`. Asks the open watch, and those that follow it, for their progress
  /// until everything up to it has been delivered.
  void RequestProgress(Revision required);

  /// Reads everything again and delivers it as a snapshot, while the watch goes on. This repairs
  /// what a watch may have lost around a compaction (etcd #19179, #18089). Does nothing while a
  /// read is in flight.
  void Audit();

  /// The revision of the last event, or of the snapshot that the watch began with: the next watch
  /// begins after it. 0 before the first snapshot.
  Revision applied() const;
  const WatchCursorCounts& counts() const;

 private:
  class Impl;
  std::shared_ptr<Impl> impl_;
};

}  // namespace baton::etcd
