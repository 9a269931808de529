// WatchCursor: delivers the group's history in order. First comes a snapshot at a revision R, then
// the changes of each revision after R. The changes of one revision come together.
//
// The cursor reads all keys of the group in pages, and delivers them as one snapshot. R is the
// revision of the first page, which is a linearizable read. Then the cursor watches from R + 1. If
// the watch ends, the cursor opens another one after applied(), with backoff, on another endpoint
// if there is another. If etcd has compacted the next revision, the cursor delivers a new snapshot.
// A key that a snapshot lacks did not exist at the snapshot's revision. So a receiver that merges
// key by key notices every deletion.
//
// etcd may send a revision again (etcd #15271). The cursor drops and counts such repeated
// revisions.
//
// The cursor also reports a revision up to which everything has been delivered. These messages
// prove such a revision:
//  - A message with events proves the revision of its last event. The revision in the header proves
//    nothing: it is the store's, and the watch may be far behind the store.
//  - A progress message that etcd sends by itself proves its header's revision. The message that
//    says that the watch was created proves nothing.
//  - An answer to RequestProgress proves its revision if a second answer follows, and no event came
//    between the two answers. progress_proof.h has the other conditions.
//
// If a message comes from another etcd cluster than the snapshot, an endpoint leads to the wrong
// etcd. The message proves nothing, and the watch counts as failed. The cursor also reads all keys
// again, as Audit does, but at most once in WatchCursorOptions::doubt_pause. The new snapshot shows
// the owner which cluster has the group. All pages of a snapshot are from one cluster.
//
// The cursor does not promise to be current: a watch may be late without bound, or stand still at a
// stuck member of etcd. If the owner knows of a later revision, for example from its own
// transaction, it calls RequestProgress. If the cursor then delivers nothing new for too long, the
// owner calls Reopen.
//
// Threads: all methods, the destructor and the handlers run on one thread, the loop. The
// transport's threads decode records. Functions that the cursor has posted or scheduled do nothing
// once the cursor is destroyed. REQUIRES (not checked): the transport outlives the cursor;
// CursorExecutor::post can be called until the transport is destroyed, even after the cursor's end.
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
  /// Runs functions on the loop, in the order of the calls. The cursor calls it on any thread.
  std::function<void(std::function<void()>)> post;
  /// Runs a function on the loop once, after a delay. The cursor calls it on the loop.
  std::function<void(Duration, std::function<void()>)> schedule;
};

