#include "etcd/watch_cursor.h"

#include <algorithm>
#include <atomic>
#include <limits>
#include <optional>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "base/check.h"
#include "etcd/decoded_answers.h"
#include "etcd/progress_proof.h"

namespace baton::etcd {
namespace {

using etcdserverpb::RangeRequest;
using etcdserverpb::RangeResponse;
using etcdserverpb::WatchCreateRequest;
using etcdserverpb::WatchResponse;

// A store's revisions begin at 1, and there is always a next one.
bool IsOfStore(Revision revision) {
  return revision.value > 0 && revision.value < std::numeric_limits<std::int64_t>::max();
}

// How much of one stream waits for the loop.
struct Inbox {
  std::atomic<std::size_t> pending{0};
  bool overflowed = false;  // only the stream's callbacks use it, one after another
};

// Without an answer to a progress request the next one comes after so many pauses.
constexpr int kUnansweredPauses = 2;
// A read of everything reserves room for so many pages like the first at most.
constexpr std::size_t kPagesReserved = 100;

// A delay that doubles with each attempt, until Reset.
class Backoff {
 public:
  explicit Backoff(const WatchCursorOptions& options)
      : first_(options.first_backoff), last_(options.last_backoff), jitter_(options.jitter) {}

  void Reset() { next_ = Duration{0}; }
  Duration Next() {
    next_ = next_ == Duration{0} ? first_ : std::min(last_, next_ * 2);
    return jitter_ ? jitter_(next_) : next_;
  }

 private:
  const Duration first_;
  const Duration last_;
  const std::function<Duration(Duration)> jitter_;
  Duration next_{0};
};

}  // namespace

// Lives on the loop. Other threads hold weak pointers and lock them only on the loop, so the last
// owner is there too.
class WatchCursor::Impl : public std::enable_shared_from_this<WatchCursor::Impl> {
 public:
  Impl(Transport& transport, Keyspace keyspace, CursorExecutor executor, WatchCursorOptions options,
       WatchCursorHandler handler)
      : transport_(transport),
        keyspace_(std::make_shared<const Keyspace>(std::move(keyspace))),
        executor_(std::move(executor)),
        options_(std::move(options)),
        handler_(std::move(handler)),
        read_backoff_(options_),
        watch_backoff_(options_) {
    BATON_CHECK(options_.page_limit > 0);
  }

  void Start() {
    BATON_CHECK(purpose_ == Purpose::kNone && applied_.value == 0);
    BeginRead(Purpose::kResync);
  }

  void Close() {
    closed_ = true;
    stream_.reset();
  }

  void Reopen() {
    if (!stream_) return;
    CloseWatch();
    OpenWatch();
  }

  void RequestProgress(Revision required) {
    required_ = std::max(required_, required);
    if (!asking_) Ask();
  }

  void Audit() {
    if (purpose_ == Purpose::kNone && applied_.value > 0) BeginRead(Purpose::kAudit);
  }

  Revision applied() const { return applied_; }
  const WatchCursorCounts& counts() const { return counts_; }

 private:
  // Why everything is being read: to begin there (again), or to check beside the watch.
  enum class Purpose { kNone, kResync, kAudit };

  // Wraps a function for the loop; it does nothing once the cursor is gone.
  template <typename Function>
  std::function<void()> Guarded(Function function) {
    return [weak = weak_from_this(), function = std::move(function)]() mutable {
      const auto self = weak.lock();
      if (self && !self->closed_) function(*self);
    };
  }

  template <typename Function>
  void Later(Duration delay, Function function) {
    executor_.schedule(delay, Guarded(std::move(function)));
  }

  void Trouble(const std::string& detail) {
    if (handler_.trouble) handler_.trouble(detail);
  }

  // --- Reading everything, in pages at one revision.

  void BeginRead(Purpose purpose) {
    purpose_ = purpose;
    ++read_;
    snapshot_ = {};
    next_key_ = keyspace_->begin();
    ReadPage();
  }

