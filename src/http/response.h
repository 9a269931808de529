// Response: an answer before it is bytes on a socket.
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
  std::shared_ptr<const std::string> body = {};  ///< shared: many slow readers hold one copy
  /// What a browser may load for this document; empty: not said.
  std::string content_security_policy = {};
  std::chrono::seconds retry_after{0};   ///< said where it is not 0
  std::shared_ptr<EventFeed> feed = {};  ///< instead of a body: one without an end
};

/// A plain text answer of one line.
Response TextResponse(unsigned status, std::string line);

/// The same, or {"error":"..."} below /v1. REQUIRES: `line` needs no JSON escapes.
Response ErrorResponse(unsigned status, std::string_view target, std::string line);

}  // namespace baton::http
