// WatchCursor: delivers the group's history in order. First comes a snapshot at a revision R, then
// every whole revision after R.
//
// The cursor reads everything below the group's prefix in pages, all at the revision R of the first
// (linearizable) page. It delivers these pages as one snapshot, and watches from R + 1. If the
// watch ends, the cursor opens another one after applied(), with backoff, on another endpoint if
// there is one. If the next revision was compacted away, it delivers a new snapshot. If a snapshot
// lacks a key, the key did not exist at the snapshot's revision. The receiver merges key by key, so
// it notices every deletion.
//
// A member of etcd that loaded a snapshot sends revisions again (etcd #15271). The cursor drops and
// counts revisions that it has delivered already.
//
// The cursor also reports up to which revision everything has been delivered. These messages prove
// a revision:
//   - A message with events proves the revision of its last event. The revision in its header does
//     not count, because this is the store's revision. A watch that is behind gets up to
//     kWatchBatch revisions in a message, and thousands of events may still follow. etcd's first
//     message says that the watch was created; its header does not count either.
//   - A progress message that etcd sends by itself proves its header's revision.
//   - An answer to RequestProgress proves its revision if a second answer follows, and no event
//     came between the two (ProgressProof has the other conditions).
//
// A message of another etcd cluster than the snapshot's proves nothing: an endpoint leads to the
// wrong etcd. The cursor ends such a watch like one that failed. It also reads everything again, as
// Audit does, but at most once in `doubt_pause`. The snapshot of this read shows the owner which
// cluster has the group. A snapshot is of one cluster.
//
// Only events move the revision after which the next watch begins; progress never moves it.
//
// The cursor does not promise to be current: a watch may be late without bound, or stand still at a
// stuck member. If the owner knows of a later revision, from a committed transaction, it calls
// RequestProgress. If the watch then delivers nothing new for too long, the owner calls Reopen.
//
// Threads: all methods, the destructor and the handlers run on one executor, the loop. The
// transport's threads decode records and post the facts to the loop, which decodes nothing.
// Functions that were posted before the destructor ran do nothing after it. REQUIRES (not checked):
// the transport outlives the cursor. REQUIRES (not checked): the executor's `post` can be called
// until the transport is destroyed, because the answer to a read in flight is posted even after the
// cursor's end.
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

/// The loop that runs the cursor.
struct CursorExecutor {
  /// Runs a function on the loop, in order; called from any thread.
  std::function<void(std::function<void()>)> post;
  /// Runs a function on the loop once, after a delay; called on the loop.
  std::function<void(Duration, std::function<void()>)> schedule;
};

