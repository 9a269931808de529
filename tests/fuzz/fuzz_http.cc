// http: bytes from a socket, through Beast's parser as a Connection sets it up; then the parsed
// request through the Handler and the queries of /v1/events and /v1/routes.
//
// Must hold: the answer's status is documented and is not 500. JSON parses as JSON, and an error is
// one line. An accepted query keeps to its bounds.
#include <boost/beast/http.hpp>

#include <algorithm>
#include <array>

#include "fuzz/targets.h"
#include "http/connection.h"
#include "http/event_feed.h"
#include "http/fake_control.h"
#include "http/handler.h"
#include "http/route_polls.h"
#include "http/server.h"

namespace baton::fuzz {
namespace {

namespace beast = boost::beast;

class Node {
 public:
  Node() {
    runtime::NodeStatus status;
    status.group = "orders";
    status.node = "n1";
    status.shard_count = 4;
    status.revision = Revision{900};
    status.ready = true;
    for (std::uint32_t i = 0; i < 4; ++i) {
      runtime::ShardStatus shard;
      shard.shard = ShardId{i};
      if (i > 0) shard.leader = "n1";
      if (i > 0) shard.term = Term{800 + i};
      shard.state = i > 0 ? ShardState::kLed : ShardState::kLeaderless;
      status.shards.push_back(shard);
    }
    control_.SetStatus(std::move(status));
    control_.Lead({ShardId{1}, Term{801}, true, true});
  }

  http::Handler& handler() { return handler_; }
  std::shared_ptr<const runtime::History> history() const { return control_.kept; }

 private:
  http::FakeControl control_;
  http::Handler handler_{control_, {}};
};

void Judge(const http::Response& response) {
  constexpr std::array kDocumented = {200u, 400u, 404u, 405u, 413u, 431u, 503u};
  Must(std::find(kDocumented.begin(), kDocumented.end(), response.status) != kDocumented.end(),
       "a status is one of those documented", std::to_string(response.status));
  Must(response.body != nullptr, "an answer has a body");
  if (response.content_type == "application/json") return MustBeJson(*response.body);
  if (response.status == 200) return;
  Must(response.body->ends_with('\n'), "an error ends with a line", *response.body);
  MustBeOneLine(std::string_view(*response.body).substr(0, response.body->size() - 1));
}

void AskEvents(const Node& node, const http::Request& request) {
  const auto parsed = http::ParseEvents(
      {.target = request.target, .accept = request.accept, .last_event_id = request.last_event_id});
  if (const auto* refusal = std::get_if<http::Response>(&parsed)) return Judge(*refusal);
  const auto& question = std::get<http::EventsQuestion>(parsed);
  Must(question.limit >= 1 && question.limit <= runtime::kMaxEvents, "a document has its bound");
  if (!question.feed) return Judge(http::EventsResponse(*node.history(), question));
  http::EventFeed feed(node.history(), question);
  Must(feed.Next().starts_with("retry: "), "a feed begins with how to come back");
  Must(feed.Next().empty(), "nothing new is nothing");
}

void AskRoutes(const http::Request& request) {
  const auto parsed = http::ParseRoutes(request.target);
  if (const auto* refusal = std::get_if<http::Response>(&parsed)) return Judge(*refusal);
  const auto& question = std::get<http::RoutesQuestion>(parsed);
  Must(question.wait >= Duration(0) && question.wait <= http::kLongestWait, "a poll has its bound");
  Must(!question.after || question.after->value >= 0, "no revision is below 0");
}

void Ask(const http::Request& request) {
  static Node node;
  if (http::IsEvents(request.target)) AskEvents(node, request);
  if (http::IsRoutes(request.target)) AskRoutes(request);
  if (const auto quick = node.handler().TryAnswer(request.target)) Judge(*quick);
  Judge(node.handler().Answer(request.target));
}

std::string Text(boost::beast::string_view text) { return {text.data(), text.size()}; }

// Does with one request what Connection does.
void RunRequest(std::string_view bytes) {
  beast::http::request_parser<beast::http::string_body> parser;
  parser.header_limit(http::kMaxHeader);
  parser.body_limit(http::kMaxBody);
  parser.eager(true);
  beast::error_code error;
  boost::asio::const_buffer rest(bytes.data(), bytes.size());
  while (rest.size() > 0 && !parser.is_done()) {
    const std::size_t taken = parser.put(rest, error);
    if (error) break;
    rest += taken;
  }
  if (error && error != beast::http::error::need_more) {
    return Judge(http::TextResponse(400, "malformed request: " + error.message()));
  }
  if (!parser.is_done()) return;
  const auto& request = parser.get();
  Must(request.body().size() <= http::kMaxBody, "a body keeps to its bound");
  Ask({.target = Text(request.target()),
       .accept = Text(request[beast::http::field::accept]),
       .last_event_id = Text(request["Last-Event-ID"])});
}

}  // namespace

void RunHttp(std::string_view bytes) {
  Input input(bytes);
  if (input.Choice(2) == 0) return RunRequest(input.Rest());
  http::Request request;
  request.accept = input.Choice(2) == 0 ? "" : "text/event-stream";
  request.last_event_id = std::string(input.Part());
  request.target = std::string(input.Rest());
  Ask(request);
}

std::vector<Seed> HttpSeeds() {
  const auto get = [](const std::string& target, const std::string& more = "") {
    return std::string(1, '\0') + "GET " + target + " HTTP/1.1\r\nHost: a\r\n" + more + "\r\n";
  };
  const auto ask = [](char feed, const std::string& id, const std::string& target) {
    return std::string{'\1', feed} + PartBytes(id) + target;
  };
  return {{"status", get("/v1/status")},
          {"overview", get("/v1/overview")},
          {"shards", get("/v1/shards")},
          {"leader", get("/shards/1/leader")},
          {"page", get("/")},
          {"post", std::string(1, '\0') + "POST /livez HTTP/1.0\r\nContent-Length: 2\r\n\r\nhi"},
          {"chunked", get("/readyz", "Transfer-Encoding: chunked\r\n")},
          {"feed", get("/v1/events", "Accept: text/event-stream\r\nLast-Event-ID: 17-3\r\n")},
          {"lookup", ask(0, "", "/v1/lookup?key=customer%2017")},
          {"events", ask(0, "", "/v1/events?after=1&limit=5&shard=2")},
          {"events-feed", ask(1, "1700000000000-3", "/v1/events?after=1")},
          {"routes", ask(0, "", "/v1/routes?after=900&wait=30")},
          {"shard", ask(0, "", "/v1/shards/3")}};
}

}  // namespace baton::fuzz
