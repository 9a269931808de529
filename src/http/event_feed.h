// /v1/events: what a request asks, the answer as one document, and the answer without an end
// (server-sent events).
//
// A feed is a cursor over the node's history: it holds nothing of its own, so one that is read
// slowly costs no more than one that is read fast. Who falls behind what is kept is told so
// (`event: reset`), and goes on from the oldest.
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

inline constexpr std::size_t kDefaultEvents = 1'000;  ///< of one document
inline constexpr std::size_t kMostEvents = 10'000;
/// How often a feed says that it is there, where nothing happens.
inline constexpr std::chrono::seconds kFeedHeartbeat{15};

/// What of a request's head concerns events.
struct EventsHead {
  std::string_view target;
  std::string_view accept;         ///< "text/event-stream" among others: as a feed
  std::string_view last_event_id;  ///< goes before ?after=, as browsers repeat both
};

struct EventsQuestion {
  std::optional<std::uint64_t> after = {};  ///< unset: from the oldest
  std::size_t limit = kDefaultEvents;
  std::optional<ShardId> shard = {};
  bool feed = false;
  /// When the process began whose number `after` is, in milliseconds since 1970; unset: any.
  std::optional<std::int64_t> started_ms = {};
};

/// The path is /v1/events.
bool IsEvents(std::string_view target);
/// What a request asks, or the refusal.
std::variant<EventsQuestion, Response> ParseEvents(const EventsHead& head);
/// The answer of a process that keeps no history.
Response NoHistory();
/// The answer as one document. Any thread.
Response EventsResponse(const runtime::History& history, const EventsQuestion& question);

/// One reader of server-sent events. For one thread, but for what Await calls.
class EventFeed {
 public:
  EventFeed(std::shared_ptr<const runtime::History> history, const EventsQuestion& question);
  /// Nothing is called any more.
  ~EventFeed();
  EventFeed(const EventFeed&) = delete;
  EventFeed& operator=(const EventFeed&) = delete;

  /// What is to be sent now; empty: nothing new. Bounded: what is left comes with the next call.
  std::string Next();
  /// What is sent where nothing happened for kFeedHeartbeat.
  std::string Heartbeat() const;
  /// Calls `ready` once, on any thread, when Next has something, or nothing follows. One at a time.
  void Await(std::function<void()> ready);
  /// Nothing follows: the node stops.
  bool ended() const { return history_->closed(); }

 private:
  static constexpr std::size_t kBatch = 256;  ///< events of one Next

  std::string IdOf(std::uint64_t seq) const;
  std::string Reset(const runtime::HistoryPage& page) const;

  const std::shared_ptr<const runtime::History> history_;
  const std::optional<ShardId> shard_;
  std::int64_t started_ms_ = 0;
  std::uint64_t after_ = 0;
  bool begun_ = false;  ///< something was sent
  bool reset_ = false;  ///< the reader's number is of no use here, which it is to be told
  runtime::History::WaitId waiting_ = 0;
};

}  // namespace baton::http
