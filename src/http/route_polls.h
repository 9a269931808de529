// /v1/routes: reads a request, and makes the answer's text. HttpServer does the waiting.
//
// Pure functions; any thread.
#pragma once

#include <optional>
#include <string_view>
#include <variant>

#include "base/clock.h"
#include "http/response.h"
#include "routing/server/route_hub.h"

namespace baton::http {

inline constexpr std::chrono::seconds kDefaultWait{30};  ///< with ?after= and without ?wait=
inline constexpr std::chrono::seconds kLongestWait{60};  ///< ?wait= is a whole number of seconds

struct RoutesQuestion {
  /// The answer has only the routes that changed after this revision. Unset: all routes, at once.
  std::optional<Revision> after;
  Duration wait{0};  ///< how long to wait for a change; 0 without `after`
};

/// Whether the path is /v1/routes.
bool IsRoutes(std::string_view target);
/// Reads a request. Returns the refusal (400) if the target is not percent-encoded correctly, a
/// parameter is malformed, ?wait= is above kLongestWait, or ?wait= comes without ?after=. Ignores
/// unknown parameters.
std::variant<RoutesQuestion, Response> ParseRoutes(std::string_view target);
/// Returns the routes as JSON (RoutesJson). If `answer` is an error, returns 503 with its message.
/// REQUIRES: the list is not too_long, because it would look empty; not checked.
Response RoutesResponse(const Result<routing::RouteList>& answer);

}  // namespace baton::http
