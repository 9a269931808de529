// /v1/routes: reads a request, and makes the answer. HttpServer waits for changes of routes.
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
  /// The answer has only the routes that changed after this revision, and maybe some that changed
  /// at this revision. Unset: all routes, at once.
  std::optional<Revision> after;
  Duration wait{0};  ///< how long to wait for a change; 0 without `after`
};

/// Whether the path of `target` is /v1/routes.
bool IsRoutes(std::string_view target);
/// Reads a request. Ignores unknown parameters. Returns a refusal (400) if the target is not
/// percent-encoded correctly, or if a parameter is not valid. ?wait= must be at most kLongestWait,
/// and needs ?after=.
std::variant<RoutesQuestion, Response> ParseRoutes(std::string_view target);
/// Returns the routes as JSON (RoutesJson). If `answer` is an error, returns 503 with its message.
/// REQUIRES (not checked): RouteList::too_long is false, because such a list would look empty.
Response RoutesResponse(const Result<routing::RouteList>& answer);

}  // namespace baton::http
