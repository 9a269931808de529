// Response: an HTTP answer before it is written to a socket. A plain value. The functions are pure.
#pragma once

#include <chrono>
#include <memory>
#include <string>
#include <string_view>

namespace baton::http {

class EventFeed;

struct Response {
  unsigned status = 200;
  std::string content_type = "text/plain; charset=utf-8";
  std::shared_ptr<const std::string> body = {};  ///< several answers may share it
  /// The header Content-Security-Policy; empty: no such header.
  std::string content_security_policy = {};
  std::chrono::seconds retry_after{0};  ///< the header Retry-After; 0: no such header
  /// Null: `body` is the answer. Otherwise the feed is the answer, and `body` is not used.
  /// REQUIRES: one of the two is not null.
  std::shared_ptr<EventFeed> feed = {};
};

/// Returns a body with `text` and a line feed.
std::shared_ptr<const std::string> Line(std::string text);

/// `body`: the JSON document.
Response JsonResponse(unsigned status, std::shared_ptr<const std::string> body);

/// Returns {"error":"..."} and a line feed. `message` may have any bytes; they are escaped.
Response JsonError(unsigned status, const std::string& message);

/// Returns plain text: `line` and a line feed. Escapes nothing.
Response TextResponse(unsigned status, std::string line);

/// Returns JsonError if `target` begins with /v1/, otherwise TextResponse.
Response ErrorResponse(unsigned status, std::string_view target, std::string line);

}  // namespace baton::http