  void ReadPage() {
    RangeRequest request;
    request.set_key(next_key_);
    request.set_range_end(keyspace_->end());
    request.set_limit(options_.page_limit);
    request.set_revision(snapshot_.revision.value);
    if (snapshot_.revision.value == 0 && handler_.reading) handler_.reading();
    const auto arrived = [weak = weak_from_this(), keyspace = keyspace_, post = executor_.post,
                          read = read_](Reply<RangeResponse> reply) {
      auto page = std::make_shared<DecodedPage>(DecodePage(*keyspace, reply));
      post([weak, read, page] {
        const auto self = weak.lock();
        if (self && !self->closed_ && self->read_ == read) self->TakePage(std::move(*page));
      });
    };
    transport_.RangeAvoiding(avoid_, request, options_.read_deadline, arrived);
  }

  void TakePage(DecodedPage page) {
    if (!page.status.ok()) return PageFailed(page.status);
    const bool first = snapshot_.revision.value == 0;
    if (first && !IsOfStore(page.revision)) return Retry("an answer has no valid revision");
    if (!first && page.cluster_id != read_cluster_) return Retry("two etcd clusters answer");
    if (page.more && page.last_key < next_key_) return Retry("an answer's keys are out of order");
    // The owner must see another cluster, however young that is.
    const bool shows_other = purpose_ == Purpose::kAudit && page.cluster_id != cluster_id_;
    if (first && page.revision < applied_ && !shows_other) {
      if (purpose_ == Purpose::kAudit) return ReadAgain();  // the watch was faster
      // Linearizable reads don't go back. If the store itself was set back, confirmations find it.
      return Retry(
          fmt::format("an answer at revision {} is older than the view", page.revision.value));
    }
    read_backoff_.Reset();
    if (first) {
      snapshot_.revision = page.revision;
      read_cluster_ = page.cluster_id;
      // Otherwise one turn of the loop would move most of a large group to a larger vector.
      snapshot_.facts.reserve(std::min(page.keys, kPagesReserved * page.facts.size()));
    }
    counts_.strays += page.strays;
    std::move(page.facts.begin(), page.facts.end(), std::back_inserter(snapshot_.facts));
    if (!page.more) return FinishRead();
    next_key_ = page.last_key + '\0';
    ReadPage();
  }

  // Not answered: reads the same page once more. Refused (its revision was compacted, or we may not
  // read): starts from the beginning.
  void PageFailed(const CallStatus& status) {
    ++counts_.failed_reads;
    if (status.outcome == Outcome::kUnknown) {
      Later(read_backoff_.Next(), [read = read_](Impl& self) {
        if (self.read_ == read) self.ReadPage();
      });
      return Trouble("reading the group failed: " + status.message);
    }
    Retry(status.message);
  }

  void Retry(const std::string& why) {
    ReadAgain();
    Trouble("reading the group failed: " + why);
  }

  void ReadAgain() {
    Later(read_backoff_.Next(), [read = read_](Impl& self) {
      if (self.read_ == read) self.BeginRead(self.purpose_);
    });
  }

  void FinishRead() {
    const Purpose purpose = std::exchange(purpose_, Purpose::kNone);
    ++read_;
    ++counts_.snapshots;
    cluster_id_ = read_cluster_;
    if (purpose == Purpose::kResync) {
      applied_ = snapshot_.revision;
      OpenWatch();
    }
    delivered_ = std::max(delivered_, snapshot_.revision);
    handler_.snapshot(std::exchange(snapshot_, {}), cluster_id_);
  }

  // --- Watching from the revision after the last delivered.

  void OpenWatch() {
    WatchCreateRequest request;
    request.set_key(keyspace_->begin());
    request.set_range_end(keyspace_->end());
    request.set_start_revision(applied_.value + 1);
    request.set_progress_notify(true);
    const std::uint64_t watch = ++watch_;
    if (watch_opened_) ++counts_.reopened;
    watch_opened_ = true;
    stream_alive_ = false;
    proof_ = {};
    stream_ = transport_.OpenWatch(request, avoid_, MakeHandler(watch));
    Later(options_.open_timeout, [watch](Impl& self) {
      if (self.watch_ == watch && self.stream_ && !self.stream_alive_) {
        self.WatchFailed("no answer from " + self.stream_->endpoint());
      }
    });
  }

