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
  std::optional<Revision> after;  ///< the answer has only later changes; unset: all routes, at once
  Duration wait{0};               ///< how long to wait for a change; 0 without `after`
};

/// Whether the path is /v1/routes.
bool IsRoutes(std::string_view target);
/// Reads a request. Returns the refusal (400) if a parameter is malformed, if ?wait= is above
/// kLongestWait, or if it comes without ?after=. Ignores unknown parameters.
std::variant<RoutesQuestion, Response> ParseRoutes(std::string_view target);
/// The routes as JSON (RoutesJson), or 503 for an error.
Response RoutesResponse(const Result<routing::RouteList>& answer);

}  // namespace baton::http
