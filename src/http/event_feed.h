// /v1/events: reads a request, and answers with one document or with a feed (server-sent events),
// which has no end.
//
// A feed is a position in the node's history and stores no events, so a slow reader costs no more
// than a fast one. In these cases the reader gets `event: reset`, and then the oldest events that
// are kept:
//  - The history no longer has the reader's next event.
//  - Another process numbered the event after which the reader goes on.
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
  std::string_view accept;         ///< asks for a feed if it contains "text/event-stream"
  std::string_view last_event_id;  ///< replaces ?after= of a feed, because browsers repeat both
};

struct EventsQuestion {
  std::optional<std::uint64_t> after = {};  ///< only greater numbers; all if unset or not yet used
  std::size_t limit = kDefaultEvents;       ///< the most events in a document; feeds ignore it
  std::optional<ShardId> shard = {};        ///< the answer has only its transitions; unset: all
  bool feed = false;
  /// The start time of the process that numbered `after`, in milliseconds since 1970. Unset: this
  /// process did. Only for feeds.
  std::optional<std::int64_t> started_ms = {};
};

/// Whether the path is /v1/events.
bool IsEvents(std::string_view target);
/// Reads a request. Returns the refusal (400) if a parameter is malformed, or if ?limit= is not
/// from 1 to kMaxEvents (runtime/history.h). Ignores unknown parameters, and a Last-Event-ID that
/// is not in the form of a feed's ids.
std::variant<EventsQuestion, Response> ParseEvents(const EventsHead& head);
/// The answer of a process that keeps no history (404).
Response NoHistory();
/// Answers with one document, which has the oldest events that match. Any thread.
Response EventsResponse(const runtime::History& history, const EventsQuestion& question);

/// One reader of server-sent events. Without `after`, it begins with the oldest event that is kept.
/// One thread at a time; only `ready` may be called on any thread.
class EventFeed {
 public:
  /// REQUIRES: `history` is not null.
  EventFeed(std::shared_ptr<const runtime::History> history, const EventsQuestion& question);
  /// Cancels a pending Await: `ready` is not called later.
  ~EventFeed();
  EventFeed(const EventFeed&) = delete;
  EventFeed& operator=(const EventFeed&) = delete;

  /// Returns the next events as text, at most 256 of them; call it again for more. It examines at
  /// most kExamined events, because one thread serves all feeds. Empty: there is nothing new among
  /// these. The first text is never empty.
  std::string Next();
  /// Returns the comment to send if nothing was sent for kFeedHeartbeat.
  std::string Heartbeat() const;
  /// Calls `ready` once, when Next may have something or the feed has ended. The call may come
  /// before this returns, or later on any thread. Cancels an earlier Await. REQUIRES: `ready` is
  /// quick, and calls neither this object nor the history, because the history's lock is held.
  void Await(std::function<void()> ready);
  /// Whether the node stops, so that no new events follow, and Next has examined all. If Next
  /// stopped at a bound, it may still return earlier ones.
  bool ended() const { return history_->closed() && !more_; }

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
  bool more_ = false;   ///< the last Next left events for the next one
  runtime::History::WaitId waiting_ = 0;
};

}  // namespace baton::http