struct WatchCursorOptions {
  /// The most keys in a page of a read. REQUIRES (checked): > 0.
  std::int64_t page_limit = 10'000;
  /// The deadline of one page. If there is no definite answer, the page is read again, with
  /// backoff. If etcd refuses a page, or the answer can't be used, the whole read begins again,
  /// with backoff. An answer can't be used if its keys are out of order, or if it is of another
  /// cluster than the first page. The first page can't be used if its revision is not valid. Nor
  /// can it be used if its revision is below applied(), except if an audit reaches another
  /// cluster. While an audit reads the further pages, applied() may become greater than the
  /// read's revision; this is no error.
  std::chrono::milliseconds read_deadline{5'000};
  /// If a new watch stream is silent for this long, the cursor tries another endpoint, with
  /// backoff. If a stream falls silent later, the cursor does nothing: see Reopen.
  std::chrono::milliseconds open_timeout{5'000};
  /// The most messages of one stream that may wait for the loop. With more, the cursor closes the
  /// stream. When the loop has caught up, a new stream begins after applied(), without backoff, on
  /// another endpoint if there is one. etcd keeps the later revisions until then. REQUIRES (not
  /// checked): above 0.
  std::size_t max_pending_messages = 1'024;
  /// The backoff between attempts is `first_backoff` at first. It doubles each time, up to
  /// `last_backoff`. Reads and watches have separate backoffs. The backoff of reads is
  /// `first_backoff` again after a page that could be used. That of watches is `first_backoff`
  /// again after events or a progress message; the message that a watch was created does not count.
  Duration first_backoff = std::chrono::milliseconds(100);
  Duration last_backoff = std::chrono::milliseconds(2'000);
  /// Messages of another cluster make the cursor read everything, but at most once in this time.
  Duration doubt_pause = std::chrono::seconds(10);
  /// The time between a progress answer and the next request. Without an answer, the next request
  /// follows after twice this time. A new watch gets a request as soon as etcd has created it, if
  /// progress is still to be proven.
  Duration progress_pause = std::chrono::milliseconds(250);
  /// Returns the backoff to use instead of a given one, so that nodes don't all try again at once;
  /// unset: no jitter.
  std::function<Duration(Duration)> jitter;
};

/// Called on the loop. REQUIRES (not checked): `snapshot` and `changes` are set. `cluster_id`: the
/// etcd cluster that answered, from the answer's header; changes come only from the last snapshot's
/// cluster. A handler may call the cursor's methods, but must not destroy the cursor.
struct WatchCursorHandler {
  /// A read of everything begins, or its first page is asked for again. The next `snapshot` shows
  /// etcd as it is at this time or later.
  std::function<void()> reading = {};
  /// Everything that was read. Because the watch goes on during an audit, an audit's snapshot may
  /// be older than changes that were delivered before it. So merge by key: the greater revision of
  /// a key wins. If the snapshot lacks a key, the key was absent at the snapshot's revision, so a
  /// change of the key with a greater revision wins here, too.
  std::function<void(Snapshot, std::uint64_t cluster_id)> snapshot;
  /// The `revision` of these changes may be below the revision of an audit's snapshot that was
  /// delivered before. So merge them in the same way.
  std::function<void(Changes, std::uint64_t cluster_id)> changes;
  /// A progress message proves that everything up to `revision` has been delivered. Not called for
  /// revisions that `snapshot` and `changes` prove. The revisions ascend.
  std::function<void(Revision revision)> delivered;
  /// A read or a watch failed and will be tried again; or everything is read again because of a
  /// compaction; or the loop was too slow for the watch. `detail`: one line for logs.
  std::function<void(const std::string& detail)> trouble;
};

struct WatchCursorCounts {
  std::uint64_t snapshots = 0;           ///< delivered snapshots, including audits
  std::uint64_t resyncs = 0;             ///< reads of everything because of a compaction
  std::uint64_t reopened = 0;            ///< watches opened after the first
  std::uint64_t repeated_revisions = 0;  ///< dropped: delivered before, or not valid
  std::uint64_t strays = 0;              ///< unknown keys seen below the prefix
  std::uint64_t overflows = 0;           ///< streams closed because the loop was too slow
  std::uint64_t failed_reads = 0;        ///< pages that were refused or not answered
};

class WatchCursor {
 public:
  WatchCursor(Transport& transport, Keyspace keyspace, CursorExecutor executor,
              WatchCursorOptions options, WatchCursorHandler handler);
  /// Closes the watch. Waits for a message that a thread of the transport decodes just then. No
  /// handler is called any more.
  ~WatchCursor();
  WatchCursor(const WatchCursor&) = delete;
  WatchCursor& operator=(const WatchCursor&) = delete;

  /// Begins to read. The handlers are called later, except `reading`, which is called at once.
  /// REQUIRES (checked): called once.
  void Start();

  /// Closes the watch, because its endpoint stands still, and opens it on another endpoint, if
  /// there is one. Does this at once, without backoff. Does nothing while no watch is open: before
  /// the first snapshot, between a compaction and the snapshot after it, and during a backoff.
  void Reopen();

  /// Asks the open watch, and the watches that follow it, for their progress until everything up to
  /// `required` has been delivered. A revision below an earlier `required` changes nothing. May be
  /// called while no watch is open. REQUIRES (not checked): the store has reached `required`.
  /// Otherwise the cursor goes on asking until the store has reached it.
  void RequestProgress(Revision required);

  /// Reads everything again and delivers it as a snapshot, while the watch goes on. The snapshot
  /// may be older than changes that were delivered before it: see WatchCursorHandler::snapshot.
  /// Calls `reading` at once. This repairs a watch's losses around a compaction (etcd #19179,
  /// #18089). Does nothing before the first snapshot, or while everything is being read already.
  void Audit();

  /// The revision of the last event, or of the snapshot that the watch began with. The next watch
  /// begins after it. Audits and progress don't change it. 0 before the first snapshot.
  Revision applied() const;
  const WatchCursorCounts& counts() const;

 private:
  class Impl;
  std::shared_ptr<Impl> impl_;
};

}  // namespace baton::etcd
