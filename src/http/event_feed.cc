#include "http/event_feed.h"

#include <fmt/format.h>
#include <algorithm>
#include <boost/url/parse.hpp>
#include <boost/url/url_view.hpp>
#include <charconv>
#include <utility>

#include "http/history_json.h"

namespace baton::http {
namespace {

using runtime::History;
using runtime::HistoryPage;

constexpr std::string_view kPath = "/v1/events";

Response Refusal(const std::string& line) { return ErrorResponse(400, kPath, line); }

/// Reads decimal digits only; unset for any other text.
template <typename T>
std::optional<T> Number(std::string_view digits) {
  T number{};
  const char* const end = digits.data() + digits.size();
  const auto [stop, failed] = std::from_chars(digits.data(), end, number);
  if (digits.empty() || digits.front() == '-' || failed != std::errc() || stop != end) {
    return std::nullopt;
  }
  return number;
}

std::int64_t Milliseconds(std::chrono::system_clock::time_point time) {
  return std::chrono::floor<std::chrono::milliseconds>(time.time_since_epoch()).count();
}

/// Reads STARTED_MS-SEQ, which IdOf writes. Ignores other ids: they come from outside and browsers
/// repeat them, so refusing them would leave a page without events for ever.
void ReadId(std::string_view id, EventsQuestion* question) {
  const std::size_t dash = id.find('-');
  if (dash == std::string_view::npos) return;
  const auto started = Number<std::int64_t>(id.substr(0, dash));
  const auto seq = Number<std::uint64_t>(id.substr(dash + 1));
  if (!started || !seq) return;
  question->started_ms = started;
  question->after = seq;
}

}  // namespace

bool IsEvents(std::string_view target) { return target.substr(0, target.find('?')) == kPath; }

std::variant<EventsQuestion, Response> ParseEvents(const EventsHead& head) {
  const auto url = boost::urls::parse_origin_form(head.target);
  if (!url) return Refusal("the path is not percent-encoded as RFC 3986 says");
  EventsQuestion question;
  question.feed = head.accept.find("text/event-stream") != std::string_view::npos;
  const auto params = url->params();
  if (const auto after = params.find("after"); after != params.end()) {
    question.after = Number<std::uint64_t>((*after).value);
    if (!question.after) return Refusal("after is not an event number; expected 0 or more");
  }
  if (const auto limit = params.find("limit"); limit != params.end()) {
    const auto most = Number<std::size_t>((*limit).value);
    if (!most || *most < 1 || *most > runtime::kMaxEvents) {
      return Refusal(
          fmt::format("limit is invalid; expected a number from 1 to {}", runtime::kMaxEvents));
    }
    question.limit = *most;
  }
  if (const auto shard = params.find("shard"); shard != params.end()) {
    const auto number = Number<std::uint32_t>((*shard).value);
    if (!number) return Refusal("shard is invalid; expected a shard's number");
    question.shard = ShardId{*number};
  }
  if (question.feed) ReadId(head.last_event_id, &question);
  return question;
}

Response NoHistory() { return ErrorResponse(404, kPath, "this process keeps no history"); }

Response EventsResponse(const History& history, const EventsQuestion& question) {
  const HistoryPage page = history.Read(
      {.after = question.after.value_or(0), .limit = question.limit, .shard = question.shard});
  return {.status = 200,
          .content_type = "application/json",
          .body = std::make_shared<std::string>(EventsJson(page) + "\n")};
}

EventFeed::EventFeed(std::shared_ptr<const History> history, const EventsQuestion& question)
    : history_(std::move(history)), shard_(question.shard) {
  const HistoryPage now = history_->Read({.limit = 0});
  started_ms_ = Milliseconds(now.started);
  const bool foreign = question.started_ms && *question.started_ms != started_ms_;
  const std::uint64_t after = question.after.value_or(now.first - 1);
  reset_ = foreign || after > now.last || after + 1 < now.first;
  after_ = reset_ ? now.first - 1 : after;
}

EventFeed::~EventFeed() { history_->Cancel(waiting_); }

std::string EventFeed::Next() {
  const bool closed = history_->closed();  // before it is read: an event may come, and then the end
  const HistoryPage page =
      history_->Read({.after = after_, .limit = kBatch, .examine = kExamined, .shard = shard_});
  std::string text;
  if (!std::exchange(begun_, true)) text += "retry: 2000\n\n";
  const bool fell_behind = after_ + 1 < page.first;
  if (std::exchange(reset_, false) || fell_behind) text += Reset(page);
  for (const auto& event : page.events) {
    text +=
        fmt::format("id: {}\nevent: {}\ndata: {}\n\n", IdOf(event->seq),
                    event->change.empty() ? "transition" : "change", EventJson(*event, page.node));
  }
  after_ = page.upto;
  ended_ = closed && page.upto >= page.last;
  return text;
}

// The id moves a reader of one shard on while the events of other shards pass.
std::string EventFeed::Heartbeat() const {
  return fmt::format(": alive\nid: {}\n\n", IdOf(after_));
}

void EventFeed::Await(std::function<void()> ready) {
  history_->Cancel(waiting_);
  waiting_ = history_->Await(after_, std::move(ready));
}

std::string EventFeed::IdOf(std::uint64_t seq) const {
  return fmt::format("{}-{}", started_ms_, seq);
}

std::string EventFeed::Reset(const HistoryPage& page) const {
  return fmt::format("event: reset\ndata: {{\"first\":{},\"last\":{}}}\n\n", page.first, page.last);
}

}  // namespace baton::http