  // Called on the transport's threads. Wraps a function for the loop; it does nothing once the
  // cursor or that stream of it is gone.
  template <typename Function>
  static std::function<void()> ForWatch(const std::weak_ptr<Impl>& cursor, std::uint64_t watch,
                                        Function function) {
    return [cursor, watch, function = std::move(function)]() mutable {
      const auto self = cursor.lock();
      if (self && !self->closed_ && self->watch_ == watch) function(*self);
    };
  }

  WatchHandler MakeHandler(std::uint64_t watch) {
    WatchHandler handler;
    handler.response = [weak = weak_from_this(), keyspace = keyspace_, post = executor_.post, watch,
                        inbox = std::make_shared<Inbox>(),
                        limit = options_.max_pending_messages](const WatchResponse& response) {
      if (inbox->overflowed) return;  // nothing may follow a dropped message
      if (inbox->pending >= limit) {
        inbox->overflowed = true;
        return post(ForWatch(weak, watch, [](Impl& self) { self.Overflowed(); }));
      }
      ++inbox->pending;
      for (DecodedMessage& part : InParts(DecodeMessage(*keyspace, response))) {
        auto message = std::make_shared<DecodedMessage>(std::move(part));
        post(ForWatch(weak, watch, [inbox, message](Impl& self) {
          if (!message->more) --inbox->pending;
          self.TakeMessage(std::move(*message));
        }));
      }
    };
    handler.ended = [weak = weak_from_this(), post = executor_.post,
                     watch](const CallStatus& status) {
      post(ForWatch(weak, watch, [why = status.message](Impl& self) { self.WatchFailed(why); }));
    };
    return handler;
  }

  void TakeMessage(DecodedMessage message) {
    if (message.cluster_id != cluster_id_) return Doubt(message.cluster_id);
    stream_alive_ = true;
    counts_.strays += message.strays;
    if (message.canceled) return Canceled(message);
    if (message.revisions.empty()) return TakeProgress(message);
    watch_backoff_.Reset();
    proof_.TakeEvents(message.more ? kWatchBatch : message.batch);
    Changes changes = TakeRevisions(message);
    if (changes.revision.value == 0) return;
    applied_ = changes.revision;
    delivered_ = std::max(delivered_, applied_);
    handler_.changes(std::move(changes), message.cluster_id);
  }

  // The message's new revisions; `revision` is 0 if there are none.
  Changes TakeRevisions(DecodedMessage& message) {
    Changes changes;
    for (DecodedRevision& revision : message.revisions) {
      if (revision.revision <= applied_ || !IsOfStore(revision.revision)) {
        ++counts_.repeated_revisions;
        continue;
      }
      changes.revision = revision.revision;
      std::move(revision.facts.begin(), revision.facts.end(), std::back_inserter(changes.facts));
    }
    return changes;
  }

  // --- What has been delivered.

  void TakeProgress(const DecodedMessage& message) {
    // A created watch does not prove success: with a bad token etcd creates it, then cancels it.
    if (message.created) return asking_ ? Ask() : void();
    watch_backoff_.Reset();
    if (message.asked_for) return TakeAnswer(message.header);
    if (IsOfStore(message.header)) Proven(message.header);
  }

  void TakeAnswer(Revision revision) {
    if (asking_) AskAfter(options_.progress_pause);
    if (!IsOfStore(revision)) return;
    if (const auto proven = proof_.TakeAnswer(revision)) Proven(*proven);
  }

  void Proven(Revision revision) {
    if (revision <= delivered_) return;
    delivered_ = revision;
    if (handler_.delivered) handler_.delivered(revision);
  }

  // Asks for progress, a pause after each answer. Members of 3.5.8 and later don't answer while the
  // watch is behind, so it asks again without an answer, too.
  void Ask() {
    asking_ = delivered_ < required_;
    if (!asking_) return;
    if (stream_ && stream_alive_) {
      proof_.Asked();
      stream_->RequestProgress();
    }
    Later(kUnansweredPauses * options_.progress_pause, [request = ++request_](Impl& self) {
      if (self.request_ != request) return;
      self.proof_.Unanswered();
      self.Ask();
    });
  }

