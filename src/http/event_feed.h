// /v1/events: reads a request, and answers with one document or with a feed (server-sent events),
// which has no end.
//
// A feed is a position in the node's history, and stores no events. So a slow reader costs no more
// than a fast one. In these cases the reader gets `event: reset`, and then all events that are
// kept, from the oldest:
//  - The history no longer has the reader's next event.
//  - The reader's last event has a number from another process, for example from before a restart.
//  - No event has that number yet.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <variant>

#include "http/response.h"
#include "runtime/history.h"

namespace baton::http {

inline constexpr std::size_t kDefaultEvents = 1'000;  ///< in one document without ?limit=
/// After this time without an event, a feed sends a comment.
inline constexpr std::chrono::seconds kFeedHeartbeat{15};

/// The parts of a request's head that concern events.
struct EventsHead {
  std::string_view target;
  std::string_view accept;  ///< asks for a feed if it contains "text/event-stream"
  /// The header Last-Event-ID. It replaces ?after= of a feed, because browsers send both when they
  /// connect again.
  std::string_view last_event_id;
};

struct EventsQuestion {
  /// Asks for events with greater numbers. Unset, or a number that no event has yet: all events.
  std::optional<std::uint64_t> after = {};
  std::size_t limit = kDefaultEvents;  ///< the most events in a document; feeds ignore it
  std::optional<ShardId> shard = {};   ///< only transitions of this shard; unset: all events
  bool feed = false;
  /// The start time of the process that numbered `after`, in milliseconds since 1970. Unset: this
  /// process numbered it. Documents ignore it.
  std::optional<std::int64_t> started_ms = {};
};

/// Whether the path is /v1/events.
bool IsEvents(std::string_view target);
/// Reads a request. Returns the refusal (400) if the target is not percent-encoded correctly, a
/// parameter is malformed, or ?limit= is not from 1 to kMaxEvents (runtime/history.h). Ignores
/// unknown parameters. For a document it ignores Last-Event-ID. For a feed it ignores a
/// Last-Event-ID that does not have the form of a feed's ids.
std::variant<EventsQuestion, Response> ParseEvents(const EventsHead& head);
/// The answer of a process that keeps no history (404).
Response NoHistory();
/// Answers with one document. If more than `limit` events match, it has the oldest ones. Any
/// thread.
Response EventsResponse(const runtime::History& history, const EventsQuestion& question);

/// One reader of server-sent events. Without EventsQuestion::after, it begins with the oldest event
/// that is kept. Only one thread at a time may call its methods. `ready` may be called on any
/// thread.
class EventFeed {
 public:
  /// REQUIRES: `history` is not null.
  EventFeed(std::shared_ptr<const runtime::History> history, const EventsQuestion& question);
  /// Cancels a pending Await: `ready` is not called later.
  ~EventFeed();
  EventFeed(const EventFeed&) = delete;
  EventFeed& operator=(const EventFeed&) = delete;

  /// Returns the text of the next events, at most 256. It examines at most kExamined events,
  /// because one thread serves all feeds. Empty: none of the examined events is for this reader, or
  /// there was no new event. After a text, call it again. After an empty text, call Await, which
  /// calls `ready` at once if events are left to examine. The first text is never empty.
  std::string Next();
  /// Returns the comment to send if nothing was sent for kFeedHeartbeat. Its id is that of the last
  /// examined event, so the reader goes on after this event when it connects again.
  std::string Heartbeat() const;
  /// Calls `ready` once, when there are events that Next has not examined, or when the node stops.
  /// The call may come before Await returns, or later on any thread. Cancels an earlier Await.
  /// REQUIRES: `ready` is quick, calls neither this object nor the history, and does not destroy
  /// this object. Reason: the history's lock is held during the call, and the destructor takes this
  /// lock.
  void Await(std::function<void()> ready);
  /// Whether the feed has ended: the node had stopped before the last Next, which left no events
  /// for another one. False before the first Next.
  bool ended() const { return ended_; }

 private:
  static constexpr std::size_t kBatch = 256;  ///< events in one Next
  static constexpr std::size_t kExamined = 4096;

  std::string IdOf(std::uint64_t seq) const;
  std::string Reset(const runtime::HistoryPage& page) const;

  const std::shared_ptr<const runtime::History> history_;
  const std::optional<ShardId> shard_;
  std::int64_t started_ms_ = 0;
  std::uint64_t after_ = 0;
  bool begun_ = false;  ///< Next was called
  bool reset_ = false;  ///< the next text begins with a reset
  bool ended_ = false;
  runtime::History::WaitId waiting_ = 0;
};

}  // namespace baton::http
