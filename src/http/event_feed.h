// /v1/events: reads a request, and answers with one document or with a feed. A feed has server-sent
// events and no end.
//
// A feed is a position in the node's history, and stores no events. So a slow reader costs no more
// than a fast one. In these cases the reader gets `event: reset`, and then all events that are
// kept, from the oldest:
//  - The history no longer has the reader's next event.
//  - Another process numbered the reader's last event, for example before a restart.
//  - This process has not used the number of the reader's last event yet.
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
/// A feed that has sent nothing for this time sends a comment.
inline constexpr std::chrono::seconds kFeedHeartbeat{15};

/// The parts of a request's head that concern events.
struct EventsHead {
  std::string_view target;
  std::string_view accept;  ///< asks for a feed if it contains "text/event-stream"
  /// The header Last-Event-ID. For a feed it replaces ?after=, because browsers send both when they
  /// connect again.
  std::string_view last_event_id;
};

struct EventsQuestion {
  /// Asks for events with greater numbers. Unset, or a number that no event has yet: asks for all
  /// events that are kept.
  std::optional<std::uint64_t> after = {};
  std::size_t limit = kDefaultEvents;  ///< the most events in a document; feeds ignore it
  std::optional<ShardId> shard = {};   ///< only transitions of this shard; unset: all events
  bool feed = false;
  /// When the process that numbered `after` started, in milliseconds since 1970. Unset: this
  /// process numbered `after`. Documents ignore `started_ms`.
  std::optional<std::int64_t> started_ms = {};
};

/// Whether the path of `target` is /v1/events.
bool IsEvents(std::string_view target);
/// Reads a request. Ignores unknown parameters. For a document, ignores Last-Event-ID. For a feed,
/// ignores a Last-Event-ID that does not have the form of a feed's ids. Returns a refusal (400) if
/// the target is not percent-encoded correctly, or if a parameter is not valid. ?limit= must be
/// from 1 to kMaxEvents (runtime/history.h).
std::variant<EventsQuestion, Response> ParseEvents(const EventsHead& head);
/// The answer of a process that keeps no history (404).
Response NoHistory();
/// Answers with one document. If more than `limit` events match, the document has the oldest of
/// them. Any thread.
Response EventsResponse(const runtime::History& history, const EventsQuestion& question);

/// One reader's feed. Without EventsQuestion::after, the feed begins with the oldest event that is
/// kept. Only one thread at a time may call its methods.
class EventFeed {
 public:
  /// REQUIRES: `history` is not null.
  EventFeed(std::shared_ptr<const runtime::History> history, const EventsQuestion& question);
  /// Cancels a pending Await: `ready` is not called later.
  ~EventFeed();
  EventFeed(const EventFeed&) = delete;
  EventFeed& operator=(const EventFeed&) = delete;

  /// Returns the text of the next events. Examines at most kExamined events, and takes at most
  /// kBatch of them. Empty: none of the examined events is for this reader, or there was no new
  /// event. The first text is never empty. After a text, call Next again. After an empty text, call
  /// Await, which calls `ready` at once if events are left to examine.
  std::string Next();
  /// Returns the comment to send if nothing was sent for kFeedHeartbeat. The comment has the id of
  /// the last examined event. So a reader that connects again goes on after this event.
  std::string Heartbeat() const;
  /// Calls `ready` once, when there are events that Next has not examined, or when the node stops.
  /// The call may come before Await returns, or later on any thread. Cancels an earlier Await.
  /// REQUIRES: `ready` is quick, calls neither this object nor the history, and does not destroy
  /// this object.
  void Await(std::function<void()> ready);
  /// Whether the feed has ended: the node had stopped before the last Next, and that Next left no
  /// event unexamined. False before the first Next.
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
