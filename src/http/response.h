// Response: an HTTP answer before it is written to a socket.
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
  std::shared_ptr<const std::string> body = {};  ///< shared by many slow readers
  /// What a browser may load for this document; empty: no such header.
  std::string content_security_policy = {};
  std::chrono::seconds retry_after{0};   ///< 0: no such header
  std::shared_ptr<EventFeed> feed = {};  ///< instead of a body
};

/// `text` and a line end, as a body.
std::shared_ptr<const std::string> Line(std::string text);

Response JsonResponse(unsigned status, std::shared_ptr<const std::string> body);

/// {"error":"..."}, with any bytes in it.
Response JsonError(unsigned status, const std::string& message);

/// A plain text answer of one line.
Response TextResponse(unsigned status, std::string line);

/// JsonError below /v1, else TextResponse.
Response ErrorResponse(unsigned status, std::string_view target, std::string line);

}  // namespace baton::http