  void AskAfter(Duration pause) {
    Later(pause, [request = ++request_](Impl& self) {
      if (self.request_ == request) self.Ask();
    });
  }

  void Canceled(const DecodedMessage& message) {
    if (message.compact_revision == 0) return WatchFailed(message.cancel_reason);
    // This endpoint answers. The one before may be stuck, so the read avoids it, too.
    const std::string avoid = avoid_;
    CloseWatch();
    avoid_ = avoid;
    ++counts_.resyncs;
    BeginRead(Purpose::kResync);  // replaces an audit in flight
    Trouble(fmt::format(
        "etcd compacted the watch's next revision, and all up to {}: reading everything again",
        message.compact_revision));
  }

  // Comes behind the last message that was kept, so the loop has handled all of those.
  void Overflowed() {
    ++counts_.overflows;
    CloseWatch();
    OpenWatch();
    Trouble("the watch delivers faster than this node can follow: watching again from revision " +
            std::to_string(applied_.value + 1));
  }

  void WatchFailed(const std::string& why) {
    CloseWatch();
    Later(watch_backoff_.Next(), [watch = watch_](Impl& self) {
      if (self.watch_ == watch) self.OpenWatch();
    });
    Trouble("watching the group failed: " + why);
  }

  // The endpoint leads to another etcd than the last snapshot is of, so what it says proves
  // nothing. Only a read of everything shows which etcd has the group now.
  void Doubt(std::uint64_t answering) {
    WatchFailed(fmt::format("{} leads to etcd cluster {}, and the group was read in {}",
                            stream_->endpoint(), answering, cluster_id_));
    if (std::exchange(doubts_, true)) return;
    Later(options_.doubt_pause, [](Impl& self) { self.doubts_ = false; });
    Audit();
  }

  // Messages of it that are still posted will be ignored.
  void CloseWatch() {
    ++watch_;
    if (stream_) avoid_ = stream_->endpoint();
    stream_.reset();
  }

  Transport& transport_;
  const std::shared_ptr<const Keyspace> keyspace_;
  const CursorExecutor executor_;
  const WatchCursorOptions options_;
  const WatchCursorHandler handler_;
  bool closed_ = false;

  // The read in flight; its number lets answers to earlier reads be ignored.
  Purpose purpose_ = Purpose::kNone;
  std::uint64_t read_ = 0;
  Snapshot snapshot_;
  std::string next_key_;
  std::uint64_t read_cluster_ = 0;
  Backoff read_backoff_;

  std::uint64_t cluster_id_ = 0;  // of the last snapshot
  bool doubts_ = false;           // another cluster's message made it read within `doubt_pause`

  // The watch, with a number for the same purpose.
  Revision applied_;
  std::uint64_t watch_ = 0;
  bool watch_opened_ = false;
  bool stream_alive_ = false;
  std::unique_ptr<WatchStream> stream_;
  std::string avoid_;
  Backoff watch_backoff_;

  Revision delivered_;
  Revision required_;
  bool asking_ = false;
  std::uint64_t request_ = 0;  // the next one; its number lets timers of earlier ones be ignored
  ProgressProof proof_;        // of this stream

  WatchCursorCounts counts_;
};

WatchCursor::WatchCursor(Transport& transport, Keyspace keyspace, CursorExecutor executor,
                         WatchCursorOptions options, WatchCursorHandler handler)
    : impl_(std::make_shared<Impl>(transport, std::move(keyspace), std::move(executor),
                                   std::move(options), std::move(handler))) {}

WatchCursor::~WatchCursor() { impl_->Close(); }

void WatchCursor::Start() { impl_->Start(); }
void WatchCursor::Reopen() { impl_->Reopen(); }
void WatchCursor::RequestProgress(Revision required) { impl_->RequestProgress(required); }
void WatchCursor::Audit() { impl_->Audit(); }
Revision WatchCursor::applied() const { return impl_->applied(); }
const WatchCursorCounts& WatchCursor::counts() const { return impl_->counts(); }

}  // namespace baton::etcd
