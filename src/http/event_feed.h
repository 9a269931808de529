// /v1/events: reads a request, and answers it as one document or as a feed, which has no end
// (server-sent events).
//
// A feed is a cursor over the node's history and stores no events. So a slow reader costs no more
// than a fast one. A reader that falls behind the kept events gets `event: reset`, and continues
// from the oldest.
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

inline constexpr std::size_t kDefaultEvents = 1'000;  ///< in one document
/// How often a feed sends something if nothing happens.
inline constexpr std::chrono::seconds kFeedHeartbeat{15};

/// The parts of a request's head that concern events.
struct EventsHead {
  std::string_view target;
  std::string_view accept;         ///< asks for a feed if it contains "text/event-stream"
  std::string_view last_event_id;  ///< wins over ?after=, because browsers repeat both
};

struct EventsQuestion {
  std::optional<std::uint64_t> after = {};  ///< unset: from the oldest
  std::size_t limit = kDefaultEvents;
  std::optional<ShardId> shard = {};
  bool feed = false;
  /// When the process began that numbered `after`, in milliseconds since 1970; unset: any process.
  std::optional<std::int64_t> started_ms = {};
};

/// Whether the path is /v1/events.
bool IsEvents(std::string_view target);
/// Reads a request, or returns the refusal. A Last-Event-ID that no feed wrote is ignored.
std::variant<EventsQuestion, Response> ParseEvents(const EventsHead& head);
/// The answer of a process that keeps no history.
Response NoHistory();
/// Answers with one document. Any thread.
Response EventsResponse(const runtime::History& history, const EventsQuestion& question);

/// One reader of server-sent events. For one thread only; `ready` may be called on any.
class EventFeed {
 public:
  EventFeed(std::shared_ptr<const runtime::History> history, const EventsQuestion& question);
  /// Cancels a pending Await.
  ~EventFeed();
  EventFeed(const EventFeed&) = delete;
  EventFeed& operator=(const EventFeed&) = delete;

  /// Returns the text to send now; empty: there is nothing new. Bounded: the next call returns the
  /// rest.
  std::string Next();
  /// The text to send if nothing was sent for kFeedHeartbeat.
  std::string Heartbeat() const;
  /// Calls `ready` once, at once or later on any thread, when Next may have something or the feed
  /// has ended. It must be quick and call neither this object nor the history, whose lock is held.
  /// A pending Await is cancelled.
  void Await(std::function<void()> ready);
  /// Whether no new events follow because the node stops; Next may still have earlier ones.
  bool ended() const { return history_->closed(); }

 private:
  static constexpr std::size_t kBatch = 256;  ///< events in one Next

  std::string IdOf(std::uint64_t seq) const;
  std::string Reset(const runtime::HistoryPage& page) const;

  const std::shared_ptr<const runtime::History> history_;
  const std::optional<ShardId> shard_;
  std::int64_t started_ms_ = 0;
  std::uint64_t after_ = 0;
  bool begun_ = false;  ///< something was sent
  bool reset_ = false;  ///< the next text says that the reader's number was of no use
  runtime::History::WaitId waiting_ = 0;
};

}  // namespace baton::http
