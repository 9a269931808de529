#include "http/response.h"

#include <utility>

#include <fmt/format.h>

#include "base/escape.h"

namespace baton::http {

std::shared_ptr<const std::string> Line(std::string text) {
  text += '\n';
  return std::make_shared<std::string>(std::move(text));
}

Response JsonResponse(unsigned status, std::shared_ptr<const std::string> body) {
  return {.status = status, .content_type = "application/json", .body = std::move(body)};
}

Response JsonError(unsigned status, const std::string& message) {
  std::string escaped;
  AppendEscaped(escaped, message, true);
  return JsonResponse(
      status, std::make_shared<std::string>(fmt::format("{{\"error\":\"{}\"}}\n", escaped)));
}

Response TextResponse(unsigned status, std::string line) {
  Response response;
  response.status = status;
  response.body = Line(std::move(line));
  return response;
}

Response ErrorResponse(unsigned status, std::string_view target, std::string line) {
  return target.starts_with("/v1/") ? JsonError(status, line)
                                    : TextResponse(status, std::move(line));
}

}  // namespace baton::http