struct WatchCursorOptions {
  /// The most keys in a page of a read. REQUIRES (checked): > 0.
  std::int64_t page_limit = 10'000;
  /// The deadline of one page. If etcd gives no definite answer, the cursor asks for the page
  /// again, with backoff. The whole read begins again, with backoff, in these cases:
  ///  - etcd refuses a page.
  ///  - The keys of a page are out of order.
  ///  - A page is from another cluster than the first page.
  ///  - The first page's revision is not valid, or is below applied(). (An audit accepts any valid
  ///    revision of another cluster.)
  std::chrono::milliseconds read_deadline{5'000};
  /// If a new watch is silent for this long, the cursor closes it. Then it opens another one, with
  /// backoff, on another endpoint if there is another. A watch that falls silent later stays open:
  /// see Reopen.
  std::chrono::milliseconds open_timeout{5'000};
  /// The most messages of one watch that may wait for the loop. With more, the cursor closes the
  /// watch. When the loop has caught up, the cursor opens a new watch after applied(), at once, on
  /// another endpoint if there is another. REQUIRES (not checked): above 0.
  std::size_t max_pending_messages = 1'024;
  /// The backoff between two attempts. It is `first_backoff` at first, and doubles each time, up to
  /// `last_backoff`. Reads and watches have separate backoffs. A page that can be used resets the
  /// backoff of reads. Events or a progress message reset the backoff of watches. The message that
  /// a watch was created does not reset it.
  Duration first_backoff = std::chrono::milliseconds(100);
  Duration last_backoff = std::chrono::milliseconds(2'000);
  /// After a message of another cluster the cursor reads all keys, but at most once in this time.
  Duration doubt_pause = std::chrono::seconds(10);
  /// The time between a progress answer and the next request. If no answer comes, the next request
  /// follows after twice this time. If progress is still to be proven, a new watch gets a request
  /// as soon as etcd has created the watch.
  Duration progress_pause = std::chrono::milliseconds(250);
  /// Gets a backoff, and returns the backoff to use instead, so that nodes don't all try again at
  /// once. Unset: no jitter.
  std::function<Duration(Duration)> jitter;
};

/// Called on the loop. A handler may call the cursor's methods, but must not destroy the cursor.
/// `cluster_id`: the id of the etcd cluster that answered. Changes come only from the last
/// snapshot's cluster. REQUIRES (not checked): `snapshot` and `changes` are set.
struct WatchCursorHandler {
  /// A read of all keys begins, or its first page is asked for again. The next `snapshot` shows
  /// etcd as it is now or later.
  std::function<void()> reading = {};
  /// Gets all keys that were read. The watch goes on during an audit. So changes that are newer
  /// than an audit's snapshot may come before this snapshot. Therefore merge key by key: the
  /// greater revision wins. A key that the snapshot lacks counts as absent at the snapshot's
  /// revision.
  std::function<void(Snapshot, std::uint64_t cluster_id)> snapshot;
  /// Gets the next changes. Changes::revision may be below the revision of an audit's snapshot that
  /// came earlier. So merge changes key by key, too.
  std::function<void(Changes, std::uint64_t cluster_id)> changes;
  /// A progress message has proven that everything up to `revision` was delivered. The revisions
  /// ascend. Not called for revisions that `snapshot` and `changes` prove.
  std::function<void(Revision revision)> delivered;
  /// A read or a watch failed and will be tried again. Also called if a compaction makes the cursor
  /// read all keys again, or if the loop was too slow for the watch. `detail`: one line for logs.
  std::function<void(const std::string& detail)> trouble;
};

struct WatchCursorCounts {
  std::uint64_t snapshots = 0;           ///< delivered snapshots, including audits
  std::uint64_t resyncs = 0;             ///< reads of all keys because of a compaction
  std::uint64_t reopened = 0;            ///< watches opened after the first
  std::uint64_t repeated_revisions = 0;  ///< dropped: delivered before, or not valid
  std::uint64_t strays = 0;              ///< unknown keys among the group's keys
  std::uint64_t overflows = 0;           ///< watches closed because the loop was too slow
  std::uint64_t failed_reads = 0;        ///< pages that were refused or not answered
};

class WatchCursor {
 public:
  WatchCursor(Transport& transport, Keyspace keyspace, CursorExecutor executor,
              WatchCursorOptions options, WatchCursorHandler handler);
  /// Closes the watch. If a thread of the transport is decoding a message, waits for that thread.
  /// Afterwards no handler is called.
  ~WatchCursor();
  WatchCursor(const WatchCursor&) = delete;
  WatchCursor& operator=(const WatchCursor&) = delete;

  /// Begins to read. Calls `reading` before it returns; the other handlers are called later.
  /// REQUIRES (checked): called once.
  void Start();

  /// Call this if the watch's endpoint stands still. Closes the watch, and opens it again at once,
  /// on another endpoint if there is another. Does nothing while no watch is open: before the first
  /// snapshot, between a compaction and the snapshot after it, and during a backoff.
  void Reopen();

  /// Asks etcd for progress until everything up to `required` has been delivered, even if another
  /// watch replaces the open one. A revision below an earlier `required` changes nothing. May be
  /// called while no watch is open. REQUIRES (not checked): the store has reached `required`.
  /// Otherwise the cursor asks until the store has reached it.
  void RequestProgress(Revision required);

  /// Reads all keys again and delivers them as a snapshot, while the watch goes on. Calls `reading`
  /// before it returns. An audit repairs what a watch has lost around a compaction (etcd #19179,
  /// #18089). WatchCursorHandler::snapshot says how to merge the snapshot. Does nothing before the
  /// first snapshot, or during another read of all keys.
  void Audit();

  /// The revision after which the next watch begins: that of the last event, or of the snapshot
  /// with which the watch began. Audits and progress don't change it. 0: there was no snapshot yet.
  Revision applied() const;
  const WatchCursorCounts& counts() const;

 private:
  class Impl;
  std::shared_ptr<Impl> impl_;
};

}  // namespace baton::etcd
